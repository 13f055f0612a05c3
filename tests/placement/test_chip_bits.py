"""Bits that a board holds: a made-up rounding whose threshold doubles with every bit."""

import pytest

from fsnn_lava.errors import CheckFailed
from fsnn_lava.placement.board import load_board
from fsnn_lava.placement.chip_bits import bits_for_board
from hw_tests.networks import one_neuron

BOARD = load_board("oheo-gulch")


def rounded(scale, *, steps=30, decay=0):
    return lambda bits: one_neuron(threshold=scale * 2 ** (bits - 4), steps=steps, decay=decay)


def test_the_most_bits_that_run_without_loss_are_taken():
    assert bits_for_board(rounded(100), BOARD) == 8  # 1600 units, 49600 in 31 steps
    assert bits_for_board(rounded(1000), BOARD) == 6  # 4000 units: 124000 of 131071 in 31 steps; 8000 may overflow
    assert bits_for_board(rounded(1000), BOARD, steps=10) == 7  # 8000 in 11 steps; 16000 is more than the chip's 8190
    assert bits_for_board(rounded(100), BOARD, most=5) == 5


def test_where_none_runs_without_loss_the_most_that_run_are_taken():
    assert bits_for_board(rounded(1000, decay=205), BOARD) == 6  # a leaky neuron may always need more bias bits; with 7 it surely does


def test_a_network_that_runs_with_none_is_refused_with_the_reason():
    with pytest.raises(
        CheckFailed, match=r"oheo-gulch cannot run this network with 4 to 8 bits: with .* bits it cannot run on the chip: layer 'l1'"
    ):
        bits_for_board(rounded(8191), BOARD)
