"""Synaptic sums of the comparator: exact in integers, whatever a library's convolution does."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.ir.network import ConvSynapse, DenseSynapse, TransposedConvSynapse
from fsnn_lava.verify import synaptic_sums
from fsnn_lava.verify.synaptic_sums import synaptic_sum

RNG = np.random.default_rng(5)
SYNAPSES = [
    DenseSynapse(source="a", target="b", weight=RNG.integers(-127, 128, (4, 18)).astype(np.int8)),
    ConvSynapse(source="a", target="b", weight=RNG.integers(-127, 128, (4, 1, 2, 3)).astype(np.int8), padding=(1, 1), groups=2),
    TransposedConvSynapse(source="a", target="b", weight=RNG.integers(-127, 128, (2, 3, 2, 3)).astype(np.int8), stride=(2, 1)),
]


@pytest.mark.parametrize("synapse", SYNAPSES)
@pytest.mark.parametrize("largest", [1, 30, 2**20])
def test_dense_and_sparse_messages_have_the_same_exact_sums(synapse, largest):
    """Dense and small ones are summed in float32, the others message by message; a sum is linear, so halves add up to the whole."""
    messages = RNG.integers(1, largest + 1, (3, 2, 3, 3))
    mask = RNG.random(messages.shape) < 0.1
    whole = synaptic_sum(synapse, messages)
    assert whole.dtype == np.int64
    np.testing.assert_array_equal(whole, synaptic_sum(synapse, messages * mask) + synaptic_sum(synapse, messages * ~mask))
    np.testing.assert_array_equal(whole, synaptic_sum(synapse, messages.astype(np.float64)))  # below 2**53: exact as well


def test_a_library_whose_convolution_is_not_exact_is_not_believed(monkeypatch):
    synapse, messages = SYNAPSES[1], RNG.integers(1, 31, (3, 2, 3, 3))
    expected, given = synaptic_sum(synapse, messages), synaptic_sums._in_float32
    tried = []
    monkeypatch.setattr(synaptic_sums, "_in_float32", lambda *args: tried.append(1) or given(*args) + 1)
    np.testing.assert_array_equal(synaptic_sum(synapse, messages), expected)
    assert tried
