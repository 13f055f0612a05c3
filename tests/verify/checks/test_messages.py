"""Where a run with delta encoding first differs: a layer is named only if that is known."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.verify.verdict import Verdict
from tests.helpers.delta_fault_catalogue import DeltaCase, cases


def judged(case: DeltaCase, layer: int, *, spikes: bool) -> Verdict:
    """A run whose layer has biases that are off by one."""
    layers = list(case.chip.layers)
    layers[layer] = replace(layers[layer], bias=layers[layer].bias + 1)
    broken = case.run(chip=replace(case.chip, layers=tuple(layers)))
    return case.judge(broken if spikes else replace(broken, spikes=None))


def test_within_a_loop_no_layer_is_named_without_the_changes():
    """The fault is in the second layer, and its feedback changes the first one too."""
    case = cases("conv, two layers, transposed feedback", "sim")
    check = judged(case, 1, spikes=False).check("messages")
    first = check.offenders[0]
    assert not check.passed and "layer" not in first
    assert first["what"].startswith("not localised: layers 'l1', 'l2' end differently from the emulator") and "--spikes" in first["what"]
    assert "first in sample 0, not localised" in check.summary


def test_with_the_changes_the_layer_that_differs_first_is_named():
    case = cases("conv, two layers, transposed feedback", "sim")
    first = judged(case, 1, spikes=True).check("messages").offenders[0]
    assert first["layer"] == "l2" and "the backend sends" in first["what"]


def test_a_single_layer_is_named_by_its_final_state():
    first = judged(cases("dense, one layer", "sim"), 0, spikes=False).check("messages").offenders[0]
    assert first["layer"] == "l1" and "messages, a rate of" in first["what"]


def test_a_limit_cycle_that_the_emulator_does_not_find_is_a_difference():
    case = cases("dense, one layer", "sim")
    assert case.right.cycles is not None
    check = case.judge(replace(case.right, cycles=case.right.cycles + np.int32(3))).check("messages")
    assert not check.passed and "limit cycles differ" in check.offenders[0]["what"]


@pytest.mark.parametrize("backend", ["sim", "stock"])
@pytest.mark.parametrize(("name", "called"), [("cycles", "limit cycles"), ("operations", "operations")])
def test_what_follows_from_the_steps_of_messages_is_compared_too(backend, name, called):
    """Without recorded changes, operations and cycles are possible for these messages, but not those of this run."""
    case = cases("dense, one layer", backend)
    result = replace(case.right, spikes=None)
    assert case.judge(result).faithful
    check = case.judge(replace(result, **{name: getattr(result, name) - 1 if name == "operations" else getattr(result, name) + 1})).check(
        "messages"
    )
    assert check.offenders[0]["what"] == f"{called} differ; rates and sums do not"
