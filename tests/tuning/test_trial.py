"""A candidate is built, run and priced; a search gives the same trials in turn, in processes, and continued."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadFile
from fsnn_lava.placement.board import load_board
from fsnn_lava.placement.cost_count import count_cost
from fsnn_lava.placement.placement import place
from fsnn_lava.tuning.bench import BATCH, Bench
from fsnn_lava.tuning.candidate import Candidate
from fsnn_lava.tuning.trial import Trial


def make_bench(samples=300):
    torch.manual_seed(0)
    net = fl.FSNN("8 (F8)", input_shape=(1, 4, 4), classes=3, steps=8, normalisation=fl.Normalisation(255.0)).eval()
    torch.nn.init.uniform_(net.stages[0].norm.bias, 0.2, 1.0)
    random = np.random.default_rng(1)
    values = random.integers(0, 256, (samples + 32, 1, 4, 4), dtype=np.uint8)
    labels = random.integers(0, 3, samples)
    with torch.no_grad():
        reference = net(torch.from_numpy(values[:samples])).argmax(1).numpy() == labels
    return Bench(net, values[samples:], values[:samples], labels, reference, load_board("oheo-gulch"))


RATE = Candidate(encoding="rate", bits=8, per_channel=False, steps=6)
DELTA = Candidate(encoding="delta", bits=8, per_channel=False, steps=3, dead_band=0.1)


@pytest.mark.parametrize("candidate", [RATE, DELTA], ids=lambda c: c.encoding)
def test_a_trial_is_that_of_the_network_run_at_once(candidate):
    bench = make_bench(BATCH + 40)  # two batches
    found = bench.try_out(candidate)
    chip = bench.build(candidate)
    result = fl.run(chip, bench.values)
    right = result.predictions == bench.labels
    assert (found.samples, found.right, found.digest) == (len(right), int(right.sum()), chip.digest())
    assert found.lost - found.gained == int(bench.reference.sum()) - found.right
    cost = count_cost(chip, result, place(chip))
    assert (found.messages, found.operations) == pytest.approx((cost.messages, cost.operations))
    assert (found.chip_steps, found.cores, found.energy) == (cost.steps, cost.cores, pytest.approx((cost.energy.low, cost.energy.high)))
    assert found.chip_steps == (8 if candidate is RATE else 5)  # a window of 2**k; with delta encoding, until nothing is in flight
    assert found.runs == (candidate is RATE)
    assert Trial.from_dict(found.to_dict()) == found


def test_a_network_that_quantise_would_make_is_the_one_that_is_tried():
    bench = make_bench()
    alone = fl.quantise(bench.net, encoding="delta", dead_band=0.1, steps=3, calibration=bench.calibration)
    assert bench.build(DELTA).digest() == alone.digest()


def test_a_candidate_that_cannot_be_made_is_a_failure_and_not_the_end():
    found = make_bench().try_out(Candidate(encoding="delta", bits=8, per_channel=True, steps=3, dead_band=0.1))
    assert "leave out reset and per_channel" in found.failure and not found.runs


@pytest.mark.parametrize(("bias", "harmful"), [(60_000, True), (-130_000, False)], ids=["above", "below a silent neuron"])
def test_a_candidate_whose_potentials_are_clipped_fails_only_if_that_changes_rates(bias, harmful):
    bench = make_bench()
    chip = bench.rounded(*RATE.family)
    layer = replace(chip.layers[0], threshold=np.array(131_000), bias=np.full_like(chip.layers[0].bias, bias))
    bench.families[RATE.family] = replace(chip, layers=(layer,))
    result = fl.run(bench.build(RATE), bench.values)
    assert result.clip_count.any()
    assert bench.try_out(RATE).failure == ("sums exceed the range of the chip's registers, which changes rates" if harmful else "")


def test_a_trial_with_other_fields_is_refused():
    values = Trial(candidate=RATE).to_dict()
    for damaged in ({**values, "more": 1}, {**values, "candidate": {"bits": 8}}, {**values, "candidate": 3}, []):
        with pytest.raises(BadFile, match="must have exactly the fields of"):
            Trial.from_dict(damaged)


@pytest.mark.parametrize(
    "change",
    [
        {"right": -1},
        {"samples": True},
        {"messages": float("inf")},
        {"energy": [1.0]},
        {"energy": [1.0, "2"]},
        {"answer": 3},
        {"cores": 1.5},
    ],
    ids=str,
)
def test_a_figure_that_no_trial_can_have_is_refused(change):
    with pytest.raises(BadFile, match=r"of a trial must|a range must be a pair of numbers"):
        Trial.from_dict({**Trial(candidate=RATE).to_dict(), **change})
