"""A repeated run: all samples of a backend, some of the emulator itself, the first differences located."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.checks import repeated_run
from fsnn_lava.verify.checks.repeated_run import LOCATED, RepeatedRun
from fsnn_lava.verify.sampling import Sampling
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_simulator import simulate

SAMPLES = 12


class Plain(RepeatedRun):
    """Says which sample differs."""

    def _locate(self, values, got, sample):
        return {"sample": sample, "what": f"sample {sample}: differs"}


class Recorded:
    """An emulator that remembers how many samples it was given."""

    def __init__(self, chip):
        self.chip, self.given = chip, []

    def run(self, values, *, steps=None, spikes=False):
        self.given.append(len(values))
        result = simulate(self.chip, values, steps=steps)
        return result if spikes else replace(result, spikes=None)


@pytest.fixture
def run():
    chip = dense_network(3, size=6)
    values = np.random.default_rng(0).integers(0, 256, (SAMPLES, *chip.input.shape), dtype=np.uint8)
    return chip, values, simulate(chip, values)


def batch_of(run, *, backend, offset=0, bent=(), spikes=True):
    chip, values, result = run
    potentials = result.potentials[0].copy()
    for sample in bent:
        potentials[sample, 2] += 1
    result = replace(result, potentials=(potentials,), backend=backend, spikes=result.spikes if spikes else None)
    return Batch(chip=chip, result=result, values=values, labels=None, offset=offset)


def checked(run, **options):
    check = Plain(Recorded(run[0]))
    check.add(batch_of(run, **options))
    return check


def test_every_sample_of_a_backend_is_run_again(run):
    check = checked(run, backend="sim", offset=5000)
    assert (check.samples, check.repeated, check.different, check.recorded) == (SAMPLES, 0, 0, SAMPLES)
    assert check.emulator.given == [SAMPLES]
    assert check.spikes == sum(int(counts.sum()) for counts in run[2].counts)
    assert check._agreement("spike", "potential").startswith("every spike and potential matches the emulator (12 samples, ")


@pytest.mark.parametrize(("offset", "repeated"), [(0, 5), (3, 2), (14, 1), (19, 2)])
def test_only_some_samples_of_the_emulator_are_run_again(run, offset, repeated, monkeypatch):
    """Sampling(4, 10): samples 0, 1, 2, 3, 10, 20, 30."""
    monkeypatch.setattr(repeated_run, "affordable", lambda *_, **__: Sampling(4, 10))
    check = checked(run, backend="emu", offset=offset)
    assert (check.samples, check.repeated) == (repeated, repeated)
    assert check.emulator.given == [repeated]
    assert check._agreement("spike", "potential").startswith("repeatable: every spike and potential is the same when the emulator runs")


def test_a_batch_without_a_chosen_sample_is_not_run_again(run, monkeypatch):
    monkeypatch.setattr(repeated_run, "affordable", lambda *_, **__: Sampling(4))
    check = checked(run, backend="emu", offset=4)
    assert (check.samples, check.repeated, check.emulator.given) == (0, 0, [])


def test_differences_are_counted_and_the_first_are_located_by_their_numbers(run):
    check = checked(run, backend="sim", offset=100, bent=(1, 4, 5, 9, 11))
    assert check.different == 5
    assert [offender["sample"] for offender in check.offenders] == [101, 104, 105]
    assert len(check.offenders) == LOCATED
    assert check._place() == "first in sample 101, sample 101"


def test_without_trains_only_counts_are_said_to_match(run):
    check = checked(run, backend="sim", spikes=False)
    assert check.recorded == 0
    assert check._agreement("spike", "potential").startswith("every spike count and potential matches")
