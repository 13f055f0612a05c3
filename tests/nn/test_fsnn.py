"""The float network in time and at its equilibrium: E1–E4, E7, schedules, files."""

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument, BadFile


def by_hand(drive, weight, *, steps, leak, vth):
    """E1 and E2 of one dense layer, one neuron and one step at a time."""
    n = len(drive)
    u, s = np.zeros(n), np.zeros(n)
    total, count = np.zeros(n), np.zeros(n)
    for _ in range(steps):
        u = leak * u + drive + weight @ s
        s = (u >= vth).astype(float)
        u = u - vth * s
        total, count = leak * total + s, count + s
    return total / sum(leak**k for k in range(steps)), count, u


@pytest.mark.parametrize("neuron", [fl.IF(), fl.LIF(0.8)])
def test_a_dense_layer_is_stepped_as_the_equations_say(neuron):
    torch.manual_seed(2)
    net = fl.FSNN("6 (F6)", input_shape=(4,), classes=3, neuron=neuron, vth=1.25).double().eval()
    net.stages[0].norm.running_mean.uniform_(-0.5, 0.5)
    net.stages[0].norm.running_var.uniform_(0.1, 2.0)
    x = torch.randn(2, 4, dtype=torch.float64) * 2
    trace = net.simulate(x, steps=17)
    weight, bias = (part.detach() for part in net.stages[0].affine())
    loop = net.feedback.weight().detach().numpy()
    for sample in range(2):
        drive = (weight @ x[sample] + bias).numpy()
        rates, counts, potentials = by_hand(drive, loop, steps=17, leak=neuron.leak, vth=1.25)
        np.testing.assert_array_equal(trace.counts[0][sample], counts)
        np.testing.assert_allclose(trace.rates[0][sample], rates, atol=1e-12)
        np.testing.assert_allclose(trace.potentials[0][sample], potentials, atol=1e-10)


def test_a_potential_that_meets_the_threshold_exactly_spikes():
    net = fl.FSNN("1", input_shape=(1,), classes=1, vth=2.0, batch_norm=False).double().eval()
    with torch.no_grad():
        net.stages[0].linear.weight.fill_(1.0)
        net.stages[0].linear.bias.fill_(0.5)
    trace = net.simulate(torch.tensor([[1.5]], dtype=torch.float64), steps=3)
    assert trace.counts[0].item() == 3
    assert trace.potentials[0].item() == 0.0


def test_sequential_and_pipelined_are_the_same_for_one_layer_and_differ_by_the_delay_for_three():
    x = torch.randn(3, 5)
    for architecture, equal in [("7 (F7)", True), ("7-6-5 (F7)", False)]:
        nets = []
        for schedule in ("sequential", "pipelined"):
            torch.manual_seed(0)
            net = fl.FSNN(architecture, input_shape=(5,), classes=2, schedule=schedule, vth=1.0, batch_norm=False)
            for stage in net.stages:
                torch.nn.init.uniform_(stage.linear.bias, 0.2, 0.8)
            nets.append(net.eval())
        a, b = (net.simulate(x, steps=40).counts[-1] for net in nets)
        assert torch.equal(a, b) == equal
        points = [net.equilibrium(x).rates[-1] for net in nets]
        torch.testing.assert_close(points[0], points[1])


def test_a_pipelined_loop_of_three_layers_echoes_after_three_steps():
    net = fl.FSNN("1-1-1 (F1)", input_shape=(1,), classes=1, schedule="pipelined", vth=1.0, batch_norm=False, limit=1.0).eval()
    with torch.no_grad():
        for stage in net.stages:
            stage.linear.weight.fill_(1.0)
        net.feedback.alpha.fill_(1.0)
        net.feedback.direction.fill_(1.0)
    kick = torch.zeros(1, 12, 1)
    kick[0, 0, 0] = 1.0
    times = [int(net.simulate(kick[:, :t], steps=t).counts[0].item()) for t in range(1, 13)]
    assert times == [1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]


ARCHITECTURES = [
    ("12 (F12)", (6,)),
    ("6C3s (F6C3)", (1, 8, 8)),
    ("10-8 (F10)", (6,)),
    ("6C3s-8C3-6C3s (F6C3u)", (2, 8, 8)),
    ("6C3-P2-4C3 (F6C3)", (1, 8, 8)),
]


