"""step_max is the most that one step can add or subtract: no pattern of messages exceeds it, and one reaches it."""

from __future__ import annotations

from itertools import product

import numpy as np
import torch

from fsnn_lava.nn.operators import Dense
from fsnn_lava.quantisation.folded_network import FoldedConnection
from fsnn_lava.quantisation.layer_problem import LayerProblem

FORWARD = torch.tensor([[1.0, -2.0, 0.5], [-3.0, -1.0, 0.25]], dtype=torch.float64)
FEEDBACK = torch.tensor([[0.5, -4.0], [1.0, 2.0]], dtype=torch.float64)
BIAS = np.array([0.125, -0.75])


def problem() -> LayerProblem:
    connections = (
        FoldedConnection(source="input", target="l1", operator=Dense(in_shape=(3,), channels=2), weight=FORWARD),
        FoldedConnection(source="l1", target="l1", operator=Dense(in_shape=(2,), channels=2), weight=FEEDBACK),
    )
    messages = (torch.ones(4, 3, dtype=torch.float64), torch.zeros(4, 2, dtype=torch.float64))
    return LayerProblem(
        shape=(2,), connections=connections, messages=messages, bias=BIAS, host_current=np.full((4, 2), 10.0), vth=2.0,
        potential_max=1.0, message_max=(255.0, 1.0),
    )  # fmt: skip


def test_step_max_is_reached_and_never_exceeded():
    every = [
        np.abs(FORWARD.numpy() @ np.array(x) * 255.0 + FEEDBACK.numpy() @ np.array(s) + BIAS).max()
        for x in product((0, 1), repeat=3)
        for s in product((0, 1), repeat=2)
    ]
    assert problem().step_max() == max(every)


def test_the_current_includes_bias_and_what_the_host_adds():
    np.testing.assert_array_equal(problem().current(), np.tile(FORWARD.numpy().sum(axis=1) + BIAS + 10.0, (4, 1)))
