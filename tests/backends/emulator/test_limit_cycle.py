"""Hashes of rates: different rates have different ones, which a period is recognised by."""

from __future__ import annotations

from itertools import product

import numpy as np

from fsnn_lava.backends.emulator.limit_cycle import hash_keys, limit_cycles


def test_small_rates_of_a_few_neurons_have_different_hashes():
    """One key in place of another, or multiples of each other, would let changes of several neurons cancel."""
    rates = np.array(list(product(range(-9, 10), repeat=4)), dtype=np.int64)
    for keys in (hash_keys(4), hash_keys(5000)[-4:]):
        hashes = (rates.astype(np.uint64) * keys).sum(axis=1, dtype=np.uint64)
        assert len(np.unique(hashes)) == len(rates)


def test_keys_are_odd_and_do_not_depend_on_how_many_there_are():
    assert np.all(hash_keys(100) % 2 == 1)
    np.testing.assert_array_equal(hash_keys(100)[:7], hash_keys(7))


def test_rates_that_move_along_neighbouring_neurons_are_no_cycle():
    """Three up here, one down there: with keys 1, 3, 5, … their sum would stay the same."""
    told = np.array([[[3 * t, 100 - t] for t in range(8)]], dtype=np.int64)
    hashes = (told.astype(np.uint64) * hash_keys(2)).sum(axis=2, dtype=np.uint64)
    assert limit_cycles(hashes, np.full((1, 8), 2, dtype=np.int32), longest_delay=1).tolist() == [0]