def contracting(architecture, shape, neuron):
    torch.manual_seed(5)
    net = fl.FSNN(architecture, input_shape=shape, classes=3, neuron=neuron, vth=2.0, norm="operator", batch_norm=False).double()
    for stage in net.stages:
        torch.nn.init.uniform_(stage.linear.bias, 0.1, 1.2)
    return net.eval(), torch.rand(4, *shape, dtype=torch.float64)


@pytest.mark.parametrize(("architecture", "shape"), ARCHITECTURES)
def test_residual_of_if_falls_as_one_over_the_steps(architecture, shape):
    net, x = contracting(architecture, shape, fl.IF())
    residuals = {}
    for steps in (10, 100, 1000):
        rates = net.simulate(x, steps=steps).rates
        mapped = net.rate_map(x)(rates[-1])
        residuals[steps] = float((mapped[-1] - rates[-1]).norm() / rates[-1].numel() ** 0.5)
    # E11: c / T with c a few thresholds of overshoot; two decades must bring at least one and a half
    assert residuals[1000] < residuals[10] / 30
    assert residuals[1000] < 0.02


@pytest.mark.parametrize(("architecture", "shape"), ARCHITECTURES)
def test_residual_of_lif_stays_bounded(architecture, shape):
    net, x = contracting(architecture, shape, fl.LIF(0.95))
    for steps in (30, 100, 1000):
        rates = net.simulate(x, steps=steps).rates
        residual = (net.rate_map(x)(rates[-1])[-1] - rates[-1]).abs().max()
        # E11 with A -> 1/(1 - lambda): N layers of overshoot below 2 vth each, and the spikes under way
        assert residual <= 4 * len(net.stages) * (1 - 0.95) / (1 - 0.95**steps)


def test_the_equilibrium_is_one_and_says_so():
    net, x = contracting("6C3s-8C3-6C3s (F6C3u)", (2, 8, 8), fl.IF())
    point = net.equilibrium(x, tol=1e-10)
    assert point.converged
    assert float(point.residual.max()) <= 1e-10
    again = net.rate_map(x)(point.rates[-1])
    for layer, mapped in zip(point.rates, again, strict=True):
        torch.testing.assert_close(layer, mapped, rtol=0, atol=1e-9)
    assert not net.equilibrium(x, tol=1e-30, max_steps=2).converged


def test_an_input_sequence_is_averaged_with_the_weights_of_the_rates():
    net = fl.FSNN("5 (F5)", input_shape=(4,), classes=2, neuron=fl.LIF(0.5)).double().eval()
    sequence = torch.rand(2, 3, 4, dtype=torch.float64)
    expected = (0.25 * sequence[:, 0] + 0.5 * sequence[:, 1] + sequence[:, 2]) / 1.75
    torch.testing.assert_close(net.average(sequence, 3), expected)
    constant = torch.rand(2, 1, 4, dtype=torch.float64).expand(2, 30, 4)
    a, b = net.simulate(constant, steps=30), net.simulate(constant[:, 0], steps=30)
    assert torch.equal(a.counts[0], b.counts[0])


def test_simulation_uses_running_statistics_and_training_updates_them():
    torch.manual_seed(0)
    net = fl.FSNN("5-4 (F5)", input_shape=(4,), classes=2, dropout=0.0).train()
    x = torch.randn(16, 4) * 3 + 1
    before = [stage.norm.running_mean.clone() for stage in net.stages]
    counts = net.simulate(x, steps=8).counts
    net(x, steps=8)
    assert torch.equal(net.last_trace.counts[0], counts[0])
    assert all(not torch.equal(b, stage.norm.running_mean) for b, stage in zip(before, net.stages, strict=True))
    net.eval()
    before = [stage.norm.running_mean.clone() for stage in net.stages]
    net(x, steps=8)
    assert all(torch.equal(b, stage.norm.running_mean) for b, stage in zip(before, net.stages, strict=True))


def test_dropout_keeps_one_mask_for_the_whole_sequence():
    torch.manual_seed(0)
    net = fl.FSNN("400", input_shape=(3,), classes=2, dropout=0.5, batch_norm=False, vth=1.0).train()
    torch.nn.init.constant_(net.stages[0].linear.weight, 0.0)
    torch.nn.init.constant_(net.stages[0].linear.bias, 0.5)
    net(torch.zeros(1, 3), steps=10)
    counts = net.last_trace.counts[0].unique()
    assert set(counts.tolist()) == {0.0, 10.0}  # a current is dropped in all steps, or doubled in all


