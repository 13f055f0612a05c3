"""The float simulation, spike by spike, is the dense one."""

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.nn import event_simulation
from fsnn_lava.nn.event_layout import NetworkLayout, WireShape
from fsnn_lava.nn.operators import Dense

CASES = [
    ("12 (F12)", (6,), False),
    ("10-8-7 (F10)", (6,), False),
    ("6C3s (F6C3)", (1, 9, 8), False),
    ("6C3s-8C3-5C3s (F6C3u)", (2, 10, 8), False),
    ("6C3-P2-4C5s-7 ", (1, 8, 12), False),
    ("6C3s-4C3-P2-5C3 (F6C3u)", (1, 16, 8), False),
    ("5C3s (F5C3)", (2, 7, 7), True),
]


@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("schedule", ["sequential", "pipelined"])
@pytest.mark.parametrize("neuron", [fl.IF(), fl.LIF(0.9)])
@pytest.mark.parametrize(("architecture", "shape", "sequence"), CASES)
def test_events_and_dense_products_make_the_same_spikes(architecture, shape, sequence, neuron, schedule, dropout):
    torch.manual_seed(7)
    net = fl.FSNN(architecture, input_shape=shape, classes=3, neuron=neuron, schedule=schedule, dropout=dropout, vth=1.0)
    for stage in net.stages:
        torch.nn.init.uniform_(stage.norm.bias, 0.0, 0.6)
        stage.norm.running_var.uniform_(0.2, 2.0)
    net.train(dropout > 0)
    # eighths and sums of few of them would be exact in float32, but weights are not: allow no spike to sit on the threshold
    x = torch.randn(5, 12, *shape) if sequence else torch.randn(5, *shape)
    with torch.no_grad():
        dynamics = net._dynamics(x, net.feedback_weights(), net._masks(5, x))
        events = net._simulate(dynamics, 12)
        net.event_driven = False
        dense = net._simulate(dynamics, 12)
    for a, b in zip(events.counts, dense.counts, strict=True):
        assert a.shape == b.shape
        assert torch.equal(a, b)
        assert 0 < b.mean() < 12
    for a, b in zip((*events.rates, *events.potentials), (*dense.rates, *dense.potentials), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)  # 12 steps of sums of < 200 float32 terms of order 1


@pytest.mark.parametrize(("architecture", "samples"), [("6C3s-8C3 (F6C3)", 9), ("20-17 (F20)", 150)])
def test_the_number_of_threads_and_the_batch_change_no_bit(architecture, samples):
    torch.manual_seed(0)
    net = fl.FSNN(architecture, input_shape=(1, 8, 8), classes=3, vth=1.0).eval()
    x = torch.randn(samples, 1, 8, 8)
    with torch.no_grad():
        threads = torch.get_num_threads()
        try:
            torch.set_num_threads(2)
            whole = net.simulate(x, steps=15).potentials
            torch.set_num_threads(1)
            parts = [net.simulate(part, steps=15).potentials for part in (x[:2], x[2:])]
        finally:
            torch.set_num_threads(threads)
    # the drive is torch's convolution, which may choose another order for another batch; everything after it may not
    for layer in range(2):
        torch.testing.assert_close(whole[layer], torch.cat([part[layer] for part in parts]), rtol=0, atol=1e-5)


@pytest.fixture
def dense_samples(monkeypatch):
    """How many samples each run simulated with dense products after its probe."""
    seen = []
    simulate = event_simulation.simulate_densely

    def counted(dynamics, steps):
        seen.append(dynamics.samples)
        return simulate(dynamics, steps)

    monkeypatch.setattr(event_simulation, "simulate_densely", counted)
    return seen


def busy(net, bias):
    for stage in net.stages:
        torch.nn.init.constant_(stage.norm.bias, bias)


@pytest.mark.parametrize("neuron", [fl.IF(), fl.LIF(0.9)])
@pytest.mark.parametrize(("samples", "dense"), [(130, 128), (4, 3), (1, None)])
def test_a_batch_that_fires_too_often_is_finished_with_dense_products(samples, dense, neuron, dense_samples):
    """One sample in 64 decides; the spikes are the same either way, and in the order of the batch."""
    torch.manual_seed(0)
    net = fl.FSNN("6C3s-8C3 (F6C3)", input_shape=(1, 8, 8), classes=3, neuron=neuron, vth=1.0).eval()
    x = torch.randn(samples, 1, 8, 8)
    busy(net, 3.0)
    mixed = net.simulate(x, steps=10)
    assert dense_samples == ([] if dense is None else [dense])
    net.event_driven = False
    expected = net.simulate(x, steps=10)
    assert float(expected.rates[0].mean()) > 0.5
    assert all(torch.equal(a, b) for a, b in zip(mixed.counts, expected.counts, strict=True))
    for a, b in zip((*mixed.rates, *mixed.potentials), (*expected.rates, *expected.potentials), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-4)


