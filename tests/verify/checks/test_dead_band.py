"""Rates that a neuron should have sent, or sent wrongly, are found by the dead band (E14)."""

from __future__ import annotations

import pytest

from tests.helpers.naive_delta import DeltaFaults
from tests.verify.checks.test_sums import SEED, failed, judge


@pytest.mark.parametrize("band", [0, 1])
def test_a_wrong_dead_band_is_found(band):
    """One unit more, and one neuron keeps a change to itself that it should have sent; one less is found by its messages alone."""
    changed = 0
    for seed in range(SEED, SEED + 6):
        _, verdict, right, broken = judge(DeltaFaults(band=lambda layer, b: max(1, b - 1) if band == 0 else b + 40), seed)
        different = any((a != b).any() for a, b in zip(right.counts, broken.counts, strict=True))
        changed += different
        assert ("messages" in failed(verdict)) == different
        if band and different:
            assert failed(verdict) & {"dead band", "messages"}
    assert changed


def test_a_wrong_shift_and_a_wrong_drive_are_found_by_the_dead_band():
    for faults in (
        DeltaFaults(shift=lambda layer, shift: shift - (layer == 0)),
        DeltaFaults(drive=lambda layer, drive: drive * 2 if layer == 0 else drive),
    ):
        chip, verdict, _, _ = judge(faults)
        assert "dead band" in failed(verdict)
        assert {o["layer"] for o in verdict.check("dead band").offenders} == {chip.layers[0].name}
