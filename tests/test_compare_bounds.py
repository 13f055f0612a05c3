"""Bounds of the comparator are no looser than the equations say: a bound that is too large would let every fault pass."""

from __future__ import annotations

import re
from dataclasses import replace
from math import nextafter
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.ir.network import TransposedConvSynapse
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.verify import equilibrium
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.arrived_charge import float_error, layer_charge, truncation_loss
from fsnn_lava.verify.bounds.certificate import Certificate
from fsnn_lava.verify.bounds.rate_offset import residual_bound
from fsnn_lava.verify.checks.contraction import ContractionCheck
from fsnn_lava.verify.checks.residual import SCATTER_KEPT, ResidualCheck
from fsnn_lava.verify.comparator import Comparator, compare
from fsnn_lava.verify.equilibrium import Equilibria, multiplications, solve
from fsnn_lava.verify.rounded_parameters import rounding_errors
from fsnn_lava.verify.thresholds import Thresholds
from tests.chip_networks import conv_network, dense_network
from tests.reference import simulate
from tests.test_compare import loop_network
from tests.test_compare_model import model, pixels


@pytest.mark.parametrize("leak", [1.0, 0.9])
def test_the_bound_of_the_float_spikes_is_that_of_the_equation(leak):
    """One layer onto itself: every rate may lie off by what its potential and one spike on its way still hold (E11)."""
    net = model("dense", leak=leak)
    values, steps = pixels(net), 20
    chip = fl.quantise(net, calibration=values)
    found = compare(fl.run(chip, values, steps=steps), chip, values, model=net).check("float").numbers["bound_max"]
    folded = fold(net)
    trace = folded.simulate(torch.from_numpy(values), steps, schedule=net.schedule)
    rate, potential = trace.rates[0].numpy(), trace.potentials[0].numpy()
    late = np.abs(folded.feedback.weight.numpy()).sum(axis=1)
    scale = net.vth * sum(leak**age for age in range(steps))
    ends = [np.clip(rate + (potential + sign * late) / scale, 0, 1) for sign in (1, -1)]
    expected = max(np.abs(end - rate).max() for end in ends)
    assert 0.01 < expected < 0.5
    assert found == pytest.approx(expected, abs=1e-8)  # 1e-9 is allowed for rounding


def test_a_synapse_that_shifts_by_nothing_rounds_nothing():
    """6 + e = 0: nothing is floored, so E11 is an identity for integrate-and-fire."""
    base = dense_network(2)
    chip = replace(base, synapses=(base.synapses[0], replace(base.synapses[1], exponent=-6)))
    values = np.random.default_rng(0).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    result = simulate(chip, values)
    rate_map = RateMap(chip)
    residual = np.abs(rate_map.apply(result.rates, rate_map.drive(values))[0] - result.rates[0])
    bound = residual_bound(Batch(chip=chip, result=result, values=values, labels=None, offset=0), chip.layers[0])
    np.testing.assert_allclose(bound, residual, rtol=0, atol=1e-9)  # one unit of the potential would be 1e-6


def test_the_share_of_the_bound_is_the_share():
    """E12 is far from tight here: a share of 1 would be a wrong one."""
    net = model("dense", limit=0.5)
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, bits=8)
    numbers = compare(fl.run(chip, values), chip, values, model=net).check("shift").numbers
    assert 0.01 < numbers["share_of_bound"] < 0.95


def test_the_summary_says_whether_charge_is_conserved_exactly():
    """Integrate-and-fire in integers: the interval has no width. With a leak it has one, and the summary says it."""
    for decay, rule in ((0, "conserved exactly in all 24 neurons"), (100, r"conserved within [\d.]+ units of 2\^-6 in all 24 neurons")):
        chip = dense_network(1, decay=decay)
        values = np.random.default_rng(0).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
        assert re.search(rule, compare(simulate(chip, values), chip, values).check("charge").summary)


def test_a_clipped_readout_is_not_reported_as_lost_charge():
    """It fails as a clip; which class was clipped is not recorded, so no class is named."""
    base = dense_network(1, size=5)
    chip = replace(base, readout=replace(base.readout, bias=np.array([5, 2**17 - 1, 9])))
    values = np.random.default_rng(0).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    charge = compare(simulate(chip, values), chip, values).check("charge")
    assert (charge.numbers["violated"], charge.numbers["harmful_clips"]) == (0, 3)
    assert {o["kind"] for o in charge.offenders} == {"clip"}


