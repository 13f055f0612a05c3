"""A norm that is tracked while its weight drifts is never below the exact one, nor much above it."""

from __future__ import annotations

import numpy as np
import torch

from fsnn_lava.nn.operators import Convolution, Dense
from fsnn_lava.nn.tracked_norm import DRIFT, TrackedNorm


class Counted(Dense):
    """A dense operator that counts how often its norm is computed."""

    calls = 0

    def norm_bound(self, weight):
        type(self).calls += 1
        return super().norm_bound(weight)


def test_a_drifting_weight_keeps_a_guaranteed_bound_and_rarely_needs_a_new_one():
    rng, tracked, operator = np.random.default_rng(0), TrackedNorm(), Counted(in_shape=(7,), channels=5)
    weight = rng.standard_normal((5, 7))
    for _ in range(200):
        weight = weight + 1e-3 * rng.standard_normal(weight.shape)
        exact = np.linalg.norm(weight, 2)
        bound = tracked.bound(operator, torch.from_numpy(weight))
        assert exact * (1 - 1e-12) <= bound <= (1 + DRIFT) * exact
    assert 1 < Counted.calls < 50


def test_a_convolution_that_drifts_is_bounded_too():
    """Its drift is bounded tap by tap; compared with the norm of the dense matrix of the operator."""
    rng = np.random.default_rng(1)
    operator, tracked = Convolution(in_shape=(2, 5, 4), channels=3, kernel=(3, 2), stride=(2, 1), padding=(1, 1)), TrackedNorm()
    units = torch.eye(40, dtype=torch.float64).view(40, 2, 5, 4)
    weight = rng.standard_normal(operator.weight_shape)
    for step in range(40):
        weight = weight + 10.0 ** rng.integers(-6, -2) * rng.standard_normal(weight.shape)
        exact = np.linalg.norm(operator.apply(torch.from_numpy(weight), units).flatten(1).numpy(), 2)
        assert exact <= tracked.bound(operator, torch.from_numpy(weight)), step


def test_another_shape_starts_anew():
    tracked = TrackedNorm()
    tracked.bound(Dense(in_shape=(2,), channels=2), torch.eye(2))
    assert tracked.bound(Dense(in_shape=(3,), channels=3), 2 * torch.eye(3)) == 2.0
