"""Operator norms that hold (E6): against the matrix of the operator itself."""

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.nn.feedback import RestrictedFeedback, apply_linear, operator_norm_bound
from fsnn_lava.nn.notation import parse

CASES = [
    ("conv", (4, 3, 3, 3), (3, 6, 5), 1, 1, (0, 0)),
    ("conv", (2, 3, 5, 5), (3, 7, 7), 2, 2, (0, 0)),
    ("conv", (3, 2, 4, 4), (2, 8, 6), 2, 1, (0, 0)),
    ("transposed", (4, 3, 3, 3), (4, 4, 3), 2, 1, (1, 1)),
    ("transposed", (4, 3, 3, 3), (4, 4, 3), 2, 1, (0, 1)),
]


def operator_matrix(weight, *, kind, in_shape, stride, padding, output_padding):
    basis = torch.eye(int(np.prod(in_shape)), dtype=torch.float64).view(-1, *in_shape)
    out = apply_linear(torch.from_numpy(weight), basis, kind=kind, stride=stride, padding=padding, output_padding=output_padding)
    return out.flatten(1).t().numpy()


@pytest.mark.parametrize("mean", [0.0, 1.0])
@pytest.mark.parametrize(("kind", "shape", "in_shape", "stride", "padding", "output_padding"), CASES)
def test_the_bound_is_above_the_operators_norm_and_not_far(kind, shape, in_shape, stride, padding, output_padding, mean):
    weight = np.random.default_rng(0).normal(mean, 1.0, shape)
    options = {"kind": kind, "in_shape": in_shape, "stride": stride, "padding": padding, "output_padding": output_padding}
    true = np.linalg.norm(operator_matrix(weight, **options), 2)
    bound = operator_norm_bound(weight, **options)
    # both tori are at least as large as the image, so the bound is below the norm on an infinite plane: sum of |kernel norms|
    assert true <= bound * (1 + 1e-12)
    assert bound <= 2.0 * true


def test_the_kernel_norm_underestimates_a_convolution():
    weight = np.abs(np.random.default_rng(1).normal(size=(8, 8, 5, 5)))
    kernel = np.linalg.norm(weight.reshape(8, -1), 2)
    true = np.linalg.norm(operator_matrix(weight, kind="conv", in_shape=(8, 9, 9), stride=1, padding=2, output_padding=(0, 0)), 2)
    assert true > 3 * kernel


def test_a_grouped_convolution_is_bounded_by_its_largest_group():
    weight = np.random.default_rng(2).normal(size=(4, 2, 3, 3))
    bounds = [operator_norm_bound(part, kind="conv", in_shape=(2, 5, 5), padding=1) for part in (weight[:2], weight[2:])]
    assert operator_norm_bound(weight, kind="conv", in_shape=(4, 5, 5), padding=1, groups=2) == max(bounds)


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
    spec = feedback.spec
    if norm == "kernel":
        length = torch.linalg.matrix_norm(weight.flatten(1), 2).item()
    else:
        length = np.linalg.norm(operator_matrix(weight.detach().numpy(), kind=spec.kind, in_shape=spec.in_shape, stride=spec.stride,
                                                padding=spec.padding, output_padding=spec.output_padding), 2)  # fmt: skip
    assert length == pytest.approx(0.7, rel=1e-6)
    values = torch.randn(2, *spec.in_shape, dtype=torch.float64)
    other = torch.randn(2, *spec.out_shape, dtype=torch.float64)
    inner = (feedback.connect(weight, values) * other).sum()
    torch.testing.assert_close(inner, (values * feedback.connect_transposed(weight, other)).sum())


def test_alpha_is_clipped_to_its_limit():
    net = fl.FSNN("5 (F5)", input_shape=(3,), classes=2, limit=0.8)
    assert float(net.feedback.alpha) == pytest.approx(0.8)
    with torch.no_grad():
        net.feedback.alpha.fill_(-3.0)
    net.feedback.clip_()
    assert float(net.feedback.alpha) == pytest.approx(-0.8)
