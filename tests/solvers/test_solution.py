"""What all solvers share: the best iterate, lengths, when to stop."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.solution import BestIterate, every_sample, lengths, max_norm


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


def best(*residuals):
    """A BestIterate that saw iterates 0, 1, 2, … with these residuals [B] each."""
    found = BestIterate(tol=0.5, norm=max_norm, stop=every_sample)
    stops = [found.update(torch.full((len(row), 1), float(i)), torch.tensor(row).view(-1, 1)) for i, row in enumerate(residuals)]
    return found.solution(), stops


def test_every_sample_keeps_its_own_best_iterate():
    found, stops = best([3.0, -1.0], [-2.0, 4.0], [2.5, 0.5])
    assert found.value.tolist() == [[1.0], [2.0]]
    assert (found.residual.tolist(), found.steps, found.converged) == ([2.0, 0.5], 3, False)
    assert stops == [False, False, False]


def test_a_residual_as_large_as_the_tolerance_is_solved():
    found, stops = best([0.5, 0.25])
    assert (stops, found.converged) == ([True], True)


def test_a_residual_that_is_not_a_number_is_never_the_best():
    found, _ = best([float("nan")], [7.0], [float("nan")])
    assert (found.value.item(), found.residual.item()) == (1.0, 7.0)
    assert best([float("nan")])[0].residual.item() == float("inf")


def test_without_an_iterate_there_is_no_solution():
    with pytest.raises(BadArgument, match="max_steps must be at least 1"):
        best()


def test_the_norm_is_the_largest_entry_of_each_sample():
    assert max_norm(torch.tensor([[[1.0, -3.0]], [[2.0, 0.0]]])).tolist() == [3.0, 2.0]
