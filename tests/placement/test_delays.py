"""Skips on a board: what waits in synapses, what in relay neurons, and what they cost."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.errors import BadFile
from fsnn_lava.placement.board import load_board
from fsnn_lava.placement.cost_count import count_cost
from fsnn_lava.placement.delays import delays_in_words
from fsnn_lava.placement.placement import place
from fsnn_lava.placement.placement_table import placement_table
from tests.helpers.chip_networks import conv_network, skip_network
from tests.ir.test_graph_checks import CHAIN, graph

BOARD = load_board("oheo-gulch")
WITHOUT = replace(BOARD, synapse_delay_max=0)


def test_a_chain_has_nothing_to_say():
    assert delays_in_words(conv_network(), BOARD) == []
    assert delays_in_words(conv_network(), WITHOUT) == []


def test_dense_skips_wait_in_synapses_where_the_board_has_delays():
    chip = graph(*CHAIN, ("c", "d"), ("a", "c"), ("a", "d"), layers=4)
    assert delays_in_words(chip, BOARD) == ["2 dense skips wait in synapses, up to 3 steps"]
    assert delays_in_words(chip, WITHOUT) == ["2 skips wait in 4 relay neurons, because the board's synapses have no delays"]
    assert [layer.name for layer in place(chip, board=BOARD).layers] == ["a", "b", "c", "d", "readout"]
    placed = place(chip, board=WITHOUT)
    assert [layer.name for layer in placed.layers] == ["a", "relay 1 of a", "relay 2 of a", "b", "c", "d", "readout"]
    assert dict(placed.layers[5].forms) == {"c": "dense", "relay 2 of a": "dense"}


def test_the_relays_of_a_convolution_are_placed_named_and_counted():
    chip = skip_network(2)
    placed = place(chip, board=BOARD)
    relay = next(layer for layer in placed.layers if layer.name == "relay 1 of l1")
    assert (relay.shape, relay.use.columns()["Neurons"]) == ((4, 5, 6), 120)
    said = "1 skip waits in 120 relay neurons, because convolutions have no delays"
    assert placed.delays == (said,) and said in placement_table(placed) and placed.to_dict()["delays"] == [said]
    values = np.random.default_rng(0).integers(0, 256, (2, *chip.input.shape), dtype=np.uint8)
    result = fl.run(chip, values)
    costs = {layer.name: layer for layer in count_cost(chip, result, placed).layers}
    assert costs["relay 1 of l1"].messages == costs["relay 1 of l1"].operations == costs["l1"].messages > 0
    assert costs["readout"].operations == 3 * costs["l3"].messages


@pytest.mark.parametrize("value", ["-1", '"many"'])
def test_a_board_file_with_another_delay_is_refused(value, tmp_path):
    path = tmp_path / "board.toml"
    path.write_text(f'chip = "loihi2"\n[chips]\nvalue = 1\nsource = "x"\n[synapse_delay_max]\nvalue = {value}\nsource = "x"\n')
    with pytest.raises(BadFile, match="synapse_delay_max must be an integer of at least 0"):
        load_board(path)
