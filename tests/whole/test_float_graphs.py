"""Random network graphs in float: two simulators, two gradients and finite differences, folding, files and integers agree."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import fsnn_lava as fl
from fsnn_lava.nn.gradient import attach_gradient
from fsnn_lava.nn.graph_values import graph_of, graph_values
from fsnn_lava.nn.layer_rates import layer_rates_of_graph
from fsnn_lava.nn.loop_map import LoopMap
from fsnn_lava.nn.notation import parse_notation, print_notation
from fsnn_lava.nn.source_rates import SourceRates
from fsnn_lava.nn.trace import Trace
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.verify.comparator import compare
from tests.helpers.float_graphs import contracting, graphs
from tests.helpers.random_graphs import number_of_graphs

TURNS = 40  # around the loops, each a contraction by less than 1/2


def images_of(net: fl.FSNN, samples: int = 5) -> torch.Tensor:
    return torch.randn(samples, *net.architecture.input_shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


def loss_of(net: fl.FSNN, rates: torch.Tensor) -> torch.Tensor:
    pattern = torch.arange(rates.numel(), dtype=rates.dtype).sin().view_as(rates)
    return net.readout(rates.flatten(1)).square().sum() + (pattern * rates).sum()


def batch_map(net: fl.FSNN, images: torch.Tensor) -> LoopMap:
    """f as training differentiates it: with the mini-batch's statistics; the running ones and the power iterations stand still."""
    for stage in net.stages:
        if stage.norm is not None:
            stage.norm.momentum = 0.0
    weights = tuple(one.direction * (one.alpha / one.spectral_norm()) for one in net.feedbacks)
    return net._loop_map(net._entries(images), weights, net._no_masks(), running=False)


def unrolled(net: fl.FSNN, images: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """The rates of all layers after many turns of f, from rest, with autograd's graph of all of them."""
    f, sources = batch_map(net, images), SourceRates(net.graph.sources, net.graph.shapes)
    rates = f(sources.split(sources.zeros(len(images), images)))
    for _ in range(TURNS):
        rates = f([rates[position] for position in sources.positions])
    return rates


@settings(max_examples=number_of_graphs(10))
@given(graph=graphs(), batch_norm=st.booleans())
def test_the_implicit_gradient_is_the_unrolled_one_and_that_of_finite_differences(graph, batch_norm):
    net = contracting(graph, batch_norm=batch_norm, solver=fl.Solver(tol=1e-13, max_steps=200)).train()
    images, wanted = images_of(net), list(net.parameters())
    rates = unrolled(net, images)
    with torch.no_grad():
        again = batch_map(net, images)([rates[position] for position in net.graph.sources])
    assume(max(float((a.detach() - b).abs().max()) for a, b in zip(rates, again, strict=True)) < 1e-10)
    slopes = [((rate > 0) & (rate < 1)).double().mean() for rate in rates]
    assume(min(slopes) > 0)
    expected = torch.autograd.grad(loss_of(net, rates[-1]), wanted, allow_unused=True, retain_graph=True)
    trace = Trace(tuple(rate.detach() for rate in rates), (), ())
    value = attach_gradient(trace, batch_map(net, images), net.solver, report=net._report)
    assert torch.equal(value, trace.rates[-1])
    got = torch.autograd.grad(loss_of(net, value), wanted, allow_unused=True)
    assert_close(got, expected)
    if graph.feedback:  # E17: a loss of every layer
        every = layer_rates_of_graph(trace, batch_map(net, images), net.solver, report=net._report)
        assert_close(*(torch.autograd.grad(cost_of(layers), wanted, allow_unused=True) for layers in (every, rates)))
    _compare_with_finite_differences(net, images, wanted, got)


def cost_of(rates):
    return sum((torch.arange(rate.numel(), dtype=rate.dtype).cos().view_as(rate) * rate).sum() for rate in rates)


def assert_close(got, expected):
    scale = max(float(g.norm()) for g in expected if g is not None)
    for one, other in zip(got, expected, strict=True):
        if other is not None:
            assert float((other if one is None else one - other).norm()) <= 1e-6 * scale


def _compare_with_finite_differences(net, images, wanted, got):
    torch.manual_seed(2)
    directions = [torch.randn_like(parameter) for parameter in wanted]
    slope = sum(float((g * d).sum()) for g, d in zip(got, directions, strict=True) if g is not None)
    values, sides, h = [], [], 1e-7
    for sign in (1, -1):
        with torch.no_grad():
            for parameter, direction in zip(wanted, directions, strict=True):
                parameter.add_(direction, alpha=sign * h)
            rates = unrolled(net, images)
            values.append(float(loss_of(net, rates[-1])))
            sides.append([(rate > 0) & (rate < 1) for rate in rates])
            for parameter, direction in zip(wanted, directions, strict=True):
                parameter.sub_(direction, alpha=sign * h)
    if all(torch.equal(a, b) for a, b in zip(*sides, strict=True)):  # a neuron that crosses the clamp has no derivative in between
        # the error of the central difference is of order h**2 by curvature and 1e-16 / h by rounding: 1e-9 relative to the loss
        assert abs((values[0] - values[1]) / (2 * h) - slope) <= 1e-6 * max(abs(slope), abs(values[0]), 1.0)


@settings(max_examples=number_of_graphs(12))
@given(graph=graphs(), pipelined=st.booleans(), leaks=st.booleans(), dropout=st.booleans(), sequence=st.booleans())
def test_events_and_dense_products_make_the_same_spikes(graph, pipelined, leaks, dropout, sequence):
    torch.manual_seed(3)
    schedule = "pipelined" if pipelined else "sequential"
    net = fl.FSNN(graph, classes=2, vth=1.0, neuron=fl.LIF(0.9) if leaks else fl.IF(), schedule=schedule, dropout=0.3 if dropout else 0.0)
    for stage in net.stages:
        if stage.norm is not None:
            torch.nn.init.uniform_(stage.norm.bias, 0.0, 0.6)
    net.train(dropout)
    shape = net.architecture.input_shape
    images = torch.randn(4, 9, *shape) if sequence else torch.randn(4, *shape)
    with torch.no_grad():
        dynamics = net._dynamics(images, net.feedback_weights(), net._masks(4, images))
        events = net._simulate(dynamics, 9)
        net.event_driven = False
        dense = net._simulate(dynamics, 9)
    for a, b in zip((*events.counts, *events.potentials), (*dense.counts, *dense.potentials), strict=True):
        assert a.shape == b.shape
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)  # 9 steps of sums of < 100 float32 terms of order 1


