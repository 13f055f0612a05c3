"""Where two runs of one sample first part: layer, neuron and step, with both states there."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.network import READOUT
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import neuron_index

Trains = tuple[NDArray[Any], ...]  # [1, T, *shape] per layer


def locate(emulator: Emulator, values: NDArray[np.uint8], got: Result) -> dict[str, Any]:
    """The first difference between `got` (one sample) and the emulator: at its step where spikes were recorded, else at the end."""
    expected = emulator.run(values, steps=got.steps, spikes=True)
    if got.spikes is not None and expected.spikes is not None:
        found = first_divergence(got.spikes, expected.spikes)
        if found is not None:
            return _at_step(emulator, values, got.spikes, *found)
    return _at_end(emulator, got, expected)


def first_divergence(got: Trains, expected: Trains) -> tuple[int, int, int] | None:
    """(layer, step in its own time, flat neuron) of the first spike that differs in the chip's time; None if none does."""
    found: list[tuple[int, int, int, int]] = []
    for index, (a, b) in enumerate(zip(got, expected, strict=True)):
        wrong = np.flatnonzero((a != b).reshape(-1))
        if len(wrong):
            step, flat = divmod(int(wrong[0]), a[0, 0].size)
            found.append((step + index, index, step + 1, flat))
    return min(found)[1:] if found else None


def _at_step(emulator: Emulator, values: NDArray[np.uint8], got: Trains, index: int, step: int, flat: int) -> dict[str, Any]:
    """Both sides at `step`. Up to there all spikes are equal, so both neurons were given the same."""
    layer = emulator.chip.layers[index]
    before, after = (_potential(emulator, values, index, flat, steps) for steps in (step - 1, step))
    theirs = int(got[index][0, step - 1].reshape(-1)[flat])
    threshold = int(layer.per_neuron(layer.threshold).reshape(-1)[flat]) << STATE_FRACTION_BITS
    sides = [f"the backend {_does(theirs)}", f"the emulator {_does(1 - theirs)}"]
    return {
        "layer": layer.name,
        "neuron": neuron_index(layer, flat),
        "step": step,
        "backend_spike": theirs,
        "emulator_spike": 1 - theirs,
        "emulator_before": before,
        "emulator_after": after,
        "threshold": threshold,
        "what": f"{', '.join(sides)}: its u goes from {before} to {after}, threshold {threshold} (units 2^-6)",
    }


def _potential(emulator: Emulator, values: NDArray[np.uint8], index: int, flat: int, steps: int) -> int:
    """u of a neuron after so many steps of its own time: a shorter run is the beginning of a longer one."""
    if steps == 0:
        return 0
    events = emulator.chip.input.kind == "events"
    return int(emulator.run(values[:, :steps] if events else values, steps=steps).potentials[index].reshape(-1)[flat])


def _does(spike: int) -> str:
    return "spikes" if spike else "is silent"


def _at_end(emulator: Emulator, got: Result, expected: Result) -> dict[str, Any]:
    """Without spike trains (or with equal ones) only the end can be compared: the first neuron that differs there."""
    for index, layer in enumerate(emulator.chip.layers):
        pairs = [(getattr(got, name)[index], getattr(expected, name)[index]) for name in ("counts", "potentials", "clipped")]
        wrong = np.flatnonzero(np.any([(a != b).reshape(-1) for a, b in pairs], axis=0))
        if len(wrong) == 0:
            continue
        flat = int(wrong[0])
        theirs, ours = ([int(pair[side].reshape(-1)[flat]) for pair in pairs[:2]] for side in (0, 1))
        sides = f"{theirs[0]} spikes and u = {theirs[1]} at the end, the emulator {ours[0]} and {ours[1]}"
        hint = "" if got.spikes is not None else "; record spikes to see the step"
        what = f"{sides}; {len(wrong)} neurons of the layer differ{hint}"
        return {"layer": layer.name, "neuron": neuron_index(layer, flat), "backend": theirs, "emulator": ours, "what": what}
    wrong = np.flatnonzero(got.readout[0] != expected.readout[0])
    if len(wrong):
        flat = int(wrong[0])
        what = f"u = {int(got.readout[0, flat])} at the end, the emulator {int(expected.readout[0, flat])}"
        return {"layer": READOUT, "neuron": [flat], "what": what}
    return {"what": "late spikes, traces or clip counts differ; spikes and potentials do not"}
