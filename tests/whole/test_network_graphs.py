"""Random network graphs: skips, several loops, recurrence, all kinds of connections, input into any layers; both encodings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import fsnn_lava as fl
from fsnn_lava.formats.results import write_results
from fsnn_lava.formats.results_reader import read_results
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.verify.comparator import Comparator
from tests.helpers.chip_networks import skip_network
from tests.helpers.naive_delta import simulate_delta, with_random_delta
from tests.helpers.naive_simulator import assert_same, simulate
from tests.helpers.random_graphs import random_graph
from tests.helpers.strategies import random_values


@st.composite
def graphs(draw: st.DrawFn, *, delta: bool) -> tuple[ChipNetwork, np.ndarray]:
    """A network graph of 1 to 6 layers with up to 4 feedbacks and 4 further connections, and two samples."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    options = {"layers": draw(st.integers(1, 6)), "feedbacks": draw(st.integers(0, 4)), "skips": draw(st.integers(0, 4))}
    if delta:
        chip = random_graph(rng, kind=draw(st.sampled_from(["pixels", "current", "events"])), reset="subtract", strict=False, **options)
        chip = with_random_delta(rng, chip, activation=draw(st.sampled_from(["clip", "clip", "relu"])))
    else:
        kind, decay = draw(st.sampled_from(["pixels", "events", "current"])), draw(st.sampled_from([0, 0, 205]))
        chip = random_graph(rng, kind=kind, decay=decay, wild=draw(st.booleans()), **options)
    return chip, random_values(rng, chip, 2)


@settings(max_examples=60)
@given(graphs(delta=False))
def test_the_emulator_is_the_plain_reference_bit_by_bit(case):
    chip, values = case
    assert_same(fl.run(chip, values, spikes=True), simulate(chip, values))


@settings(max_examples=40)
@given(graphs(delta=True))
def test_with_delta_encoding_too(case):
    chip, values = case
    assert_same(fl.run(chip, values, spikes=True), simulate_delta(chip, values))


@settings(max_examples=12)
@given(st.one_of(graphs(delta=False), graphs(delta=True)))
def test_the_comparator_finds_a_correct_run_faithful(case):
    chip, values = case
    result = fl.run(chip, values)
    comparator = Comparator(chip, equilibrium_samples=1)
    comparator.add(result, values)
    verdict = comparator.verdict()
    assert verdict.faithful or result.clip_count.any(), verdict.to_text()


@settings(max_examples=15)
@given(st.one_of(graphs(delta=False), graphs(delta=True)))
def test_a_file_read_back_is_the_graph(tmp_path_factory, case):
    chip, _ = case
    path: Path = tmp_path_factory.mktemp("graph") / "net.h5"
    chip.save(path)
    again = fl.ChipNetwork.load(path)
    assert again.digest() == chip.digest()
    assert [(s.source, s.target) for s in again.synapses] == [(s.source, s.target) for s in chip.synapses]


def test_a_run_of_a_graph_is_kept_and_judged_from_its_file(tmp_path):
    chip = skip_network(1)
    values = np.random.default_rng(0).integers(0, 256, (3, *chip.input.shape), dtype=np.uint8)
    write_results(tmp_path / "results.h5", fl.run(chip, values, spikes=True), chip, values)
    kept = read_results(tmp_path / "results.h5")
    verdict = fl.compare(kept.result, kept.chip, kept.values)
    assert verdict.faithful, verdict.to_text()
    assert sum(int(late.sum()) for late in kept.result.late) > 0
    verdict.to_html(tmp_path / "report.html")
    assert "l1" in (tmp_path / "report.html").read_text(encoding="utf-8")
