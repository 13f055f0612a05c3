"""RunOptions: defaults filled in and arguments checked, once, before anything runs."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.running.options import RunOptions, default_batch_option, run_options
from tests.helpers.chip_networks import dense_network
from tests.helpers.paper_networks import paper_network


def test_what_is_left_open_comes_from_the_network_and_the_number_of_samples():
    chip = dense_network()
    options = run_options(chip, samples=5)
    assert options == RunOptions(backend="emu", steps=chip.steps, batch=5, spikes=False, residual=False, graph="batched")
    assert run_options(chip, samples=5, steps=3, batch=2) == RunOptions(backend="emu", steps=3, batch=2)


def test_options_cannot_be_changed_after_they_were_checked():
    with pytest.raises(FrozenInstanceError, match="steps"):
        run_options(dense_network()).steps = 0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"backend": "gpu"}, "backend must be one of emu, sim, loihi2, got 'gpu'"),
        ({"graph": "other"}, "graph must be one of batched, stock, got 'other'"),
        ({"graph": "stock"}, "graph 'stock' means Lava's own processes, which do not run on the emulator; use backend 'sim'"),
        ({"steps": 0}, "steps must be an integer between 1 and 65535, got 0"),
        ({"batch": 0}, "batch must be at least 1, got 0"),
    ],
)
def test_an_option_out_of_range_is_refused_with_what_it_must_be(changes, sentence):
    with pytest.raises(BadArgument, match=sentence):
        run_options(dense_network(), **changes)


@pytest.mark.parametrize(
    ("backend", "graph", "executed_graph"),
    [
        ("emu", "batched", ""),
        ("sim", "batched", "batched"),
        ("sim", "stock", "stock"),
        ("loihi2", "batched", "stock"),
    ],
)
def test_the_graph_of_the_results_follows_from_the_backend(backend, graph, executed_graph):
    assert RunOptions(backend=backend, steps=1, batch=1, graph=graph).executed_graph == executed_graph


def test_lava_batches_are_of_equal_size_and_fit_memory():
    chip = dense_network()
    assert [default_batch_option(chip, samples, backend="sim") for samples in (1, 256, 300)] == [1, 256, 150]


def test_emulator_batches_take_a_bounded_amount_of_memory():
    assert [default_batch_option(dense_network(), samples, backend="emu") for samples in (1, 256, 300)] == [1, 256, 256]
    large = paper_network("alexnet-f")
    neurons = sum(layer.size for layer in large.layers) + sum(large.layer(s.source).size for s in large.feedback)
    assert default_batch_option(large, 256, backend="emu") == 2**26 // (24 * neurons) < 256  # 24 bytes of results per neuron
