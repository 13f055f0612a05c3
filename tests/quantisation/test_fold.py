"""Folding changes nothing: each fold alone, and all of them together, in float64."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import fsnn_lava as fl
from fsnn_lava.errors import BadNetwork
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.operators import Convolution
from fsnn_lava.quantisation.fold import FoldedStage, fold, fold_normalisation, fold_stage
from fsnn_lava.quantisation.folded_network import FoldedConnection

ATOL = 1e-10  # sums of at most 10**4 float64 terms of order 1: rounding stays below 10**4 * 2**-52

NETWORKS = {
    "dense": ("12 (F12)", (3, 5, 4)),
    "two dense": ("12-7 (F12)", (20,)),
    "conv": ("5C3s (F5C3)", (2, 9, 8)),
    "pooled": ("4C3-P2-6C5s (F4C3u)", (2, 8, 12)),
    "transposed": ("4C3s-5C3-6C3s (F4C3u)", (3, 12, 16)),
    "conv then dense": ("4C3s-P2-11", (2, 8, 8)),
}


def network(name: str, **options: object) -> FSNN:
    """Random, asymmetric, with batch norm statistics and a normalisation that matter."""
    text, shape = NETWORKS[name]
    torch.manual_seed(sum(map(ord, name)))
    channels = shape[0] if len(shape) == 3 else 1
    normalisation = fl.Normalisation(255.0, tuple(0.2 + 0.1 * c for c in range(channels)), tuple(0.3 - 0.05 * c for c in range(channels)))
    options = {"normalisation": normalisation, "batch_norm": True, **options}
    net = FSNN(text, input_shape=shape, classes=3, vth=2.0, steps=12, **options).double().eval()
    with torch.no_grad():
        for stage in net.stages:
            stage.linear.bias.normal_()
            if stage.norm is not None:
                for tensor in (stage.norm.running_mean, stage.norm.bias):
                    tensor.normal_()
                stage.norm.running_var.uniform_(0.5, 2.0)
                stage.norm.weight.normal_(1.0, 0.3)
        net.readout.bias.normal_()
    return net


def raw(net: FSNN, batch: int = 4, steps: int | None = None) -> Tensor:
    shape = (batch, *net.architecture.input_shape) if steps is None else (batch, steps, *net.architecture.input_shape)
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(5))


def near(one: Tensor, two: Tensor) -> None:
    torch.testing.assert_close(one, two, rtol=0, atol=ATOL)


@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize("name", ["dense", "conv"])
def test_batch_norm_alone(name, batch_norm):
    net = network(name, batch_norm=batch_norm)
    stage, layer = net.stages[0], fold_stage(net.stages[0])
    values = torch.randn(3, *net.architecture.input_shape, dtype=torch.float64)
    near(layer.current(values), stage.normalise(stage.current(values), running=True))


@pytest.mark.parametrize("pool", [2, 3])
@pytest.mark.parametrize("stride", [1, 2])
def test_pooling_alone(pool, stride):
    weight = torch.randn(4, 3, 3, 5, dtype=torch.float64)
    size = {1: 12, 2: 23}[stride]
    plain = Convolution(in_shape=(3, size, size), channels=4, kernel=(3, 5), stride=(stride, stride), padding=(1, 2))
    values = torch.randn(2, 3, size, size, dtype=torch.float64)
    pooled, folded = plain.pooled(pool), plain.fold_pooling(weight, pool)
    assert folded.shape == pooled.weight_shape == (4, 3, 3 + stride * (pool - 1), 5 + stride * (pool - 1))
    near(pooled.apply(folded, values), torch.nn.functional.avg_pool2d(plain.apply(weight, values), pool))


def test_normalisation_alone_moves_the_border_into_the_bias():
    operator = Convolution(in_shape=(2, 6, 5), channels=3, kernel=(3, 3), padding=(1, 1))
    connection = FoldedConnection(source="input", target="l1", operator=operator, weight=torch.randn(3, 2, 3, 3, dtype=torch.float64))
    layer = FoldedStage(connection, torch.randn(3, 1, 1, dtype=torch.float64).expand(3, 6, 5))
    normalisation = fl.Normalisation(255.0, (0.4, 0.1), (0.25, 0.5))
    folded = fold_normalisation(layer, normalisation, (2, 6, 5))
    pixels = torch.randint(0, 256, (4, 2, 6, 5)).double()
    mean, std = (torch.tensor(v, dtype=torch.float64).view(2, 1, 1) for v in ([0.4, 0.1], [0.25, 0.5]))
    near(folded.current(pixels), layer.current((pixels / 255 - mean) / std))
    assert (folded.bias[:, 0, 0] - folded.bias[:, 2, 2]).abs().min() > 1e-3, "a corner sees padding, the middle does not"


@pytest.mark.parametrize("name", NETWORKS)
def test_feedback_alone(name):
    net, folded = network(name), fold(network(name))
    last = torch.rand(3, *net.architecture.layers[-1].out_shape, dtype=torch.float64)
    if net.feedback is None:
        assert folded.feedback == ()
    else:
        near(folded.feedback[0].apply(last), net.feedback(last))


@pytest.mark.parametrize("name", NETWORKS)
def test_all_folds_together_keep_the_rate_map(name):
    net = network(name)
    folded, images = fold(net), raw(net)
    last = torch.rand(len(images), *net.architecture.layers[-1].out_shape, dtype=torch.float64)
    with torch.no_grad():
        expected = net.rate_map(net.normalise(images))(last)
    for mine, theirs in zip(folded.around([last], folded.drive(images)), expected, strict=True):
        near(mine, theirs)


@pytest.mark.parametrize("schedule", ["sequential", "pipelined"])
@pytest.mark.parametrize("leak", [1.0, 0.9])
@pytest.mark.parametrize("name", NETWORKS)
def test_all_folds_together_keep_every_spike_and_the_logits(name, leak, schedule):
    net = network(name, schedule=schedule, neuron=fl.IF() if leak == 1.0 else fl.LIF(leak))
    images = raw(net)
    expected, trace = net.simulate(images, 12), fold(net).simulate(images, 12, schedule=schedule)
    for mine, theirs in zip(trace.counts, expected.counts, strict=True):
        assert torch.equal(mine, theirs)
    for mine, theirs in zip(trace.potentials, expected.potentials, strict=True):
        near(mine, theirs)
    with torch.no_grad():
        near(fold(net).logits(trace.rates[-1]), net(images, 12))


@pytest.mark.parametrize("leak", [1.0, 0.9])
def test_sequences_keep_every_spike_and_their_average(leak):
    net = network("conv", neuron=fl.IF() if leak == 1.0 else fl.LIF(leak))
    frames = raw(net, steps=12)
    expected, trace = net.simulate(frames, 12), fold(net).simulate(frames, 12, schedule="sequential")
    assert torch.equal(trace.counts[0], expected.counts[0])
    with torch.no_grad():
        current = net.stages[0].normalise(net.stages[0].current(net.average(net.normalise(frames), 12)), running=True)
    near(fold(net).drive(frames, 12)[0], current)


def test_equilibrium_is_that_of_the_network():
    net = network("transposed")
    images = raw(net)
    theirs, mine = net.equilibrium(images, tol=1e-12), fold(net).solve(images, tol=1e-12)
    assert theirs.converged
    assert mine.converged
    for one, two in zip(mine.rates, theirs.rates, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-9)


def test_a_network_without_normalisation_takes_raw_values_as_they_are():
    net = network("dense", normalisation=None)
    images = raw(net)
    with torch.no_grad():
        near(fold(net).drive(images)[0], net.stages[0].normalise(net.stages[0].current(images.double()), running=True))


def test_weights_that_are_not_finite_are_refused():
    net = network("dense")
    with torch.no_grad():
        net.stages[0].linear.weight[3, 1] = float("nan")
    with pytest.raises(BadNetwork, match=r"stages.0.linear.weight: 1 of 720 values are not finite"):
        fold(net)
