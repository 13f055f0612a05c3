"""Is every integer of a network the rounding of its float? Each weight, bias and threshold is compared by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.chip import limits
from fsnn_lava.chip.folded import FoldedNetwork
from fsnn_lava.chip.network import READOUT, ChipNetwork, Layer, Readout, Synapse, TransposedConvSynapse
from fsnn_lava.errors import BadArgument

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
        report.append(_compare(str(synapse), target.name, synapse.weight, wanted, wrong))
    readout = chip.readout
    wanted = folded.readout_weight.numpy() / (float(readout.scale) * 2.0**readout.exponent)
    report.append(_compare(READOUT, READOUT, readout.weight, wanted, wrong))
    for index, layer in enumerate(chip.layers):
        _neurons(chip, folded, index, layer, wrong)
    _readout_bias(folded, readout, wrong)
    return wrong, report


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
    for position in np.flatnonzero(bad)[: _KEPT - len(wrong)]:
        index = [int(i) for i in np.unravel_index(position, integers.shape)]
        sentence = f"{what}: weight {index} is {int(integers.reshape(-1)[position])}, its float {wanted.reshape(-1)[position]:.3f}"
        wrong.append({"layer": layer, "weight": index, "off": float(off.reshape(-1)[position]), "what": sentence})
    noise, signal = float(np.square(off).mean()), float(np.square(wanted).mean())
    return {
        "synapse": what, "error_max": float(np.abs(off).max(initial=0.0)), "error_rms": noise**0.5, "clipped": float(np.mean(clipped)),
        "sqnr_db": float(10 * np.log10(signal / noise)) if noise and signal else None,
    }  # fmt: skip


def _neurons(chip: ChipNetwork, folded: FoldedNetwork, index: int, layer: Layer, wrong: list[dict[str, Any]]) -> None:
    scale = layer.per_neuron(layer.scale)
    hosted = index == 0 and chip.host_drive is not None
    bias = np.zeros(layer.shape) if hosted else folded.layers[index].bias.numpy() / scale
    threshold = folded.vth / scale
    inside = np.abs(bias) < limits.BIAS_MAX
    _list(layer.name, "bias", layer.bias, bias, (np.abs(layer.bias - bias) > NEAREST) & inside, wrong)
    rounded = layer.per_neuron(layer.threshold)
    _list(layer.name, "threshold", rounded, threshold, (np.abs(rounded - threshold) > NEAREST) & (threshold > 1) & (threshold < limits.THRESHOLD_MAX), wrong)


def _readout_bias(folded: FoldedNetwork, readout: Readout, wrong: list[dict[str, Any]]) -> None:
    wanted = folded.readout_bias.numpy() / float(readout.scale)
    _list(READOUT, "bias", readout.bias, wanted, np.abs(readout.bias - wanted) > NEAREST, wrong)


def _list(layer: str, what: str, got: NDArray[Any], wanted: NDArray[Any], bad: NDArray[np.bool_], wrong: list[dict[str, Any]]) -> None:
    for position in np.flatnonzero(bad)[: max(0, _KEPT - len(wrong))]:
        neuron = [int(i) for i in np.unravel_index(position, bad.shape)]
        sentence = f"layer {layer!r}: {what} of neuron {tuple(neuron)} is {int(np.broadcast_to(got, bad.shape).reshape(-1)[position])}, its float {wanted.reshape(-1)[position]:.3f}"
        wrong.append({"layer": layer, "neuron": neuron, "what": sentence})


