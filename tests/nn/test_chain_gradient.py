"""The gradient of several layers without a graph, against autograd through the same map."""

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.nn.chain_gradient import linearised_chain
from fsnn_lava.nn.channel_rows import channel_rows, from_channel_rows
from fsnn_lava.nn.coupling import SampleCoupling
from fsnn_lava.nn.dropout import Masks, draw_masks

CASES = [
    ("6-4 (F6)", (5,)),
    ("3C3s-4C3 (F3C3)", (2, 6, 5)),
    ("3C3s-4C3-2C3s (F3C3u)", (2, 9, 8)),
    ("4C3-6C3-P2-3C3 (F4C3u)", (1, 6, 8)),
]


def make(architecture, shape, *, batch_norm=True, dropout=0.0, tol=1e-10, neuron=None):
    torch.manual_seed(0)
    solver = fl.Solver(tol=tol, max_steps=200)
    net = fl.FSNN(
        architecture,
        input_shape=shape,
        classes=5,
        vth=1.5,
        steps=20,
        batch_norm=batch_norm,
        dropout=dropout,
        solver=solver,
        neuron=neuron,
    ).double()
    for position, stage in enumerate(net.stages):
        stage.linear.bias.data.uniform_(-0.2, 0.4)
        if stage.norm is not None:
            stage.norm.weight.data.uniform_(0.3, 0.9).mul_(1.0 if position == 0 else 0.3)  # a loop that both solvers can solve
            stage.norm.bias.data.uniform_(-0.3, 0.9)
    return net.train(), torch.randn(6, *shape, dtype=torch.float64)


def entries_of(net, first):
    """The first stage's current, the only one from the input."""
    return (first, *[None] * (len(net.stages) - 1))


def gradients(net, images, *, graph):
    """Of all parameters. A coupling of its own, which couples nothing more, takes the way through autograd's graph."""
    torch.manual_seed(1)
    coupling = {"coupling": SampleCoupling()} if graph else {}
    logits = net(images, **coupling)
    torch.nn.functional.cross_entropy(logits, torch.arange(len(images)) % 5).backward()
    return {name: p.grad for name, p in net.named_parameters()}, {name: b.clone() for name, b in net.named_buffers()}


@pytest.mark.parametrize("turns", [0, 2])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("batch_norm", [True, False])
@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_the_graphless_gradient_of_several_layers_is_the_one_of_autograd(architecture, shape, batch_norm, dropout, turns):
    found = []
    for graph in (True, False):
        net, images = make(architecture, shape, batch_norm=batch_norm, dropout=dropout)
        net.turns = turns
        found.append(gradients(net, images, graph=graph))
    (expected, statistics), (grads, own_statistics) = found
    assert grads.keys() == expected.keys()
    for name, grad in grads.items():
        # both solves end at a relative residual of 1e-10, and a bias before batch norm has no gradient but rounding
        scale = max(float(expected[name].abs().max()), 1e-3)
        torch.testing.assert_close(grad, expected[name], rtol=0, atol=1e-7 * scale, msg=lambda text, name=name: f"{name}: {text}")
    for name, value in own_statistics.items():  # batch norm's running statistics, and the feedback's singular vector
        torch.testing.assert_close(value, statistics[name], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_it_is_also_without_an_upper_clip(architecture, shape):
    found = []
    for graph in (True, False):
        net, images = make(architecture, shape, dropout=0.3, neuron=fl.SigmaDelta(activation="relu"))
        found.append(gradients(net, 4.0 * images, graph=graph))
    assert max(float(rates.max()) for rates in net.last_trace.rates) > 1.0
    for name, grad in found[1][0].items():
        expected = found[0][0][name]
        torch.testing.assert_close(grad, expected, rtol=0, atol=1e-7 * max(float(expected.abs().max()), 1e-3))


@pytest.mark.parametrize(("architecture", "shape"), CASES)
def test_the_products_are_those_of_the_transposed_jacobian(architecture, shape):
    net, images = make(architecture, shape)
    masks = draw_masks([spec.out_shape for spec in net.architecture.layers], len(images), 0.3, images)
    fed_back = draw_masks([net.architecture.layers[0].out_shape], len(images), 0.3, images)[0]
    first, weight = net.stages[0].current(images).detach(), net.feedback.weight().detach()
    loop = net._loop_map(entries_of(net, first), (weight,), Masks(tuple(masks), (fed_back,)), running=False)
    rates = torch.rand(len(images), *net.architecture.layers[-1].out_shape, dtype=torch.float64)
    chain = linearised_chain(loop, loop.own_current(), rates)
    start = rates.clone().requires_grad_()
    mapped = loop(start)[-1]
    torch.testing.assert_close(chain.mapped, mapped.detach())
    for seed in range(3):
        vector = torch.randn(mapped.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        expected = torch.autograd.grad(mapped, start, vector, retain_graph=True)[0]
        torch.testing.assert_close(chain.transpose(vector), expected, rtol=1e-9, atol=1e-12)


def gradient(net, images, precision):
    net.solver = fl.Solver(tol=1e-4, precision=precision)
    torch.manual_seed(1)
    kept = {name: value.clone() for name, value in net.state_dict().items()}
    grads = torch.autograd.grad(net(images).square().mean(), list(net.parameters()))
    net.load_state_dict(kept)  # the statistics of batch norm, which the simulation uses
    return torch.cat([grad.flatten() for grad in grads])


def test_products_in_bfloat16_change_the_gradient_by_their_rounding():
    """A product rounds twice to 8 bits, by at most 2^-9 each time, and four products follow each other around the loop."""
    torch.manual_seed(0)
    net = fl.FSNN("8C3s-16C3-16C3 (F8C3)", input_shape=(1, 16, 16), classes=3, steps=20, dropout=0.2).train()
    images = torch.randn(6, 1, 16, 16)
    exact, rounded = gradient(net, images, "full"), gradient(net, images, "bfloat16")
    assert exact.dtype == rounded.dtype == torch.float32
    assert 0 < (rounded - exact).norm() < 4 * 2 * 2**-9 * exact.norm()
    double = net.double()
    assert torch.equal(gradient(double, images.double(), "bfloat16"), gradient(double, images.double(), "full")), "float64 is never rounded"


def test_the_number_of_threads_changes_no_bit():
    before, found = torch.get_num_threads(), []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            net, images = make("8C3s-16C3 (F8C3)", (1, 32, 32), tol=0.1)
            first = net.stages[0].current(images).detach()
            loop = net._loop_map(entries_of(net, first), net.feedback_weights(), Masks.none(2, 1), running=False)
            chain = linearised_chain(loop, first, torch.zeros(6, 16, 16, 16).double())
            link = chain.links[0]
            found.append((link.gain.copy(), link.white.copy(), link.factor.copy()))
    finally:
        torch.set_num_threads(before)
    assert all((one == other).all() for one, other in zip(*found, strict=True))


def test_rows_are_a_view_where_channels_are_last_and_come_back_as_they_were():
    values = torch.randn(2, 3, 4, 5)
    assert torch.equal(from_channel_rows(channel_rows(values), values.shape), values)
    last = values.contiguous(memory_format=torch.channels_last)
    channel_rows(last)[0, 0, 1] = 7.0
    assert last[0, 1, 0, 0] == 7.0
    assert torch.equal(from_channel_rows(channel_rows(values[:, :, 0, 0]), torch.Size([2, 3])), values[:, :, 0, 0])
