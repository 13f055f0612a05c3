"""Operator norms that hold (E6): against the matrix of the operator itself."""

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.notation import parse_notation


def operator_matrix(operator, weight):
    basis = torch.eye(int(np.prod(operator.in_shape)), dtype=torch.float64).view(-1, *operator.in_shape)
    return operator.apply(torch.as_tensor(weight), basis).flatten(1).t().numpy()


@pytest.mark.parametrize("norm", ["kernel", "operator"])
@pytest.mark.parametrize("text", ["7-5 (F7)", "4C3 (F4C3)", "4C3-3C3s (F4C3u)"])
def test_restricted_feedback_has_the_norm_alpha(text, norm):
    torch.manual_seed(0)
    shape = (6,) if "C" not in text else (2, 5, 6)
    feedback = RestrictedFeedback(parse_notation(text, input_shape=shape, classes=2).feedback, norm=norm).double().train()
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


@pytest.mark.parametrize("norm", ["kernel", "operator"])
def test_training_keeps_alpha_within_its_limit_without_being_told_to(norm):
    torch.manual_seed(0)
    net = fl.FSNN("5 (F5)", input_shape=(3,), classes=2, limit=0.8, norm=norm)
    with torch.no_grad():
        net.feedback.alpha.fill_(-3.0)  # as an optimiser may leave it
    images = torch.rand(4, 3)
    first, second = net(images), net(images)  # two graphs, one backward pass
    assert float(net.feedback.alpha.detach()) == pytest.approx(-0.8)
    (first.sum() + second.square().sum()).backward()
    assert net.feedback.alpha.grad is not None and float(net.feedback.alpha.grad) != 0.0