def test_the_work_of_one_rate_map_counts_the_synapses_between_layers():
    """Input synapses are multiplied once, not in every evaluation: 5 x 5 of the feedback are left; a kernel is used at every place."""
    assert multiplications(dense_network(1, size=5, inputs=7)) == 25
    chip = conv_network(1)
    between = [synapse for synapse in chip.synapses if synapse.source != "input"]
    places = [chip.layer(s.source if isinstance(s, TransposedConvSynapse) else s.target).shape[1:] for s in between]
    assert multiplications(chip) == sum(s.weight.size * int(np.prod(place)) for s, place in zip(between, places))


ZERO = np.zeros((1, 1), np.uint8)


@pytest.mark.parametrize(
    ("weight", "options", "begins"),
    [
        ([[30, -20], [25, 10]], {}, "certified: the spectral radius of the layer gains is at most"),
        (
            [[0, 120], [0, 0]],
            {"bias": (-20, 55)},
            "local: operator norms only bound the spectral radius by 1.2, but at the equilibria that of the Jacobian is",
        ),
    ],
)
def test_the_sentence_about_the_contraction_is_that_of_its_state(weight, options, begins):
    chip = loop_network(weight, **options)
    verdict = compare(simulate(chip, ZERO), chip, ZERO)
    assert verdict.check("contraction").summary.startswith(begins)
    share = verdict.check("residual").numbers["distance_share_of_bound"]
    assert (share is not None) == begins.startswith("certified")  # without a certificate there is no bound to have a share of


def test_samples_without_an_equilibrium_are_counted_in_the_sentence():
    """One of three samples whose solver stopped far from a fixed point."""
    chip = loop_network([[127, 0], [0, 127]], threshold=80)
    check = ContractionCheck(chip, Certificate(RateMap(chip)), Thresholds())
    check.add(0, Equilibria((np.zeros((3, 2)),), np.array([0.0, 0.5, 0.0])), None)
    assert "and no equilibrium was found for 1 of 3 samples" in check.check().summary
    assert not check.check().passed


def test_the_first_three_samples_without_an_equilibrium_are_listed_whatever_the_batches():
    """Samples 1 and 2, then 4 and 5, then 7: five without one, 1, 2 and 4 are named."""
    chip = loop_network([[127, 0], [0, 127]], threshold=80)
    check = ContractionCheck(chip, Certificate(RateMap(chip)), Thresholds())
    for offset, left in ((0, [0.0, 0.5, 0.5]), (3, [0.0, 0.5, 0.5]), (6, [0.0, 0.5, 0.0])):
        check.add(offset, Equilibria((np.zeros((3, 2)),), np.array(left)), None)
    assert (check.solved, check.unsolved) == (4, 5)
    assert [o["sample"] for o in check.offenders] == [1, 2, 4]


@pytest.mark.parametrize(("radii", "state"), [([0.5, 0.99], "local"), ([0.5, 1.0], "none"), ([1.5, 0.5], "none")])
def test_only_radii_below_one_at_every_equilibrium_are_local(radii, state):
    chip = loop_network([[127, 0], [0, 127]], threshold=80)
    check = ContractionCheck(chip, Certificate(RateMap(chip)), Thresholds())
    check.add(0, Equilibria((np.zeros((2, 2)),), np.zeros(2)), np.array(radii))
    assert check.state() == state


def test_an_equilibrium_is_found_at_a_billionth_and_not_beyond():
    assert list(Equilibria((), np.array([0.0, 1e-9, nextafter(1e-9, 1.0)])).converged) == [True, True, False]


def test_a_second_try_is_used_only_where_it_is_closer(monkeypatch):
    """From rest the first sample is solved and the others stay at 1/2; from the run's rates the second is no better, the third is."""
    from_rest = SimpleNamespace(rates=(np.zeros((3, 2)),), residual=np.array([0.0, 0.5, 0.5]))
    monkeypatch.setattr(equilibrium, "_solve_from", lambda *_: Equilibria((np.ones((2, 2)),), np.array([0.5, 0.25])))
    point = solve(SimpleNamespace(solve_drive=lambda *_, **__: from_rest), np.zeros((3, 2)), (np.ones((3, 2)),))
    assert list(point.residual) == [0.0, 0.5, 0.25]
    assert point.rates[0].tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]


@pytest.mark.parametrize(("solved", "examined"), [(4, 1), (24, 3), (1000, 32)])
def test_the_jacobian_is_examined_for_an_eighth_of_the_equilibria(solved, examined):
    """But at least for one sample, and at most for 32."""
    assert Comparator(loop_network([[127, 0], [0, 127]]), equilibrium_samples=solved).radius_samples == examined


