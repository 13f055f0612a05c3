"""The gradient of a loss of every layer's rates (E17) against two other ways to the same number, in float64."""

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.nn.dropout import Masks
from fsnn_lava.nn.fan_out import fan_out, operations_by_fan_out
from fsnn_lava.nn.gradient import attach_gradient
from fsnn_lava.nn.layer_rates import layer_rates
from fsnn_lava.nn.trace import Trace
from tests.nn.test_gradient import CASES, gradients, make


def cost(net, rates):
    """Cross-entropy and the penalty, which weighs every layer differently and borders less than the middle."""
    labels = torch.arange(len(rates[-1])) % 3
    loss = torch.nn.functional.cross_entropy(net.readout(rates[-1].flatten(1)), labels)
    return loss + 0.01 * operations_by_fan_out(rates, fan_out(net)).mean()


def loop_of(net, x):
    """f with the mini-batch's statistics; the running ones and the power iteration stand still."""
    for stage in net.stages:
        if stage.norm is not None:
            stage.norm.momentum = 0.0
    weight = net.feedback.direction * (net.feedback.alpha / net.feedback.spectral_norm())
    return net._loop_map(net._entries(x), (weight,), Masks.none(len(net.stages), 1), running=False)


def unrolled(net, x, turns=300):
    loop = loop_of(net, x)
    last = torch.zeros(len(x), *net.architecture.layers[-1].out_shape, dtype=torch.float64)
    for _ in range(turns):
        rates = loop(last)
        assert rates[-1].isfinite().all()
        last = rates[-1]
    assert (loop(last)[-1] - last).abs().max() < 1e-12, "the case has no equilibrium to differentiate at"
    return cost(net, (*loop(last)[:-1], last))


def implicit(net, x):
    loop = loop_of(net, x)
    with torch.no_grad():
        last = torch.zeros(len(x), *net.architecture.layers[-1].out_shape, dtype=torch.float64)
        for _ in range(300):
            last = loop(last)[-1]
    solver = fl.Solver(tol=1e-12, max_steps=400)
    attached = attach_gradient(Trace((last,), (), ()), loop, solver, report=net._report)
    return cost(net, layer_rates(loop, attached))


@pytest.mark.parametrize("batch_norm", [False, True])
@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_the_gradient_of_the_penalty_is_the_unrolled_one(architecture, shape, batch_norm):
    net = make(architecture, shape, neuron=fl.IF(), batch_norm=batch_norm)
    x = torch.randn(8, *shape, dtype=torch.float64)
    expected, got = gradients(net, unrolled(net, x)), gradients(net, implicit(net, x))
    assert expected.norm() > 1e-3
    assert (got - expected).norm() <= 1e-6 * expected.norm()


@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_the_gradient_of_the_penalty_is_that_of_finite_differences(architecture, shape):
    net = make(architecture, shape, neuron=fl.LIF(0.9), batch_norm=True, seed=3)
    x = torch.randn(8, *shape, dtype=torch.float64)
    wanted = list(net.parameters())
    got = torch.autograd.grad(implicit(net, x), wanted)
    torch.manual_seed(1)
    directions = [torch.randn_like(p) for p in wanted]
    slope = sum((g * d).sum() for g, d in zip(got, directions, strict=True))
    h, values = 1e-6, []  # the map is linear inside the clamp: the error of a central difference is of order h**2
    for sign in (1, -1):
        with torch.no_grad():
            for p, d in zip(wanted, directions, strict=True):
                p.add_(d, alpha=sign * h)
            values.append(unrolled(net, x))
            for p, d in zip(wanted, directions, strict=True):
                p.sub_(d, alpha=sign * h)
    assert abs((values[0] - values[1]) / (2 * h) - slope) <= 1e-6 * max(abs(slope), 1.0)


def test_a_training_step_updates_the_running_statistics_once_and_solves_once():
    found = []
    for inner in (False, True):
        torch.manual_seed(0)
        net = fl.FSNN("4C3-3C3s (F4C3u)", input_shape=(1, 6, 8), classes=3, steps=6).train()
        images = torch.randn(5, 1, 6, 8)
        solves = []
        net._report = lambda solution, solves=solves: solves.append(solution)
        rates = net.rates(images) if inner else (net(images),)
        sum(layer.square().sum() for layer in rates).backward()
        assert [len(solves), len(rates)] == [1, 1 + inner]
        found.append([buffer.clone() for buffer in net.buffers()])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_rates_are_those_of_the_simulation_and_the_last_ones_give_the_logits():
    torch.manual_seed(0)
    net = fl.FSNN("7-5 (F7)", input_shape=(4,), classes=3, steps=9)
    images = torch.randn(6, 4)
    rates = net.train().rates(images)
    assert [tuple(layer.shape) for layer in rates] == [(6, 7), (6, 5)]
    assert torch.equal(rates[-1].detach(), net.last_trace.rates[-1])
    rates = net.eval().rates(images)
    assert all(torch.equal(a, b) for a, b in zip(rates, net.simulate(images).rates, strict=True))
    torch.testing.assert_close(net(images), net.readout(rates[-1]))
