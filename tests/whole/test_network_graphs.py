"""Random network graphs: skips, several loops, recurrence, all kinds of connections, input into any layers; both encodings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import fsnn_lava as fl
from fsnn_lava.formats.results import write_results
from fsnn_lava.formats.results_reader import read_results
from fsnn_lava.verify.comparator import Comparator
from tests.helpers.chip_networks import skip_network
from tests.helpers.naive_delta import simulate_delta
from tests.helpers.naive_simulator import assert_same, simulate
from tests.helpers.random_graphs import network_graphs, number_of_graphs


@settings(max_examples=number_of_graphs(60))
@given(network_graphs(delta=False))
def test_the_emulator_is_the_plain_reference_bit_by_bit(case):
    chip, values = case
    assert_same(fl.run(chip, values, spikes=True), simulate(chip, values))


@settings(max_examples=number_of_graphs(40))
@given(network_graphs(delta=True))
def test_with_delta_encoding_too(case):
    chip, values = case
    assert_same(fl.run(chip, values, spikes=True), simulate_delta(chip, values))


@settings(max_examples=number_of_graphs(12))
@given(st.one_of(network_graphs(delta=False), network_graphs(delta=True)))
def test_the_comparator_finds_a_correct_run_faithful(case):
    chip, values = case
    result = fl.run(chip, values)
    comparator = Comparator(chip, equilibrium_samples=1)
    comparator.add(result, values)
    verdict = comparator.verdict()
    assert verdict.faithful or result.clip_count.any(), verdict.to_text()


@settings(max_examples=number_of_graphs(15))
@given(st.one_of(network_graphs(delta=False), network_graphs(delta=True)))
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
