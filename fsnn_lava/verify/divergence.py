"""Find which samples of two runs differ, and where one first diverges: layer, neuron and step, with both states at that point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import INPUT, READOUT, ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.check import Offender
from fsnn_lava.verify.neuron_index import neuron_index

Trains = tuple[NDArray[Any], ...]  # [1, T, *shape] per layer

_EXACT = {
    "counts": "counts",
    "late": "late messages",
    "potentials": "potentials",
    "spikes": "trains",
    "readout": "the readout",
    "clipped": "clipped neurons",
    "clip_count": "clip counts",
    "operations": "operations",
    "updates": "updates",
    "messages": "messages per step",
    "cycles": "limit cycles",
}  # parts of a result that are compared bit for bit, and what they are called
_RESIDUAL = 1e-9  # relative tolerance for a residual: float64 sums in another order


def differing_samples(got: Result, expected: Result) -> NDArray[np.bool_]:
    """Return which samples differ in any part of the result, [B]. Traces may differ by the rounding of 2 T operations."""
    return np.any([wrong for _, wrong in _differences(got, expected)], axis=0)


def different_parts(got: Result, expected: Result) -> str:
    """Return the names of the parts of two results that differ in any sample."""
    return " and ".join(dict.fromkeys(name for name, wrong in _differences(got, expected) if wrong.any()))


def _differences(got: Result, expected: Result) -> Iterator[tuple[str, NDArray[np.bool_]]]:
    """Yield the name of each part of the result, and in which samples it differs, [B]; parts that one of them lacks are skipped."""
    for field, name in _EXACT.items():
        left, right = getattr(got, field), getattr(expected, field)
        if left is None or right is None:
            continue
        pairs = zip(left, right, strict=True) if isinstance(left, tuple) else [(left, right)]
        for a, b in pairs:
            yield name, (a != b).reshape(len(a), -1).any(axis=1)
    if expected.messages is not None and got.messages is None:
        yield "messages per step", np.ones(got.samples, dtype=bool)
    tolerance = 4 * got.steps * 2.0**-53 * max(1.0, got.weight_sum)
    for name in ("traces", "late_traces"):
        for a, b in zip(getattr(got, name), getattr(expected, name), strict=True):
            yield name.replace("_", " "), (np.abs(a - b) > tolerance).reshape(len(a), -1).any(axis=1)
    if got.residual is not None and expected.residual is not None:
        near = np.abs(got.residual - expected.residual) <= _RESIDUAL * np.maximum(1.0, expected.residual)
        yield "residuals", np.any(~near, axis=1)


def locate_divergence(emulator: Emulator, values: NDArray[np.uint8], got: Result, *, sample: int) -> Offender:
    """Locate the first divergence of `got` (one sample, index `sample`) from the emulator; its step is known if spikes were recorded."""
    expected = emulator.run(values, steps=got.steps, spikes=True)
    if got.spikes is not None and expected.spikes is not None:
        found = first_divergence(got.spikes, expected.spikes)
        if found is not None:
            return {"sample": sample, **_at_step(emulator, values, got.spikes, *found)}
    return {"sample": sample, **_at_end(emulator.chip, got, expected, "the emulator")}


def locate_from_reference(chip: ChipNetwork, got: Result, expected: Result, *, sample: int) -> Offender:
    """Locate the first divergence of `got` from the reference, both of one sample; the reference has spike trains."""
    found = None if got.spikes is None or expected.spikes is None else first_divergence(got.spikes, expected.spikes)
    if found is None:
        return {"sample": sample, **_at_end(chip, got, expected, "the reference")}
    index, step, flat = found
    layer, spike = chip.layers[index], int(got.spikes[index][0, step - 1].reshape(-1)[flat]) if got.spikes is not None else 0
    sides = "the backend spikes, the reference does not" if spike else "the backend does not spike, the reference does"
    return {"sample": sample, "layer": layer.name, "neuron": neuron_index(layer, flat), "step": step, "backend_spike": spike, "what": sides}


def first_divergence(got: Trains, expected: Trains) -> tuple[int, int, int] | None:
    """Return (layer, step in its own time, flat neuron) of the first spike that differs in the chip's time; None if all are equal."""
    found: list[tuple[int, int, int, int]] = []
    for index, (a, b) in enumerate(zip(got, expected, strict=True)):
        wrong = np.flatnonzero((a != b).reshape(-1))
        if len(wrong):
            step, flat = divmod(int(wrong[0]), a[0, 0].size)
            found.append((step + index, index, step + 1, flat))
    return min(found)[1:] if found else None


