"""Operators against their own matrix: norms (E6), transposes and weight gradients."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fsnn_lava.nn.operators import Convolution, Dense, TransposedConvolution
from tests.nn.test_feedback import operator_matrix

CASES = [
    Dense(in_shape=(7,), channels=5),
    Dense(in_shape=(2, 3, 4), channels=5),
    Convolution(in_shape=(3, 6, 5), channels=4, kernel=(3, 3), padding=(1, 1)),
    Convolution(in_shape=(3, 7, 7), channels=2, kernel=(5, 5), stride=(2, 2), padding=(2, 2)),
    Convolution(in_shape=(2, 8, 6), channels=3, kernel=(4, 4), stride=(2, 2), padding=(1, 1)),
    Convolution(in_shape=(4, 6, 5), channels=6, kernel=(3, 2), stride=(2, 1), padding=(1, 0), groups=2),
    TransposedConvolution(in_shape=(4, 4, 3), channels=3, kernel=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1)),
    TransposedConvolution(in_shape=(4, 4, 3), channels=3, kernel=(3, 3), stride=(2, 2), padding=(1, 1), output_padding=(0, 1)),
]


@pytest.mark.parametrize("mean", [0.0, 1.0])
@pytest.mark.parametrize("operator", CASES, ids=repr)
def test_the_bound_is_above_the_operators_norm_and_not_far(operator, mean):
    weight = np.random.default_rng(0).normal(mean, 1.0, operator.weight_shape)
    true = np.linalg.norm(operator_matrix(operator, weight), 2)
    bound = operator.norm_bound(weight)
    # both tori are at least as large as the image, so the bound is below the norm on an infinite plane: sum of |kernel norms|
    assert true <= bound * (1 + 1e-12)
    assert bound <= 2.0 * true


@pytest.mark.parametrize("operator", CASES, ids=repr)
def test_transpose_and_weight_gradient_are_those_of_the_operation(operator):
    torch.manual_seed(0)
    weight = torch.randn(operator.weight_shape, dtype=torch.float64, requires_grad=True)
    values = torch.randn(3, *operator.in_shape, dtype=torch.float64, requires_grad=True)
    grads = torch.randn(3, *operator.out_shape, dtype=torch.float64)
    for_values, for_weight = torch.autograd.grad((operator.apply(weight, values) * grads).sum(), (values, weight))
    with torch.no_grad():
        torch.testing.assert_close(operator.transpose(weight, grads), for_values)
        torch.testing.assert_close(operator.weight_gradient(values, grads), for_weight)


@pytest.mark.parametrize("operator", CASES, ids=repr)
def test_a_value_per_target_scales_the_channels_of_the_output(operator):
    torch.manual_seed(0)
    weight, factors = torch.randn(operator.weight_shape, dtype=torch.float64), torch.rand(operator.channels, dtype=torch.float64)
    values = torch.randn(3, *operator.in_shape, dtype=torch.float64)
    scaled = operator.apply(weight * operator.per_target(factors), values)
    torch.testing.assert_close(scaled, operator.apply(weight, values) * factors.view(-1, *[1] * (len(operator.out_shape) - 1)))


def test_a_grouped_convolution_is_bounded_by_its_largest_group():
    weight = np.random.default_rng(2).normal(size=(4, 2, 3, 3))
    one = Convolution(in_shape=(2, 5, 5), channels=2, kernel=(3, 3), padding=(1, 1))
    both = Convolution(in_shape=(4, 5, 5), channels=4, kernel=(3, 3), padding=(1, 1), groups=2)
    assert both.norm_bound(weight) == max(one.norm_bound(part) for part in (weight[:2], weight[2:]))
