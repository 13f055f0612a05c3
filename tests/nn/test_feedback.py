"""Guaranteed bounds on operator norms (E6), compared with the matrix of the operator itself."""

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.network_gains import spectral_radius
from fsnn_lava.nn.notation import parse_notation
from fsnn_lava.quantisation.fold import fold


def operator_of(text, shape):
    graph = parse_notation(text, input_shape=shape)
    return graph.operator(graph.feedback[0])


def operator_matrix(operator, weight):
    basis = torch.eye(int(np.prod(operator.in_shape)), dtype=torch.float64).view(-1, *operator.in_shape)
    return operator.apply(torch.as_tensor(weight), basis).flatten(1).t().numpy()


@pytest.mark.parametrize("norm", ["kernel", "operator"])
@pytest.mark.parametrize("text", ["7-5 (F7)", "4C3 (F4C3)", "4C3-3C3s (F4C3u)"])
def test_restricted_feedback_has_the_norm_alpha(text, norm):
    torch.manual_seed(0)
    shape = (6,) if "C" not in text else (2, 5, 6)
    feedback = RestrictedFeedback(operator_of(text, shape), norm=norm).double().train()
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


DEEP = ["6-5-4-5-6 (F6)", "4C3-3C3s-4C3-3C3-2C3 (F4C3u)", "6 (F6)"]


def _moved(net: fl.FSNN) -> fl.FSNN:
    """`net` after an optimiser step of a random direction and new statistics of batch norm, clipped."""
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
        for stage in net.stages:
            stage.norm.running_var.uniform_(0.1, 2.0)
            stage.norm.running_mean.normal_()
    net.feedback.clip_()
    return net


@pytest.mark.parametrize("text", DEEP)
def test_norm_loop_keeps_the_product_around_the_loop_within_its_limit(text):
    """The matrices of the folded operators, multiplied norm by norm; the spectral radius of the gains is the N-th root (E6)."""
    torch.manual_seed(0)
    shape = (6,) if "C" not in text else (2, 5, 6)
    net = fl.FSNN(text, input_shape=shape, classes=2, norm="loop", limit=0.9)
    for _ in range(4):
        folded = [stage.folded() for stage in list(net.stages)[1:]]
        operators = [(net.feedback.operator, net.feedback.weight()), *((operator, weight) for operator, weight, _ in folded)]
        norms = [np.linalg.norm(operator_matrix(o, w.detach().double()), 2) for o, w in operators]
        assert np.prod(norms) / net.vth ** len(net.stages) <= 0.9
        assert spectral_radius(fold(net).gains()) < 1.0
        net = _moved(net)


def test_norm_loop_clips_no_more_than_it_must():
    torch.manual_seed(0)
    net = fl.FSNN("6-5-6 (F6)", input_shape=(6,), classes=2, norm="loop", limit=0.5)
    with torch.no_grad():
        net.feedback.alpha.fill_(-100.0)
    net.feedback.clip_()
    assert net.feedback.loop_gain() == pytest.approx(0.5, rel=0.03)  # the tracked norms are within 2 %
    assert float(net.feedback.alpha) < 0
    with torch.no_grad():
        net.feedback.alpha.mul_(0.1)
    before = float(net.feedback.alpha)
    net.feedback.clip_()
    assert float(net.feedback.alpha) == before


def test_norm_loop_survives_a_file_and_quantisation(tmp_path):
    """Read back, the network has the same weights; its integers are certified too, and so is every sample."""
    torch.manual_seed(0)
    net = _moved(fl.FSNN("12-10-8-10-12 (F12)", input_shape=(9,), classes=3, norm="loop", limit=0.9, steps=40))
    net.save(tmp_path / "model.pt")
    again = fl.FSNN.load(tmp_path / "model.pt")
    assert torch.equal(again.eval().feedback.weight(), net.eval().feedback.weight())
    pixels = np.random.default_rng(0).integers(0, 256, (8, 9), dtype=np.uint8)
    chip = fl.quantise(again, calibration=pixels)
    verdict = fl.compare(fl.run(chip, pixels), chip, pixels)
    assert verdict.check("contraction").numbers["state"] == "certified"
    numbers = verdict.check("certificate").numbers
    assert (numbers["samples"], numbers["certified"]) == (8, 8)


@pytest.mark.parametrize("limit", [1.0, 1.8])
def test_norm_loop_needs_a_limit_below_one(limit):
    with pytest.raises(fl.BadArgument, match=r"limit bounds the gain around the loop and must be below 1, for example 0\.9; got 1"):
        fl.FSNN("5 (F5)", input_shape=(3,), classes=2, norm="loop", limit=limit)


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
