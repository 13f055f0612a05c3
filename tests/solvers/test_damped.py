"""Damped iteration: it finds the fixed point, with the damping that was asked for."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.damped import damped

START = torch.tensor([[8.0, 0.0]], dtype=torch.float64)


def test_a_step_goes_the_share_of_the_way_that_damping_says():
    """f = -a: from (8, 0) the second iterate is 8 - 1/4 * 16 = 4, whose residual of 8 is the smaller one."""
    found = damped(torch.neg, START, damping=0.25, max_steps=2)
    assert found.value.tolist() == [[4.0, 0.0]]
    assert (found.residual.tolist(), found.steps, found.converged) == ([8.0], 2, False)


def test_an_oscillation_that_plain_iteration_repeats_forever_is_damped():
    assert damped(lambda a: 2.0 - a, START, damping=1.0, max_steps=50).residual.item() == 14.0
    found = damped(lambda a: 2.0 - a, START, max_steps=50)  # one half: to the mean of 8 and -6 at once
    assert (found.value.tolist(), found.steps, found.converged) == ([[1.0, 1.0]], 2, True)


@pytest.mark.parametrize("damping", [0.0, -0.5, 1.0001, float("nan")])
def test_a_damping_outside_its_range_is_refused(damping):
    with pytest.raises(BadArgument, match=r"damping must lie in \(0, 1\], got"):
        damped(torch.neg, START, damping=damping)