def test_raw_values_are_normalised_by_the_network():
    norm = fl.Normalisation(255.0, (0.5, 0.25), (0.5, 2.0))
    net = fl.FSNN("2C3 (F2C3)", input_shape=(2, 3, 3), classes=2, normalisation=norm).eval()
    raw = torch.randint(0, 256, (2, 2, 3, 3), dtype=torch.uint8)
    expected = raw / 255.0
    expected[:, 0] = (expected[:, 0] - 0.5) / 0.5
    expected[:, 1] = (expected[:, 1] - 0.25) / 2.0
    torch.testing.assert_close(net.normalise(raw), expected)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"vth": 0}, "vth must be positive"),
        ({"steps": 0}, "steps must be an integer of at least 1, got 0"),
        ({"schedule": "fast"}, "schedule must be one of sequential, pipelined, got 'fast'"),
        ({"dropout": 1.0}, r"dropout must lie in \[0, 1\)"),
        ({"norm": "frobenius"}, "norm must be 'kernel', 'operator' or 'loop'"),
        ({"class_names": ["a"]}, "there are 2 classes and 1 class names"),
    ],
)
def test_options_out_of_range_are_refused(options, sentence):
    with pytest.raises(BadArgument, match=sentence):
        fl.FSNN("5 (F5)", input_shape=(4,), classes=2, **options)


def test_images_of_another_shape_are_refused():
    net = fl.FSNN("5 (F5)", input_shape=(4,), classes=2)
    with pytest.raises(BadArgument, match=r"images must be \[B, 4\].*got \[2, 5\]"):
        net(torch.zeros(2, 5))
    with pytest.raises(BadArgument, match="a sequence of 3 frames is too short for 5 steps"):
        net(torch.zeros(2, 3, 4), steps=5)


def test_a_model_file_is_read_back_as_it_was_written(tmp_path):
    norm = fl.Normalisation(16.0, (0.3,), (0.4,))
    net = fl.FSNN("4C3s-6C3 (F4C3)", input_shape=(1, 8, 8), classes=3, neuron=fl.LIF(0.9), steps=7, schedule="pipelined",
                  norm="operator", limit=0.7, normalisation=norm, class_names=["a", "b", "c"])  # fmt: skip
    net.metrics = {"accuracy": 0.5}
    net(torch.randn(8, 1, 8, 8)).sum().backward()
    net.save(tmp_path / "model.pt")
    again = fl.FSNN.load(tmp_path / "model.pt")
    assert again.config() == net.config()
    assert again.metrics == net.metrics
    x = torch.randint(0, 17, (4, 1, 8, 8), dtype=torch.uint8)
    assert torch.equal(again(x), net.eval()(x))
    assert list(tmp_path.iterdir()) == [tmp_path / "model.pt"]


class _Evil:
    def __reduce__(self):
        return (print, ("executed",))


@pytest.mark.parametrize("neuron", [fl.LIF(np.float64(0.5)), fl.SigmaDelta(dead_band=np.float32(0.25), activation="relu")])
def test_numbers_of_numpy_are_written_as_plain_ones(tmp_path, neuron):
    fl.FSNN("4 (F4)", input_shape=(3,), classes=2, neuron=neuron).save(tmp_path / "model.pt")
    assert fl.FSNN.load(tmp_path / "model.pt").neuron == neuron


def test_damaged_and_hostile_model_files_are_refused_with_a_message(tmp_path, capsys):
    net = fl.FSNN("5 (F5)", input_shape=(4,), classes=2)
    good = tmp_path / "good.pt"
    net.save(good)
    bad = tmp_path / "bad.pt"

    def refused(sentence):
        with pytest.raises(BadFile, match=sentence):
            fl.FSNN.load(bad)

    refused("No such file")
    bad.write_bytes(good.read_bytes()[:-200])
    refused("truncated|damaged")
    bad.write_text("hello")
    refused("not a model of fsnn-lava")
    torch.save({"format": "fsnn-lava model", "evil": _Evil()}, bad)
    refused("could execute code")
    assert "executed" not in capsys.readouterr().out
    content = torch.load(good, weights_only=True)
    torch.save({**content, "version": 99}, bad)
    refused("version 99")
    torch.save({**content, "config": {**content["config"], "architecture": "40000 (F40000)"}}, bad)
    refused(r"1600240000 weights|weights, the file holds")
    state = {k: v.clone() for k, v in content["state"].items()}
    state["readout.bias"][0] = float("nan")
    torch.save({**content, "state": state}, bad)
    refused("readout.bias contains NaN")
