"""What all solvers share: the best iterate, lengths, when to stop."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.solvers.solution import lengths


@pytest.mark.parametrize("rows", [[[3.0, 4.0], [0.0, 0.0], [6.0, 8.0]], [[0.0, 0.0]], [[torch.nan, 1.0], [1.0, 0.0]], [[1e-30, 0.0]]])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_lengths_are_at_least_typical_compiled_or_not(rows, dtype):
    vectors = torch.tensor(rows, dtype=dtype)
    length = vectors.norm(dim=1)
    expected = torch.maximum(length, length.square().mean().sqrt()).clamp_min(torch.finfo(dtype).tiny)
    strided = torch.stack([vectors, vectors], dim=2)[:, :, 0]
    assert not strided.is_contiguous()
    for given in (vectors, strided):
        torch.testing.assert_close(lengths(given), expected, equal_nan=True)