def test_the_choice_depends_on_this_batch_alone(dense_samples):
    """A quiet batch after a busy one gives the same bits as a quiet batch alone."""
    torch.manual_seed(0)
    net = fl.FSNN("6C3s-8C3 (F6C3)", input_shape=(1, 8, 8), classes=3, vth=1.0).eval()
    x = torch.randn(6, 1, 8, 8)
    busy(net, 0.1)
    alone = net.simulate(x, steps=10)
    busy(net, 3.0)
    net.simulate(x, steps=10)
    assert dense_samples == [5]
    busy(net, 0.1)
    after = net.simulate(x, steps=10)
    assert dense_samples == [5], "the quiet batch was run by events"
    assert all(torch.equal(a, b) for a, b in zip(alone.potentials, after.potentials, strict=True))


@pytest.mark.parametrize(("samples", "dense"), [(20, [16]), (4, [])])
def test_many_weights_are_not_read_for_a_single_sample(samples, dense, dense_samples):
    torch.manual_seed(0)
    net = fl.FSNN("64C3s-512C3 (F64C3)", input_shape=(1, 4, 4), classes=3, vth=1.0).eval()
    busy(net, 3.0)
    net.simulate(torch.randn(samples, 1, 4, 4), steps=3)
    assert dense_samples == dense


def test_every_part_of_a_batch_of_sequences_decides_for_itself(dense_samples):
    torch.manual_seed(0)
    net = fl.FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=3, vth=1.0).eval()
    x = torch.rand(20, 12, 1, 8, 8)  # simulated as 16 and 4
    busy(net, 0.1)
    net.stages[0].linear.weight.data.abs_()
    x[:16] *= 0.1
    x[16:] *= 30
    mixed = net.simulate(x, steps=12)
    assert dense_samples == [3]
    net.event_driven = False
    assert torch.equal(mixed.counts[0], net.simulate(x, steps=12).counts[0])


def test_a_change_of_the_schedule_takes_effect_at_once():
    torch.manual_seed(0)
    net = fl.FSNN("7-6-5 (F7)", input_shape=(5,), classes=2, vth=1.0).eval()
    busy(net, 0.5)
    x = torch.randn(4, 5)
    sequential = net.simulate(x, steps=12).potentials[0]
    net.schedule = "pipelined"
    pipelined = net.simulate(x, steps=12).potentials[0]
    net.event_driven = False
    assert not torch.equal(sequential, pipelined)
    torch.testing.assert_close(pipelined, net.simulate(x, steps=12).potentials[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_numbers_are_simulated_with_dense_products(dtype):
    torch.manual_seed(0)
    net = fl.FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=3, vth=1.0, steps=4).to(dtype).eval()
    assert bool(net(torch.randn(3, 1, 8, 8).to(dtype)).isfinite().all())


def test_activity_is_the_share_of_all_products():
    ends = [(2, 0, 1), (0, 1, 0), (1, 2, 0)]
    sizes = (5, 4, 3)
    wires = [WireShape(source, target, delay, Dense(in_shape=(sizes[source],), channels=sizes[target])) for source, target, delay in ends]
    layout = NetworkLayout(((5,), (4,), (3,)), wires, (True, False, False))
    needed, possible = 0.3 * 5 * 4 + 0.6 * 4 * 3, 5 * 4 + 4 * 3 + 3 * 5
    assert abs(layout.activity([0.3, 0.6, 0.0]) - needed / possible) < 1e-6


@pytest.mark.parametrize("shape", [(0, 1, 8, 8), (0, 10, 1, 8, 8)])
def test_no_samples_are_no_samples(shape):
    net = fl.FSNN("6C3s-8C3 (F6C3)", input_shape=(1, 8, 8), classes=3).eval()
    trace = net.simulate(torch.zeros(shape), steps=10)
    assert [tuple(rates.shape) for rates in trace.rates] == [(0, *spec.out_shape) for spec in net.architecture.layers]
    assert net(torch.zeros(shape), steps=10).shape == (0, 3)


def test_samples_that_are_stepped_together_do_not_change_each_other(monkeypatch):
    """Of five samples stepped three at a time, some fire often enough to be added tap by tap and one not at all: no bit changes."""
    torch.manual_seed(3)
    net = fl.FSNN("9C3s-70C3 (F9C3)", input_shape=(1, 8, 8), classes=3, vth=1.0).eval()
    x = torch.randn(5, 1, 8, 8) * torch.tensor([3.0, 0.1, 2.0, 0.0, 1.0]).view(5, 1, 1, 1)
    with torch.no_grad():
        dynamics = net._dynamics(x, net.feedback_weights(), net._no_masks())
        run = event_simulation.EventRun(dynamics, 12, returned=False)
        run.simulate(0, 5)
        apart = run.trace(5)
        assert run.layout.together == 1
        monkeypatch.setattr(run.layout, "together", 3)
        run = event_simulation.EventRun(dynamics, 12, returned=False)
        run.simulate(0, 5)
        together = run.trace(5)
    assert float(apart.counts[0][0].mean()) > 0
    for one, two in zip((*apart.counts, *apart.potentials), (*together.counts, *together.potentials), strict=True):
        assert torch.equal(one, two)
