"""The highest final potential: never passed by a correct run, passed by one that does not fire when it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.ir.stock_network import runs_as_atrlif
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.final_potential import highest_potential
from fsnn_lava.verify.checks.charge import ChargeCheck
from tests.helpers.naive_atrlif import NaiveAtrlif
from tests.helpers.naive_simulator import PlainNeurons, simulate
from tests.helpers.strategies import random_network, random_values
from tests.verify.test_comparator import loop_network

THETA = 64 * 100
NOTHING = np.zeros((1, 1), np.uint8)


def batch_of(chip, result, values, *, tolerance=0.0):
    return Batch(chip=chip, result=result, values=values, labels=None, offset=0, tolerance=tolerance)


def highest_of_all(batch, layer):
    everywhere = np.nonzero(np.ones((batch.samples, *layer.shape)))
    return highest_potential(batch, layer, everywhere).reshape(batch.samples, *layer.shape)


@pytest.mark.parametrize("trains", [True, False])
def test_no_neuron_of_a_correct_run_ends_higher(trains):
    reached = 0
    for seed in range(60):
        rng = np.random.default_rng([8, seed])
        chip = random_network(rng, layers=int(rng.integers(1, 4)), wild=seed % 5 == 0)
        values = random_values(rng, chip, 2)
        stock = seed % 2 == 0
        result = simulate(chip, values, neurons=lambda layer, stock=stock: (
            NaiveAtrlif(layer=layer) if stock and runs_as_atrlif(layer) else PlainNeurons(layer)))  # fmt: skip
        batch = batch_of(chip, result if trains else replace(result, spikes=None), values, tolerance=float(stock))
        for index, layer in enumerate(chip.layers):
            highest = highest_of_all(batch, layer)
            assert (result.potentials[index] <= highest).all()
            reached += int((result.potentials[index] == highest).sum())
    assert reached > 0 or not trains


@pytest.mark.parametrize(("potential", "count", "found"), [(THETA - 1, 0, 0), (THETA, 0, 1), (THETA - 1, 7, 0), (THETA, 7, 1)])
def test_a_neuron_whose_current_never_reaches_the_threshold_ends_below_it(potential, count, found):
    chip = loop_network([[3, -20], [25, 4]], bias=(40, 55))  # at most 40 + 3 and 55 + 29 of 100 per step
    result = simulate(chip, NOTHING)
    bent = replace(
        result,
        spikes=None,
        potentials=(np.array([[potential, 0]], np.int32),),
        counts=(np.array([[count, 0]], np.int32),),
    )
    check = ChargeCheck(chip)
    check.add(batch_of(chip, bent, NOTHING))
    assert check.check().numbers["above_threshold"] == found


def test_an_overdriven_neuron_may_end_above_its_threshold_by_what_its_spikes_left():
    chip = loop_network([[0, 0], [0, 0]], bias=(150, 10), steps=8)
    result = simulate(chip, NOTHING)
    assert result.potentials[0][0, 0] == 8 * 64 * 50  # it fires at every step and keeps 50 of 150 units
    for one in (result, replace(result, spikes=None)):
        assert (result.potentials[0] <= highest_of_all(batch_of(chip, one, NOTHING), chip.layers[0])).all()
    silent = replace(result, spikes=(np.concatenate([result.spikes[0][:, :-1], 0 * result.spikes[0][:, -1:]], axis=1),))
    highest = highest_of_all(batch_of(chip, silent, NOTHING), chip.layers[0])
    assert highest[0].tolist() == [THETA - 1, THETA - 1]  # had the last step been silent


@pytest.mark.parametrize("fault", [{"fires_at": 2}, {"refractory": 1}, {"withheld": 2}])
@pytest.mark.parametrize("decay", [0, 100])
def test_a_neuron_that_fires_too_rarely_is_found_in_its_final_state_alone(decay, fault):
    chip = loop_network([[3, -2], [5, 4]], bias=(80, 85), steps=31, decay=decay)
    result = simulate(chip, NOTHING, neurons=lambda layer: NaiveAtrlif(layer=layer, **fault))
    check = ChargeCheck(chip)
    check.add(batch_of(chip, replace(result, spikes=None), NOTHING, tolerance=200.0))
    assert check.check().numbers["above_threshold"] == 2
    assert not check.check().passed
    assert "could have fired" in check.check().summary or check.violated
    assert any("a neuron that fires at its threshold ends with at most" in o["what"] for o in check.offenders)


def test_one_such_neuron_is_enough_to_fail():
    chip = loop_network([[0, 0], [0, 0]], bias=(80, 0), steps=31)
    result = simulate(chip, NOTHING, neurons=lambda layer: NaiveAtrlif(layer=layer, fires_at=2))
    check = ChargeCheck(chip)
    check.add(batch_of(chip, replace(result, spikes=None), NOTHING))
    assert (check.violated, check.stuck) == (0, 1)  # its charge is conserved
    assert not check.check().passed


def test_late_spikes_show_that_the_last_step_had_none():
    """Up to 113 of 100 per step: a neuron that fires in a row gathers charge, but not one that did not fire at the end."""
    chip = replace(loop_network([[3, 70], [25, 4]], bias=(40, 55)), steps=40)
    fired_last = next(n for n in range(20, 41) if simulate(replace(chip, steps=n), NOTHING).late[0][0, 0] == 1)
    chip = replace(chip, steps=fired_last)
    result = replace(simulate(chip, NOTHING), spikes=None)
    without = np.array([[1, 0]], np.int32)  # the last spike of the first neuron
    withheld = replace(
        result,
        counts=(result.counts[0] - without,),
        traces=(result.traces[0] - without,),
        late=(result.late[0] - without,),
        late_traces=(result.late_traces[0] - without,),
        potentials=(result.potentials[0] + THETA * without,),
    )
    for run, stuck in ((result, 0), (withheld, 1)):
        check = ChargeCheck(chip)
        check.add(batch_of(chip, run, NOTHING))
        assert check.stuck == stuck
        assert not any(offender["kind"] == "charge" and offender["layer"] == "l1" for offender in check.offenders)
