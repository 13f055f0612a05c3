"""A batch that is the whole batch: nothing comes from other processes."""

from __future__ import annotations

import torch
from torch import nn

from fsnn_lava.nn.coupling import WHOLE_BATCH
from fsnn_lava.solvers.solution import lengths


def test_masks_keep_their_mean_and_are_drawn_for_every_layer():
    torch.manual_seed(0)
    first, second = WHOLE_BATCH.draw_masks([(200,), (3, 4, 5)], 50, 0.25, torch.zeros(1, dtype=torch.float64))
    assert (first.shape, second.shape, first.dtype) == ((50, 200), (50, 3, 4, 5), torch.float64)
    assert torch.equal(first.unique(), torch.tensor([0.0, 1 / 0.75], dtype=torch.float64))
    # 10,000 draws: the share of zeros has a standard deviation of 0.0043
    assert abs(float((first == 0).double().mean()) - 0.25) < 5 * 0.0043


def test_batch_norm_uses_this_batch_and_updates_the_running_statistics():
    torch.manual_seed(0)
    norm, current = nn.BatchNorm1d(3, momentum=0.5).double(), torch.randn(8, 3, dtype=torch.float64) * 4 + 2
    out = WHOLE_BATCH.batch_norm(norm, current)
    torch.testing.assert_close(out.mean(0), torch.zeros(3, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(norm.running_mean, current.mean(0) / 2)


def test_residuals_are_scaled_by_lengths_and_a_solver_stops_when_all_are_solved():
    constant = torch.tensor([[3.0, 4.0], [0.0, 0.0]])
    assert torch.equal(WHOLE_BATCH.scale(constant), lengths(constant))
    assert [WHOLE_BATCH.stop(torch.tensor(solved)) for solved in ([True, True], [True, False])] == [True, False]
