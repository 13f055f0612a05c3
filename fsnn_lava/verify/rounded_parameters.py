"""Check that every parameter of the integer network is its float value, rounded: each weight, bias and threshold is compared separately."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import INPUT, READOUT, ChipNetwork, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.quantisation.counterpart import counterpart
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.verify.check import Offender

NEAREST = 0.5 + 1e-6  # integer steps; the excess over 1/2 allows for float64
_LISTED = 100  # wrong parameters that are listed


@dataclass(frozen=True)
class RoundingErrors:
    """Parameters that no rounding explains, and statistics of the weights of every synapse."""

    wrong: list[Offender]  # the first _LISTED of them
    number: int  # all of them
    synapses: list[dict[str, Any]]  # errors in integer steps, fraction clipped, SQNR


def rounded_parameter_errors(chip: ChipNetwork, folded: FoldedNetwork) -> RoundingErrors:
    """Compare every parameter of `chip` with the rounded one of the folded float network.

    A weight may be off by more than half a step only if it is clipped: at the largest magnitude in its synapse, with its float beyond that.
    """
    found = _Wrong()
    synapses = []
    for synapse in chip.synapses:
        target = chip.layer(synapse.target)
        axis = 1 if isinstance(synapse, TransposedConvSynapse) else 0
        scale = np.broadcast_to(target.scale, target.shape[:1]).reshape([-1 if i == axis else 1 for i in range(synapse.weight.ndim)])
        wanted = _float_weight(chip, folded, synapse) / (scale * 2.0**synapse.exponent)
        factor = 1.0 if chip.is_forward(synapse) else shrink_factor(synapse.weight, wanted)
        _judge_weights(found, str(synapse), target.name, synapse.weight, wanted * factor)
        synapses.append({"synapse": str(synapse), **_statistics(synapse.weight, wanted * factor), "factor": factor})
    readout = chip.readout
    wanted = folded.readout_weight.numpy() / (float(readout.scale) * 2.0**readout.exponent)
    _judge_weights(found, READOUT, READOUT, readout.weight, wanted)
    synapses.append({"synapse": READOUT, **_statistics(readout.weight, wanted)})
    for index, layer in enumerate(chip.layers):
        _judge_neurons(found, chip, folded, index, layer)
    _judge_entries(found, READOUT, "bias", readout.bias, folded.readout_bias.numpy() / float(readout.scale))
    _judge_host_drive(found, chip, folded)
    return RoundingErrors(found.listed, found.number, synapses)


class _Wrong:
    """Counts all wrong parameters and lists the first ones."""

    def __init__(self) -> None:
        self.number = 0
        self.listed: list[Offender] = []

    def add(self, mask: NDArray[np.bool_], describe: Callable[[int], Offender]) -> None:
        """Add the set entries of `mask`; `describe` is called with their positions in the flattened array."""
        self.number += int(np.count_nonzero(mask))
        self.listed += [describe(int(position)) for position in np.flatnonzero(mask)[: _LISTED - len(self.listed)]]


def shrink_factor(integers: NDArray[Any], wanted: NDArray[np.float64]) -> float:
    """Return the factor <= 1 for which most weights are `wanted`, scaled and rounded: export may have shrunk feedback so that it contracts.

    Every weight allows an interval of factors. The result is 1 if all intervals contain it, else a point that most of them contain.
    """
    size, signed = np.abs(wanted).reshape(-1), (integers * np.sign(wanted)).reshape(-1).astype(np.float64)
    used = size > 0
    low, high = (signed[used] - NEAREST) / size[used], (signed[used] + NEAREST) / size[used]
    high = np.where(signed[used] == np.abs(integers).max(initial=0), np.inf, high)  # may be clipped
    if np.all((low <= 1.0) & (high >= 1.0)):
        return 1.0
    starts, ends = np.sort(np.maximum(low, 0.0)), np.sort(np.minimum(high, 1.0))
    covered = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, side="left")
    best = int(np.argmax(covered))
    after = ends[np.searchsorted(ends, starts[best], side="left")] if starts[best] <= ends[-1] else starts[best]
    following = starts[best + 1] if best + 1 < len(starts) else np.inf
    factor = (starts[best] + min(after, following)) / 2
    return float(factor) if 0.0 < factor <= 1.0 else 1.0


def _float_weight(chip: ChipNetwork, folded: FoldedNetwork, synapse: Synapse) -> NDArray[np.float64]:
    connection = counterpart(folded, chip, synapse)
    if connection is None:
        raise BadArgument(f"{synapse}: the model has no such connection; network and model do not belong together")
    weight = connection.weight.numpy()
    if weight.shape != synapse.weight.shape:
        raise BadArgument(
            f"{synapse}: weight has shape {synapse.weight.shape}, in the model {weight.shape}; network and model do not belong together"
        )
    return weight


def _clipped(integers: NDArray[Any], wanted: NDArray[np.float64]) -> NDArray[np.bool_]:
    top = int(np.abs(integers).max(initial=0))
    return (np.abs(integers) == top) & (np.abs(wanted) > top) & (np.sign(integers) == np.sign(wanted))


def _judge_weights(found: _Wrong, synapse: str, layer: str, integers: NDArray[Any], wanted: NDArray[np.float64]) -> None:
    off = integers - wanted

    def describe(position: int) -> Offender:
        index = [int(i) for i in np.unravel_index(position, integers.shape)]
        got, value = int(integers.reshape(-1)[position]), wanted.reshape(-1)[position]
        what = f"{synapse}: weight {index} is {got}, but the float weight is {value:.3f}"
        return {"layer": layer, "weight": index, "off": float(off.reshape(-1)[position]), "what": what}

    found.add((np.abs(off) > NEAREST) & ~_clipped(integers, wanted), describe)


def _statistics(integers: NDArray[Any], wanted: NDArray[np.float64]) -> dict[str, float | None]:
    off = integers - wanted
    noise, signal = float(np.square(off).mean()), float(np.square(wanted).mean())
    return {
        "error_max": float(np.abs(off).max(initial=0.0)),
        "error_rms": noise**0.5,
        "clipped": float(np.mean(_clipped(integers, wanted))),
        "sqnr_db": float(10 * np.log10(signal / noise)) if noise and signal else None,
    }


def _judge_neurons(found: _Wrong, chip: ChipNetwork, folded: FoldedNetwork, index: int, layer: Layer) -> None:
    """Add biases and thresholds that are not rounded floats; those that had to be clipped are not checked."""
    scale = layer.per_neuron(layer.scale)
    hosted = index == 0 and chip.host_drive is not None
    bias = np.zeros(layer.shape) if hosted else folded.layers[index].bias.numpy() / scale
    _judge_entries(found, layer.name, "bias", layer.bias, bias, np.abs(bias) < limits.BIAS_MAX)
    got, threshold = np.broadcast_arrays(layer.threshold, folded.layers[index].vth / layer.scale)  # one for all, or one per channel
    _judge_entries(found, layer.name, "threshold", got, threshold, (threshold > 1) & (threshold < limits.THRESHOLD_MAX))


def _judge_host_drive(found: _Wrong, chip: ChipNetwork, folded: FoldedNetwork) -> None:
    """Check the host drive: the host does not round before it sums, so it must use the parameters of the float layer itself."""
    if chip.host_drive is None:
        return
    first = folded.layers[0]
    entry = next(one for one in folded.into(first) if one.source == INPUT)
    pairs = (
        ("weight", chip.host_drive.weight, entry.weight.numpy()),
        ("bias", chip.host_drive.bias, first.bias.numpy()),
    )
    for name, got, wanted in pairs:
        same = got.shape == wanted.shape
        number = int(np.count_nonzero(~np.isclose(got, wanted, rtol=1e-9, atol=1e-12))) if same else got.size
        if number:
            found.number += number
            found.listed.append({"layer": chip.layers[0].name, "what": f"host drive: {name} differs from the model's"})


def _judge_entries(
    found: _Wrong, layer: str, name: str, got: NDArray[Any], wanted: NDArray[np.float64], judged: NDArray[np.bool_] | None = None
) -> None:
    """Add every entry of `got` that is not the nearest integer to `wanted`, among those in `judged` (by default all)."""
    bad = np.abs(got - wanted) > NEAREST
    if judged is not None:
        bad &= judged

    def describe(position: int) -> Offender:
        index = [int(i) for i in np.unravel_index(position, bad.shape)]
        values = f"is {int(got.reshape(-1)[position])}, but its float value is {wanted.reshape(-1)[position]:.3f}"
        where = f" of neuron {tuple(index)}" if name == "bias" else f" of channel {index[0]}" if index else ""
        place: Offender = {"neuron": index} if name == "bias" else {}
        return {"layer": layer, **place, "what": f"layer {layer!r}: {name}{where} {values}"}

    found.add(bad, describe)
