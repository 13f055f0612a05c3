"""The float simulation, spike by spike, is the dense one."""

import pytest
import torch

import fsnn_lava as fl

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
        weight = net.feedback.weight() if net.feedback else None
        masks = net._masks(5, x)
        events = net._simulate(x, 12, weight, masks)
        spoken = net._event_simulation().activity([float(count.mean()) / 12 for count in events.counts])
        net.event_driven = False
        dense = net._simulate(x, 12, weight, masks)
    for a, b in zip(events.counts, dense.counts, strict=True):
        assert a.shape == b.shape
        assert torch.equal(a, b)
        assert 0 < b.mean() < 12
    assert net.activity == pytest.approx(spoken, rel=1e-6)
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


def test_a_network_that_fires_too_often_goes_on_with_dense_products(monkeypatch):
    """The choice follows the activity of the run before; spikes are the same either way."""
    torch.manual_seed(0)
    net = fl.FSNN("6C3s-8C3 (F6C3)", input_shape=(1, 8, 8), classes=3, vth=1.0).eval()
    x = torch.randn(4, 1, 8, 8)
    runs = []
    events = net._simulate_events
    monkeypatch.setattr(net, "_simulate_events", lambda *args: runs.append("events") or events(*args))
    for bias in (0.1, 3.0, 0.1, 0.1):
        for stage in net.stages:
            torch.nn.init.constant_(stage.norm.bias, bias)
        net.simulate(x, steps=10)
        runs.append(net.activity)
    assert runs[::2][0] == "events"
    assert runs[1] < 0.5 < runs[3] <= 1.0
    assert runs[2] == "events", "nothing was known of the higher activity before this run"
    assert runs[4] < 0.5, "this run was dense"
    assert runs[5] == "events"
    assert len(runs) == 7


def test_the_activity_of_sequences_is_that_of_all_their_parts():
    torch.manual_seed(0)
    net = fl.FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=3, vth=1.0).eval()
    x = torch.rand(20, 12, 1, 8, 8)  # simulated as 16 and 4
    x[16:] *= 6
    counts = net.simulate(x, steps=12).counts
    assert counts[0][16:].mean() > 1.5 * counts[0][:16].mean() > 0
    assert net.activity == pytest.approx(float(counts[0].mean()) / 12, rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_other_numbers_are_simulated_with_dense_products(dtype):
    torch.manual_seed(0)
    net = fl.FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=3, vth=1.0, steps=4).to(dtype).eval()
    assert bool(net(torch.randn(3, 1, 8, 8).to(dtype)).isfinite().all())


def test_activity_is_the_share_of_all_products():
    net = fl.FSNN("5-4-3 (F5)", input_shape=(2,), classes=2)
    asked, possible = 0.3 * 5 * 4 + 0.6 * 4 * 3, 5 * 4 + 4 * 3 + 3 * 5
    assert abs(net._event_simulation().activity([0.3, 0.6, 0.0]) - asked / possible) < 1e-6


@pytest.mark.parametrize("shape", [(0, 1, 8, 8), (0, 10, 1, 8, 8)])
def test_no_samples_are_no_samples(shape):
    net = fl.FSNN("6C3s-8C3 (F6C3)", input_shape=(1, 8, 8), classes=3).eval()
    trace = net.simulate(torch.zeros(shape), steps=10)
    assert [tuple(rates.shape) for rates in trace.rates] == [(0, *spec.out_shape) for spec in net.architecture.layers]
    assert net(torch.zeros(shape), steps=10).shape == (0, 3)
    assert net.activity == 0.0, "nothing was seen"