def test_a_host_drive_that_is_not_the_models_is_found_in_the_first_layer():
    net = model("plain")
    values = pixels(net)
    chip = fl.quantise(net, calibration=values, input="current")
    assert rounding_errors(chip, fold(net)).wrong == []
    other = replace(chip, host_drive=replace(chip.host_drive, bias=chip.host_drive.bias + 1e-6))
    assert rounding_errors(other, fold(net)).wrong == [{"layer": chip.layers[0].name, "what": "host drive: bias differs from the model's"}]


def run_batch(chip, samples):
    values = np.random.default_rng(0).integers(0, 256, (samples, *chip.input.shape), dtype=np.uint8)
    return Batch(chip=chip, result=simulate(chip, values), values=values, labels=None, offset=10)


def test_the_slack_for_rounding_has_every_term_of_the_sum_in_it():
    chip, drive = dense_network(1, decay=100), np.array([[-3e9, 1.0]])
    batch, total = SimpleNamespace(chip=chip, steps=20), chip.weight_sum(20)
    found = float_error(batch, (), drive, 1e8)
    assert found == pytest.approx((3e9 + 1e8 * total + 2.0**24) * 88 * 2.0**-53, rel=1e-12)
    back, size = chip.feedback[0], np.abs(chip.feedback[0].weight.astype(np.int64)).sum(axis=1).max()
    more = 2.0**6 * size * 2 * total / chip.leak * (2 * 20 + 5 + 1 + 8) * 2.0**-53
    assert float_error(batch, (back,), drive, 1e8) == pytest.approx(found + more, rel=1e-12)


def test_a_leak_takes_no_more_than_its_truncations_and_the_rounding_of_float_sums():
    """(1 - 2**-12)(A - lambda**19) each way, and sums with the threshold of 700 in units of 2**-6; without a leak nothing (E10)."""
    batch = run_batch(dense_network(1, decay=100), 2)
    leak, slack = 1 - 100 / 4096, float_error(batch, batch.chip.feedback, batch.drives[0], 700.0 * 64)
    most = (1 - 2.0**-12) * (sum(leak**age for age in range(20)) - leak**19) + slack
    assert layer_charge(batch, batch.chip.layers[0]).lost == pytest.approx((-most, most), rel=1e-12)
    assert slack > 1e-9 * most  # so that a wrong threshold shows
    assert truncation_loss(dense_network(1), 20) == 0.0


def off_by(rates, layer, sample, by):
    """The rates, with the first neuron of a layer off in one sample."""
    moved = [rate.copy() for rate in rates]
    moved[layer][sample].reshape(-1)[0] += by
    return tuple(moved)


def test_the_sample_that_is_too_far_from_its_equilibrium_is_named():
    """Two layers, three samples; only in the third a neuron is 1/2 from a* (rates are sixteenths: exactly). The limit itself is kept."""
    chip = conv_network(1)
    batch = run_batch(chip, 3)
    for limit, samples in ((0.25, [12]), (0.5, [])):
        check = ResidualCheck(chip, SimpleNamespace(certified=False), Thresholds(distance_max=limit))
        check.add(batch, batch.rates, Equilibria(off_by(batch.rates, 0, 2, 0.5), np.zeros(3)))
        assert [o["sample"] for o in check.offenders] == samples
        assert check.too_far == len(samples)


@pytest.mark.parametrize(("size", "samples"), [(1, 1), (5, 4)])
def test_means_are_over_all_neurons_of_all_samples(size, samples):
    """One neuron of one sample has a residual of 1/2 and is 1/4 from a*; all others have none."""
    chip = dense_network(1, size=size)
    check, batch = ResidualCheck(chip, SimpleNamespace(certified=False), Thresholds()), run_batch(chip, samples)
    check.add(batch, off_by(batch.rates, 0, 0, 0.5), Equilibria(off_by(batch.rates, 0, 0, 0.25), np.zeros(samples)))
    layer = check.check().numbers["layers"][0]
    assert layer["residual_mean"] == pytest.approx(0.5 / (samples * size))
    assert layer["distance_mean"] == pytest.approx(0.25 / (samples * size))


def test_the_scatter_plot_has_at_most_the_stated_number_of_points():
    """Two layers of 600 neurons: three samples are 3600 points; of the fourth every third, 200 of each layer, fit into 4000."""
    check = ResidualCheck(conv_network(1), SimpleNamespace(certified=False), Thresholds())
    rates = (np.zeros((1, 600)), np.ones((1, 600)))
    kept = []
    for _ in range(5):
        check._scatter(SimpleNamespace(rates=rates), rates, 1)
        kept.append(len(check.scatter))
    assert kept == [1200, 2400, 3600, SCATTER_KEPT, SCATTER_KEPT]
    assert check.scatter[0] == [0, 0.0, 0.0] and check.scatter[-1] == [1, 1.0, 1.0]