def _at_step(emulator: Emulator, values: NDArray[np.uint8], got: Trains, index: int, step: int, flat: int) -> Offender:
    """Describe both sides at `step`. All spikes before it are equal, so both neurons received the same input."""
    layer = emulator.chip.layers[index]
    before, after = (_potential(emulator, values, index, flat, steps) for steps in (step - 1, step))
    spike = int(got[index][0, step - 1].reshape(-1)[flat])
    threshold = int(layer.per_neuron(layer.threshold).reshape(-1)[flat]) << STATE_FRACTION_BITS
    sides = "the backend spikes, the emulator does not" if spike else "the backend does not spike, the emulator does"
    return {
        "layer": layer.name,
        "neuron": neuron_index(layer, flat),
        "step": step,
        "backend_spike": spike,
        "emulator_spike": 1 - spike,
        "emulator_before": before,
        "emulator_after": after,
        "threshold": threshold,
        "what": f"{sides}: the emulator's potential goes from {before} to {after}, threshold {threshold} (units of 2^-6)",
    }


def _potential(emulator: Emulator, values: NDArray[np.uint8], index: int, flat: int, steps: int) -> int:
    """Return u of a neuron after `steps` steps of its own time; the first steps of a longer run are the same."""
    if steps == 0:
        return 0
    events = emulator.chip.input.kind == "events"
    return int(emulator.run(values[:, :steps] if events else values, steps=steps).potentials[index].reshape(-1)[flat])


def _at_end(chip: ChipNetwork, got: Result, expected: Result, against: str) -> Offender:
    """Compare the final states, for runs without spike trains or with equal ones.

    The first layer is named if all other differences can follow from it; within a feedback loop they cannot be told apart.
    """
    wrong = {i: neurons for i in range(len(chip.layers)) if len(neurons := _different_neurons(got, expected, i))}
    origin = first_divergent_layer(chip, list(wrong))
    hint = "" if got.spikes is not None else "; record spikes (--spikes) to find the step"
    if origin is not None:
        layer, flat = chip.layers[origin], int(wrong[origin][0])
        theirs, ours = (
            [int(getattr(side, name)[origin].reshape(-1)[flat]) for name in ("counts", "potentials")] for side in (got, expected)
        )
        sides = f"ends with {theirs[0]} spikes and u = {theirs[1]}, {against} with {ours[0]} and {ours[1]}"
        what = f"{sides}; {len(wrong[origin])} neurons of the layer differ{hint}"
        return {"layer": layer.name, "neuron": neuron_index(layer, flat), "backend": theirs, "emulator": ours, "what": what}
    if wrong:
        return {"what": not_localised(chip, list(wrong), against) + hint}
    readout = np.flatnonzero(got.readout[0] != expected.readout[0])
    if len(readout):
        flat = int(readout[0])
        what = f"ends with u = {int(got.readout[0, flat])}, {against} with {int(expected.readout[0, flat])}"
        return {"layer": READOUT, "neuron": [flat], "what": what}
    return {"what": f"{different_parts(got, expected)} differ; spikes and potentials do not"}


def _different_neurons(got: Result, expected: Result, index: int) -> NDArray[np.int64]:
    pairs = [(getattr(got, name)[index], getattr(expected, name)[index]) for name in ("counts", "potentials", "clipped")]
    return np.flatnonzero(np.any([(a != b).reshape(-1) for a, b in pairs], axis=0))


def first_divergent_layer(chip: ChipNetwork, different: list[int]) -> int | None:
    """Return the only one of these layers that none of the others reaches; None if feedback leaves no such layer."""
    reached = {i: _reached_from(chip, i) for i in different}
    origins = [i for i in different if not any(i in reached[other] for other in different if other != i)]
    return origins[0] if len(origins) == 1 else None


def not_localised(chip: ChipNetwork, different: list[int], against: str) -> str:
    """Describe what is known if `first_divergent_layer` finds none."""
    names = ", ".join(repr(chip.layers[i].name) for i in different)
    return f"not localised: layers {names} end differently from {against}, and they feed each other"


def _reached_from(chip: ChipNetwork, layer: int) -> set[int]:
    """Return the layers that a layer's spikes reach, directly or through other layers."""
    found: set[int] = set()
    new = {layer}
    while new:
        targets = {chip.index(s.target) for s in chip.synapses if s.source != INPUT and chip.index(s.source) in new}
        new = targets - found
        found |= new
    return found