@settings(max_examples=number_of_graphs(6))
@given(graph=graphs(), pipelined=st.booleans())
def test_a_folded_network_is_the_network(graph, pipelined):
    schedule = "pipelined" if pipelined else "sequential"
    channels = graph.shape("input")[0] if len(graph.shape("input")) == 3 else 1
    normalisation = fl.Normalisation(255.0, (0.4,) * channels, tuple(0.3 + 0.2 * c for c in range(channels)))
    net = contracting(graph, batch_norm=True, normalisation=normalisation, schedule=schedule).eval()
    folded = fold(net)
    pixels = torch.randint(0, 256, (4, *net.architecture.input_shape), dtype=torch.uint8, generator=torch.Generator().manual_seed(5))
    theirs, mine = net.equilibrium(pixels, tol=1e-12), folded.solve(pixels, tol=1e-12)
    assert theirs.converged
    for one, other in zip(mine.rates, theirs.rates, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    spikes, expected = folded.simulate(pixels, 8, schedule=schedule), net.simulate(pixels, 8)
    for one, other in zip(spikes.potentials, expected.potentials, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-9)
    np.testing.assert_allclose(np.abs(np.linalg.eigvals(folded.gains())).max(), net.spectral_radius(), rtol=1e-9)


@settings(max_examples=number_of_graphs(30))
@given(graph=graphs())
def test_a_graph_reads_back_from_values_and_from_its_notation(graph):
    assert graph_of(graph_values(graph), input_shape=graph.source_shape) == graph
    text = print_notation(graph)
    assert text is None or parse_notation(text, input_shape=graph.source_shape) == graph


@settings(max_examples=number_of_graphs(3))
@given(graph=graphs(layers_max=4), steps=st.integers(2, 12))
def test_integers_of_a_graph_are_faithful_to_it(graph, steps):
    net = contracting(graph, batch_norm=True, normalisation=fl.Normalisation(), steps=steps).eval()
    pixels = np.random.default_rng(0).integers(0, 256, (6, *net.architecture.input_shape), dtype=np.uint8)
    chip = fl.quantise(net, calibration=pixels)
    assert [(layer.name, layer.shape) for layer in chip.layers] == [(layer.name, layer.shape) for layer in graph.layers]
    verdict = compare(fl.run(chip, pixels), chip, pixels, model=net)
    assert verdict.faithful, verdict.to_text()
