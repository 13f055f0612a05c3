"""Operator norms that hold (E6): against the matrix of the operator itself."""

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.notation import parse
from fsnn_lava.nn.operators import Convolution, Dense, TransposedConvolution

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


def operator_matrix(operator, weight):
    basis = torch.eye(int(np.prod(operator.in_shape)), dtype=torch.float64).view(-1, *operator.in_shape)
    return operator.apply(torch.as_tensor(weight), basis).flatten(1).t().numpy()


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


def test_the_kernel_norm_underestimates_a_convolution():
    weight = np.abs(np.random.default_rng(1).normal(size=(8, 8, 5, 5)))
    kernel = np.linalg.norm(weight.reshape(8, -1), 2)
    true = np.linalg.norm(operator_matrix(Convolution(in_shape=(8, 9, 9), channels=8, kernel=(5, 5), padding=(2, 2)), weight), 2)
    assert true > 3 * kernel


def test_a_grouped_convolution_is_bounded_by_its_largest_group():
    weight = np.random.default_rng(2).normal(size=(4, 2, 3, 3))
    one = Convolution(in_shape=(2, 5, 5), channels=2, kernel=(3, 3), padding=(1, 1))
    both = Convolution(in_shape=(4, 5, 5), channels=4, kernel=(3, 3), padding=(1, 1), groups=2)
    assert both.norm_bound(weight) == max(one.norm_bound(part) for part in (weight[:2], weight[2:]))


@pytest.mark.parametrize("norm", ["kernel", "operator"])
@pytest.mark.parametrize("text", ["7-5 (F7)", "4C3 (F4C3)", "4C3-3C3s (F4C3u)"])
def test_restricted_feedback_has_the_norm_alpha(text, norm):
    torch.manual_seed(0)
    shape = (6,) if "C" not in text else (2, 5, 6)
    feedback = RestrictedFeedback(parse(text, input_shape=shape, classes=2).feedback, norm=norm).double().train()
    with torch.no_grad():
        feedback.alpha.fill_(0.7)
    for _ in range(200):
        weight = feedback.weight()
    if norm == "kernel":
        length = torch.linalg.matrix_norm(weight.flatten(1), 2).item()
    else:
        length = np.linalg.norm(operator_matrix(feedback.operator, weight.detach()), 2)
    assert length == pytest.approx(0.7, rel=1e-6)


def test_alpha_is_clipped_to_its_limit():
    net = fl.FSNN("5 (F5)", input_shape=(3,), classes=2, limit=0.8)
    assert float(net.feedback.alpha) == pytest.approx(0.8)
    with torch.no_grad():
        net.feedback.alpha.fill_(-3.0)
    net.feedback.clip_()
    assert float(net.feedback.alpha) == pytest.approx(-0.8)
