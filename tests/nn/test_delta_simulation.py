"""Neurons that send changes of their rates (E14), in float: messages, dead band, equilibrium, frames, and the gradient without a clip."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fsnn_lava as fl

CASES = [("7 (F7)", (5,)), ("3C3 (F3C3)", (2, 5, 4)), ("3C3s-4C3 (F3C3)", (2, 6, 5)), ("6-5-4 (F6, R2:5, S1>3:4)", (5,))]


def make(architecture, shape, *, dead_band=0.0, activation="clip", steps=80, **options):
    torch.manual_seed(0)
    neuron = fl.SigmaDelta(dead_band=dead_band, activation=activation)
    net = fl.FSNN(architecture, input_shape=shape, classes=3, neuron=neuron, vth=1.0, limit=0.4, steps=steps, batch_norm=False, **options)
    for stage in net.stages:
        if stage.linear is not None:
            stage.linear.weight.data.mul_(0.7)
            stage.linear.bias.data.uniform_(-0.3, 1.2)  # rates of 0, between, and above 1
    return net.double()


def single(bias, *, dead_band):
    """One neuron with a = W a + bias, W = 1/4."""
    net = make("1 (F1)", (1,), dead_band=dead_band)
    torch.nn.init.zeros_(net.stages[0].linear.weight)
    net.stages[0].linear.bias.data[:] = bias
    net.feedback.direction.data[:] = 1.0
    net.feedback.alpha.data[()] = 0.25
    return net.eval()


def test_a_change_of_exactly_the_dead_band_is_sent_and_a_smaller_one_is_not():
    image = torch.zeros(1, 1, dtype=torch.float64)
    rates = [0.5, 0.625, 0.65625]  # 0.5 + a/4, exact in binary
    for dead_band, sent in ((0.125, rates[1]), (np.nextafter(0.125, 1), rates[0])):
        trace = single(0.5, dead_band=float(dead_band)).simulate(image, steps=9)
        assert float(trace.rates[0]) == sent and int(trace.counts[0]) == rates.index(sent) + 1
    assert float(single(0.5, dead_band=0.0).simulate(image, steps=3).rates[0]) == rates[2]


def test_a_neuron_without_a_change_sends_nothing():
    trace = single(-1.0, dead_band=0.0).simulate(torch.zeros(2, 1, dtype=torch.float64), steps=5)
    assert trace.counts[0].tolist() == [[0], [0]] and trace.rates[0].tolist() == [[0], [0]]


def test_the_residual_of_every_step_is_that_of_the_rates_sent_so_far():
    trace = single(0.5, dead_band=0.0).simulate(torch.zeros(1, 1, dtype=torch.float64), steps=4, residuals=True)
    # a[t] = 1/2 + a[t - 1]/4 from a[0] = 0, so |f(a[t]) - a[t]| = 4**-t / 2, exact in binary
    assert [float(residual) for residual in trace.residuals] == [0.125, 0.03125, 0.0078125, 0.001953125]


@pytest.mark.parametrize("schedule", ["sequential", "pipelined"])
@pytest.mark.parametrize("activation", ["clip", "relu"])
@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_without_a_dead_band_the_rates_are_the_equilibrium(architecture, shape, activation, schedule):
    net = make(architecture, shape, activation=activation, schedule=schedule).eval()
    images = torch.randn(4, *shape, dtype=torch.float64)
    trace, point = net.simulate(images), net.equilibrium(images, tol=1e-12)
    for rates, exact in zip(trace.rates, point.rates, strict=True):
        torch.testing.assert_close(rates, exact, rtol=0, atol=1e-9)
    top = max(float(rates.max()) for rates in trace.rates)
    assert top > 1.0 if activation == "relu" else top == 1.0


@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_with_a_dead_band_every_rate_is_within_it_of_what_it_should_be_and_fewer_messages_are_sent(architecture, shape):
    images = torch.randn(4, *shape, dtype=torch.float64)
    net, other = (make(architecture, shape, dead_band=band).eval() for band in (0.1, 0.0))
    trace = net.simulate(images)
    for rates, potentials, shown in zip(trace.rates, trace.potentials, trace.counts, strict=True):
        assert float((rates - potentials).abs().max()) < 0.1  # vth is 1
        assert int(shown.max()) >= 1
    few, many = (sum(float(counts.sum()) for counts in one.simulate(images).counts) for one in (net, other))
    assert few < many / 2


@pytest.mark.parametrize("activation", ["clip", "relu"])
@pytest.mark.parametrize("architecture", ["7 (F7)", "4C3s-3C3 (F4C3)", "6-5-4 (F6, R2:5, S1>3:4)"])
def test_a_step_is_that_of_the_exported_network(architecture, activation):
    shape = (1, 6, 6) if "C" in architecture else (12,)
    net = make(architecture, shape, activation=activation, schedule="pipelined", normalisation=fl.Normalisation(255.0)).eval()
    values = np.random.default_rng(1).integers(0, 256, (6, *shape), dtype=np.uint8)
    for steps in (1, 2, 3, 5):
        net.steps = steps
        chip = fl.quantise(net, calibration=values)
        assert chip.delta is not None and chip.delta.activation == activation and chip.steps == steps
        result, trace = fl.run(chip, values), net.simulate(torch.from_numpy(values))
        for got, wanted in zip(result.rates, trace.rates, strict=True):
            np.testing.assert_allclose(got, wanted.numpy(), rtol=0.02, atol=0.02)  # 8 bits; a missing or late connection changes far more
    verdict = fl.compare(result, chip, values, model=net)
    assert verdict.faithful, verdict.to_text()


def test_after_all_frames_the_rates_are_those_of_their_average():
    net = make("5-4 (F5)", (3,), steps=40).eval()
    frames = torch.rand(2, 40, 3, dtype=torch.float64)
    frames[:, 6:] = 0.0  # the rates have settled since the last event
    whole = net.simulate(frames)
    for rates, exact in zip(whole.rates, net.equilibrium(frames.mean(1)).rates, strict=True):
        torch.testing.assert_close(rates, exact, rtol=0, atol=1e-5)
    first = net.simulate(frames, steps=1).rates[0]
    torch.testing.assert_close(first, net.simulate(frames[:, 0], steps=1).rates[0])


def test_a_network_for_events_is_compared_after_the_frames_of_the_run_even_if_it_was_trained_on_more():
    net = make("5 (F5)", (3,), steps=8, dead_band=0.05).eval()
    frames = np.random.default_rng(3).integers(0, 2, (6, 8, 3), dtype=np.uint8)
    chip = fl.quantise(net, calibration=frames, steps=5)
    values = frames[:, :5]
    result = fl.run(chip, values)
    np.testing.assert_allclose(result.rates[0], net.simulate(torch.from_numpy(values), steps=5).rates[0].numpy(), rtol=0, atol=0.02)
    assert fl.compare(result, chip, values, model=net).faithful


@pytest.mark.parametrize("compilable", [True, False])
@pytest.mark.parametrize("activation", ["clip", "relu"])
@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_the_gradient_in_training_is_the_unrolled_one(architecture, shape, activation, compilable, monkeypatch):
    for module in ("gradient", "graph_gradient", "ring_gradient"):
        monkeypatch.setattr(f"fsnn_lava.nn.{module}.compiler_accepts", lambda _: compilable)
    net = make(architecture, shape, activation=activation, solver=fl.Solver(tol=1e-13, max_steps=300)).train()
    for _ in range(300):
        net.feedback_weights()  # their power iterations converge, so that all passes below have the same weights
    images = torch.randn(8, *shape, dtype=torch.float64)
    wanted = [p for p in net.parameters() if p is not net.readout.weight and p is not net.readout.bias]
    got = torch.autograd.grad(loss_of(net.rates(images)), wanted)
    f = net.rate_map(images)
    rates = net.simulate(images).rates
    for _ in range(80):
        rates = f([rates[position] for position in net.graph.sources])
    expected = torch.autograd.grad(loss_of(rates), wanted)
    flat = [torch.cat([g.flatten() for g in one]) for one in (got, expected)]
    assert flat[1].norm() > 1e-2
    assert (flat[0] - flat[1]).norm() <= 1e-6 * flat[1].norm()


def loss_of(rates):
    return sum((torch.arange(rate.numel(), dtype=rate.dtype).sin().view_as(rate) * rate.square()).sum() for rate in rates)
