"""Tiles: every neuron on one core, as few cores as the memory allows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from fsnn_lava.placement.board import load_board
from fsnn_lava.placement.core_memory import ConnectionMemory, MemoryUse
from fsnn_lava.placement.tiling import Population, Tiling, split_population

BOARD = load_board("oheo-gulch")


def population(shape, **options):
    source = ConnectionMemory(source="input", source_shape=(2, 9, 9), form="conv", bits=8, kernel=(3, 3), padding=(1, 1))
    return Population(name="l1", shape=shape, inputs=(source,), **options)


def test_tiles_cover_every_neuron_once_and_the_last_ones_are_smaller():
    tiling = Tiling(population=population((5, 7, 3)), tile=(2, 4, 3), use=MemoryUse())
    assert (tiling.counts, tiling.cores) == ((3, 2, 1), 6)
    covered = np.zeros((5, 7, 3), int)
    for (c, h, w), (dc, dh, dw) in tiling.tiles():
        assert dc * dh * dw > 0
        covered[c : c + dc, h : h + dh, w : w + dw] += 1
    assert (covered == 1).all()


def test_neurons_per_core_decide_when_memory_does_not():
    """105 neurons, 20 to a core: six cores are needed, and tiles of 5 x 4 x 1 do with six."""
    tiling = split_population(population((5, 7, 3)), replace(BOARD, neurons_per_core=20))
    assert tiling is not None
    assert (tiling.tile, tiling.cores) == ((5, 4, 1), 6)
    assert split_population(population((5, 7, 3)), replace(BOARD, neurons_per_core=105)).cores == 1


def test_a_neuron_that_fits_on_no_core_has_no_tiling():
    """Eighteen lists of one weight each take more than one word."""
    assert split_population(population((5, 7, 3)), replace(BOARD, synapse_words_per_core=1)) is None


def test_spikes_are_mapped_per_pixel_to_convolutions_and_per_neuron_to_dense_targets():
    tile, shape = (2, 3, 4), (2, 3, 4)
    conv = population(shape, to_convolutions=("l2",)).use(tile, BOARD, target_groups=5)
    dense = population(shape, to_neurons=True).use(tile, BOARD)
    both = population(shape, to_convolutions=("l2",), to_neurons=True).use(tile, BOARD)
    assert [(use.axon_map, use.axon_mem) for use in (conv, dense, both)] == [(12, 60), (24, 0), (36, 12)]
