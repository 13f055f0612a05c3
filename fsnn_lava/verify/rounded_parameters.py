"""Is every integer of a network the rounding of its float? Each weight, bias and threshold is compared by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import READOUT, ChipNetwork, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.quantisation.folded_network import FoldedNetwork

NEAREST = 0.5 + 1e-6  # steps of the grid; the rest is float64
_KEPT = 100  # parameters off the grid that are listed


def off_grid(chip: ChipNetwork, folded: FoldedNetwork) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """(parameters that no rounding explains, per synapse how far its weights are from their floats in steps of its grid).

    A weight may be further away only where it is clipped: at the largest size that its synapse uses, with its float beyond it.
    """
    wrong: list[dict[str, Any]] = []
    report = []
    for synapse in chip.synapses:
        target = chip.layer(synapse.target)
        axis = 1 if isinstance(synapse, TransposedConvSynapse) else 0
        scale = np.broadcast_to(target.scale, target.shape[:1]).reshape([-1 if i == axis else 1 for i in range(synapse.weight.ndim)])
        wanted = _weight(chip, folded, synapse) / (scale * 2.0**synapse.exponent)
        factor = 1.0 if chip.is_forward(synapse) else shrink_factor(synapse.weight, wanted)
        report.append({**_compare(str(synapse), target.name, synapse.weight, wanted * factor, wrong), "factor": factor})
    readout = chip.readout
    wanted = folded.readout_weight.numpy() / (float(readout.scale) * 2.0**readout.exponent)
    report.append(_compare(READOUT, READOUT, readout.weight, wanted, wrong))
    for index, layer in enumerate(chip.layers):
        _neurons(chip, folded, index, layer, wrong)
    _list(READOUT, "bias", readout.bias, folded.readout_bias.numpy() / float(readout.scale), None, wrong)
    _host_drive(chip, folded, wrong)
    return wrong, report


def shrink_factor(integers: NDArray[Any], wanted: NDArray[np.float64]) -> float:
    """The factor <= 1 that makes most weights roundings of `wanted`: feedback may have been shrunk to stay a contraction.

    Every weight allows an interval of factors; the answer is 1 if that suits them all, else a point that most intervals share.
    """
    size, signed = np.abs(wanted).reshape(-1), (integers * np.sign(wanted)).reshape(-1).astype(np.float64)
    used = size > 0
    low, high = (signed[used] - NEAREST) / size[used], (signed[used] + NEAREST) / size[used]
    high = np.where(signed[used] == np.abs(integers).max(initial=0), np.inf, high)  # clipped, or at the end by itself
    if np.all((low <= 1.0) & (high >= 1.0)):
        return 1.0
    starts, ends = np.sort(np.maximum(low, 0.0)), np.sort(np.minimum(high, 1.0))
    covered = np.arange(1, len(starts) + 1) - np.searchsorted(ends, starts, side="left")
    best = int(np.argmax(covered))
    after = ends[np.searchsorted(ends, starts[best], side="left")] if starts[best] <= ends[-1] else starts[best]
    following = starts[best + 1] if best + 1 < len(starts) else np.inf
    factor = (starts[best] + min(after, following)) / 2
    return float(factor) if 0.0 < factor <= 1.0 else 1.0


def _weight(chip: ChipNetwork, folded: FoldedNetwork, synapse: Synapse) -> NDArray[np.float64]:
    if chip.is_forward(synapse):
        weight = folded.layers[chip.index(synapse.target)].connection.weight.numpy()
    elif folded.feedback is not None and synapse is chip.feedback[0]:
        weight = folded.feedback.weight.numpy()
    else:
        raise BadArgument(f"{synapse}: the model has no such connection; they do not belong together")
    if weight.shape != synapse.weight.shape:
        raise BadArgument(f"{synapse}: weight is {synapse.weight.shape} here and {weight.shape} in the model; they do not belong together")
    return weight


def _compare(what: str, layer: str, integers: NDArray[Any], wanted: NDArray[np.float64], wrong: list[dict[str, Any]]) -> dict[str, Any]:
    off = integers - wanted
    top = int(np.abs(integers).max(initial=0))
    clipped = (np.abs(integers) == top) & (np.abs(wanted) > top) & (np.sign(integers) == np.sign(wanted))
    bad = (np.abs(off) > NEAREST) & ~clipped
    for position in np.flatnonzero(bad)[: max(0, _KEPT - len(wrong))]:
        index = [int(i) for i in np.unravel_index(position, integers.shape)]
        sentence = f"{what}: weight {index} is {int(integers.reshape(-1)[position])}, its float {wanted.reshape(-1)[position]:.3f}"
        wrong.append({"layer": layer, "weight": index, "off": float(off.reshape(-1)[position]), "what": sentence})
    noise, signal = float(np.square(off).mean()), float(np.square(wanted).mean())
    return {
        "synapse": what,
        "error_max": float(np.abs(off).max(initial=0.0)),
        "error_rms": noise**0.5,
        "clipped": float(np.mean(clipped)),
        "sqnr_db": float(10 * np.log10(signal / noise)) if noise and signal else None,
    }


def _neurons(chip: ChipNetwork, folded: FoldedNetwork, index: int, layer: Layer, wrong: list[dict[str, Any]]) -> None:
    scale = layer.per_neuron(layer.scale)
    hosted = index == 0 and chip.host_drive is not None
    bias = np.zeros(layer.shape) if hosted else folded.layers[index].bias.numpy() / scale
    threshold = folded.vth / scale
    _list(layer.name, "bias", layer.bias, bias, np.abs(bias) < limits.BIAS_MAX, wrong)
    _list(
        layer.name, "threshold", layer.per_neuron(layer.threshold), threshold, (threshold > 1) & (threshold < limits.THRESHOLD_MAX), wrong
    )


def _host_drive(chip: ChipNetwork, folded: FoldedNetwork, wrong: list[dict[str, Any]]) -> None:
    """What the host computes is not rounded before it is summed: it is the float layer itself."""
    if chip.host_drive is None:
        return
    for what, got, wanted in (
        ("weight", chip.host_drive.weight, folded.layers[0].connection.weight.numpy()),
        ("bias", chip.host_drive.bias, folded.layers[0].bias.numpy()),
    ):
        if got.shape != wanted.shape or not np.allclose(got, wanted, rtol=1e-9, atol=1e-12):
            wrong.append({"layer": chip.layers[0].name, "what": f"host drive: {what} is not the model's"})


def _list(
    layer: str, what: str, got: NDArray[Any], wanted: NDArray[Any], judged: NDArray[np.bool_] | None, wrong: list[dict[str, Any]]
) -> None:
    """Note every entry of `got` that is not the nearest integer of `wanted`, where it is `judged`."""
    bad = np.abs(got - wanted) > NEAREST
    if judged is not None:
        bad &= judged
    for position in np.flatnonzero(bad)[: max(0, _KEPT - len(wrong))]:
        neuron = [int(i) for i in np.unravel_index(position, bad.shape)]
        values = f"is {int(got.reshape(-1)[position])}, its float {wanted.reshape(-1)[position]:.3f}"
        sentence = f"layer {layer!r}: {what} of neuron {tuple(neuron)} {values}"
        wrong.append({"layer": layer, "neuron": neuron, "what": sentence})
