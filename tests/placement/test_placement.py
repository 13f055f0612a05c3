from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.placement.board import load_board
from fsnn_lava.placement.core_memory import ConnectionMemory
from fsnn_lava.placement.placement import place
from fsnn_lava.placement.placement_table import placement_table
from fsnn_lava.placement.tiling import Population
from hw_tests.networks import one_neuron
from tests.helpers.paper_networks import PAPER, network, paper_network


def dense(sources: int, targets: int, *, bits: int = 8) -> Population:
    inputs = (ConnectionMemory(source="x", source_shape=(sources, 1, 1), form="dense", bits=bits),)
    return Population(name="y", shape=(targets, 1, 1), inputs=inputs, to_neurons=True)


def test_a_small_network_is_placed_as_worked_out_by_hand():
    placement = place(paper_network("fashion"))
    layer, readout = placement.layers
    # 100 of 400 neurons on a core: each of 400 sources has a list of 100 weights of 8 bits in words of 25: 32 words
    assert (layer.cores, layer.use.columns()) == (
        4,
        {"AxonIn": 400, "Neurons": 100, "Synapses": 400 * 32, "AxonMap": 100, "AxonMem": 0, "Total": 400 + 100 + 12800 + 100},
    )
    # three cores would hold 134 neurons each: lists of 43 words, 17200 > 16000
    assert dense(400, 400).use((134, 1, 1), placement.board).synapses == 17200
    # 10 weights of 8 bits: 4 words
    assert (readout.cores, readout.use.columns()["Synapses"]) == (1, 1600)
    assert (placement.cores, placement.chips, placement.fits) == (5, 1, True)
    assert placement.layers[0].tiling.messages == 4 * 400


def test_convolution_kernels_are_counted_once_for_all_pixels():
    placement = place(paper_network("mnist"))
    (layer,) = placement.layers
    # 12544 neurons at most 4096 per core: 4 cores of 16 channels; 64 x 25 lists of 16 weights: 64 + 128 bits in words of 104: 2 words
    assert layer.tiling.tile == (16, 14, 14)
    assert layer.use.columns() == {
        "AxonIn": 1,
        "Neurons": 3136,
        "Synapses": 3200,
        "AxonMap": 196,
        "AxonMem": 196 * 4,
        "Total": 1 + 3136 + 3200 + 196 + 784,
    }


@pytest.mark.parametrize(
    ("threshold", "board", "answer", "words"),
    [
        (4000, "oheo-gulch", "runs", "runs: it takes 2 of 120 cores"),
        (
            8000,
            "oheo-gulch",
            "runs with loss",
            "runs with loss: it takes 2 of 120 cores of oheo-gulch; it may lose charge or be rejected: ",
        ),
        (9001, "oheo-gulch", "cannot run", "cannot run on the chip: layer 'l1': ATRLIF on the chip supports thresholds up to 8190"),
    ],
)
def test_the_answer_comes_first_with_its_reason(threshold, board, answer, words):
    placement = place(one_neuron(threshold=threshold, steps=30), board=board)
    assert (placement.answer, placement.runs) == (answer, answer.startswith("runs"))
    assert placement.verdict.startswith(words)
    assert placement.to_dict()["answer"] == answer
    assert place(one_neuron(threshold=threshold, steps=30), steps=13).risks == ()


def test_too_few_cores_and_neurons_that_cannot_hold_it_are_both_reported():
    large = paper_network("alexnet-f")
    assert place(large).answer == "does not fit"
    broken = replace(large, layers=(replace(large.layers[0], threshold=np.array(9001)), *large.layers[1:]))
    placement = place(broken)
    assert placement.answer == "cannot run"
    assert "does not fit: the network needs 133 cores" in placement.verdict


def test_event_input_takes_synapses_and_static_input_does_not():
    static = place(network("64C5s (F64C5)", input_shape=(2, 34, 34), classes=10, kind="pixels"))
    events = place(paper_network("nmnist"))
    assert events.layers[0].use.synapses - static.layers[0].use.synapses == 2 * 25 * 2
    assert [source for source, _ in events.layers[0].forms] == ["input", "l1"]


@pytest.mark.parametrize("board", ["oheo-gulch", "kapoho-point", "hala-point"])
@pytest.mark.parametrize("name", list(PAPER))
def test_every_paper_network_has_a_verdict_on_every_board(name, board):
    placement = fl.place(paper_network(name), board=board)
    expected = not ("net-f" in name and board == "oheo-gulch")
    assert placement.fits is expected
    assert ("does not fit: " in placement.verdict) is not expected
    cores = placement.core_list()
    assert len(cores) == placement.cores
    for layer in placement.layers:
        sizes = [core.size for core in cores if core.layer == layer.name]
        assert sum(c * h * w for c, h, w in sizes) == np.prod(layer.shape)
    neurons = sum(layer.size for layer in paper_network(name).layers)
    assert sum(np.prod(layer.shape) for layer in placement.layers if layer.name != "readout") == neurons
    assert all(share <= 1 for core in cores for share in core.use.shares(placement.board).values())
    assert {(core.chip, core.core) for core in cores} == {divmod(i, placement.board.cores_per_chip) for i in range(len(cores))}


def test_a_network_that_does_not_fit_names_the_layer_and_ways_out_that_work():
    placement = place(paper_network("alexnet-f"))
    assert "needs 133 cores, oheo-gulch has 120; layer 'l3' alone takes 77, limited by Synapses: use 6 bits" in placement.verdict
    assert "use kapoho-point (960 cores)" in placement.way_out
    assert place(paper_network("alexnet-f", bits=6)).fits
    assert not place(paper_network("alexnet-f", bits=7)).fits


def test_a_layer_too_large_for_any_core_is_named():
    chip = network("64C5s (F64C5)", input_shape=(1, 28, 28), classes=10)
    placement = place(chip, readout="chip")
    assert not placement.fits
    assert placement.cores is None
    # one output neuron: 12544 in-axons and as many lists of one word
    assert "a single neuron of layer 'readout' needs 25089 words of memory, a core has 20000" in placement.verdict
    assert "compute the readout on the host (--readout host)" in placement.way_out
    assert place(chip, readout="host").fits


def test_a_transposed_convolution_is_placed_in_both_forms_and_the_one_that_runs_is_used():
    placement = place(paper_network("alexnet-f"), board="kapoho-point")
    assert dict(placement.alternatives) == {"sparse": 325, "space-to-depth": 133}
    assert placement.lowered == "space-to-depth"
    assert placement.layers[0].forms == (("l5", "conv"),)
    assert placement.layers[0].shape == (4 * 96, 8, 8)
    assert "as sparse 325 cores, as space-to-depth 133 cores" in placement_table(placement)


def test_a_placement_close_to_the_end_of_the_board_says_so():
    chip = paper_network("fashion")
    board = load_board("oheo-gulch")
    assert not place(chip, board=board).tight
    tight = place(chip, board=replace(board, cores_per_chip=6))
    assert tight.fits
    assert tight.tight
    assert "tight" in tight.verdict
