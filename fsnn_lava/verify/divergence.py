"""Where two runs of one sample first differ: layer, neuron and step, with both states there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import READOUT
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import neuron_index
from fsnn_lava.verify.check import Offender

Trains = tuple[NDArray[Any], ...]  # [1, T, *shape] per layer


def locate_divergence(emulator: Emulator, values: NDArray[np.uint8], got: Result, *, sample: int) -> Offender:
    """The first difference between `got` (one sample, number `sample`) and the emulator: its step if spikes were recorded."""
    expected = emulator.run(values, steps=got.steps, spikes=True)
    if got.spikes is not None and expected.spikes is not None:
        found = first_divergence(got.spikes, expected.spikes)
        if found is not None:
            return {"sample": sample, **_at_step(emulator, values, got.spikes, *found)}
    return {"sample": sample, **_at_end(emulator, got, expected)}


def first_divergence(got: Trains, expected: Trains) -> tuple[int, int, int] | None:
    """(layer, step in its own time, flat neuron) of the first spike that differs in the chip's time; None if all are equal."""
    found: list[tuple[int, int, int, int]] = []
    for index, (a, b) in enumerate(zip(got, expected, strict=True)):
        wrong = np.flatnonzero((a != b).reshape(-1))
        if len(wrong):
            step, flat = divmod(int(wrong[0]), a[0, 0].size)
            found.append((step + index, index, step + 1, flat))
    return min(found)[1:] if found else None


def _at_step(emulator: Emulator, values: NDArray[np.uint8], got: Trains, index: int, step: int, flat: int) -> Offender:
    """Both sides at `step`. All spikes before it are equal, so both neurons received the same input."""
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
    """u of a neuron after `steps` steps of its own time: a shorter run is the beginning of a longer one."""
    if steps == 0:
        return 0
    events = emulator.chip.input.kind == "events"
    return int(emulator.run(values[:, :steps] if events else values, steps=steps).potentials[index].reshape(-1)[flat])


def _at_end(emulator: Emulator, got: Result, expected: Result) -> Offender:
    """Without spike trains (or with equal ones) only the final states can be compared: the first neuron that differs there."""
    for index, layer in enumerate(emulator.chip.layers):
        pairs = [(getattr(got, name)[index], getattr(expected, name)[index]) for name in ("counts", "potentials", "clipped")]
        wrong = np.flatnonzero(np.any([(a != b).reshape(-1) for a, b in pairs], axis=0))
        if len(wrong) == 0:
            continue
        flat = int(wrong[0])
        theirs, ours = ([int(pair[side].reshape(-1)[flat]) for pair in pairs[:2]] for side in (0, 1))
        sides = f"ends with {theirs[0]} spikes and u = {theirs[1]}, the emulator with {ours[0]} and {ours[1]}"
        hint = "" if got.spikes is not None else "; record spikes (--spikes) to find the step"
        what = f"{sides}; {len(wrong)} neurons of the layer differ{hint}"
        return {"layer": layer.name, "neuron": neuron_index(layer, flat), "backend": theirs, "emulator": ours, "what": what}
    wrong = np.flatnonzero(got.readout[0] != expected.readout[0])
    if len(wrong):
        flat = int(wrong[0])
        what = f"ends with u = {int(got.readout[0, flat])}, the emulator with {int(expected.readout[0, flat])}"
        return {"layer": READOUT, "neuron": [flat], "what": what}
    return {"what": "late spikes, traces or clip counts differ; spikes and potentials do not"}
