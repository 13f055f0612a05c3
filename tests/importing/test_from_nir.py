"""NIR graphs: equal spikes to NIR's equations step by step, recurrence and feedback included, and a sentence for what does not fit."""

from __future__ import annotations

import nir
import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.importing.proof import own_run
from tests.helpers.nir_files import integrate_and_fire, lif, nir_chain, numbers

STEPS = 12


def read(tmp_path, graph, **options):
    nir.write(tmp_path / "net.nir", graph)
    return fl.from_nir(tmp_path / "net.nir", **{"reset": "subtract", "steps": STEPS, **options})


def values(*shape):
    return torch.from_numpy(2.0 * numbers(9, 5, *shape))


def spikes_of(net, given):
    return [layer.numpy() for layer in own_run(net.double(), given, STEPS)]


def test_a_chain_sends_the_spikes_of_nirs_equations(tmp_path):
    net = read(tmp_path, nir_chain(lif(6, tau=5.0, r=2.0)), dt=0.5)
    leak, gain = 1 - 0.5 / 5.0, 0.5 * 2.0 / 5.0
    given, u, sent = values(4), 0.0, []
    for _ in range(STEPS):
        u = leak * u + gain * (given.numpy() @ numbers(1, 6, 4).T + numbers(2, 6))
        spikes = (u > 0.75).astype(float)
        u = u - 0.75 * spikes
        sent.append(spikes)
    assert 0 < np.mean(sent) < 1
    np.testing.assert_array_equal(spikes_of(net, given)[0], np.stack(sent))
    assert net.neuron.leak == pytest.approx(leak) and net.vths[0] == pytest.approx(0.75 / gain, rel=1e-6)
    said = net.metrics["imported"]
    assert said.startswith("NIR graph net.nir, with dt = 0.5: lif subtracts θ before the leak, spikes at u > θ, keeps 0.9 of u")
    assert said.endswith("read as data, not compared with its source")


def feedback_graph(**metadata):
    """Two layers, recurrence of the second in a graph of its own, feedback from it to the first, and a skip from the input."""
    ring = nir.NIRGraph(
        nodes={
            "input": nir.Input(input_type={"input": np.array([5])}),
            "lif": integrate_and_fire(5),
            "w": nir.Affine(weight=0.3 * numbers(6, 5, 5), bias=0.1 * numbers(7, 5)),
            "output": nir.Output(output_type={"output": np.array([5])}),
        },
        edges=[("input", "lif"), ("lif", "w"), ("w", "lif"), ("lif", "output")],
        type_check=False,
    )
    more = {
        "mid": nir.Linear(weight=numbers(4, 5, 6)),
        "ring": ring,
        "back": nir.Affine(weight=0.3 * numbers(5, 6, 5), bias=0.1 * numbers(10, 6)),
        "skip": nir.Affine(weight=numbers(8, 5, 4), bias=0.1 * numbers(11, 5)),
        "out": nir.Linear(weight=numbers(3, 3, 5)),
    }
    edges = [("input", "in"), ("in", "lif"), ("lif", "mid"), ("mid", "ring"), ("ring", "back"), ("back", "lif")]
    edges += [("input", "skip"), ("skip", "ring"), ("ring", "out"), ("out", "output")]
    return nir_chain(integrate_and_fire(6), edges=edges, metadata=metadata, **more)


@pytest.mark.parametrize("backwards", [False, True])
def test_recurrence_feedback_and_skips_send_the_same_spikes(backwards, tmp_path):
    graph = feedback_graph(dt=1.0)
    graph.edges = graph.edges[::-1] if backwards else graph.edges  # their order means nothing
    net = read(tmp_path, graph)
    given = values(4)
    x = given.numpy()
    u, v, first, second = 0.0, 0.0, 0.0, np.zeros((5, 5))
    sent = []
    for _ in range(STEPS):
        back = second @ (0.3 * numbers(5, 6, 5)).T + 0.1 * numbers(10, 6)
        u = u + x @ numbers(1, 6, 4).T + numbers(2, 6) + back
        first = (u > 0.75).astype(float)
        u = u - 0.75 * first
        own = second @ (0.3 * numbers(6, 5, 5)).T + 0.1 * numbers(7, 5)
        v = v + first @ numbers(4, 5, 6).T + own + x @ numbers(8, 5, 4).T + 0.1 * numbers(11, 5)
        second = (v > 0.75).astype(float)
        v = v - 0.75 * second
        sent.append((first, second))
    assert len(net.feedbacks) == 2
    assert [layer.name for layer in net.graph.layers] == ["lif", "ring_lif"]
    for ours, theirs in zip(spikes_of(net, given), zip(*sent), strict=True):
        assert 0 < ours.mean() < 1
        np.testing.assert_array_equal(ours, np.stack(theirs))


def test_convolution_pooling_and_scale_are_folded(tmp_path):
    pair = np.array([1, 1])
    conv = nir.Conv2d(
        input_shape=(8, 6), weight=numbers(1, 3, 2, 3, 3), stride=pair, padding=pair, dilation=pair, groups=1, bias=numbers(2, 3)
    )
    nodes = {
        "input": nir.Input(input_type={"input": np.array([2, 8, 6])}),
        "in": conv,
        "pool": nir.SumPool2d(kernel_size=np.array([2, 2]), stride=np.array([2, 2]), padding=np.array([0, 0])),
        "scale": nir.Scale(scale=np.full((3, 4, 3), 0.5)),
        "flat": nir.Flatten(input_type={"input": np.array([3, 4, 3])}, start_dim=0, end_dim=-1),
        "out": nir.Linear(weight=numbers(3, 3, 36)),
    }
    neurons = nir.IF(r=np.ones((3, 4, 3)), v_threshold=np.full((3, 4, 3), 1.5))
    edges = [("input", "in"), ("in", "pool"), ("pool", "scale"), ("scale", "lif"), ("lif", "flat"), ("flat", "out"), ("out", "output")]
    net = read(tmp_path, nir_chain(neurons, edges=edges, **nodes), dt=1.0)
    given = values(2, 8, 6)
    drive = torch.nn.functional.conv2d(given, torch.from_numpy(numbers(1, 3, 2, 3, 3)), torch.from_numpy(numbers(2, 3)), padding=1)
    drive = 0.5 * 4.0 * torch.nn.functional.avg_pool2d(drive, 2)
    wanted = (drive / 1.5).clamp(0, 1)
    torch.testing.assert_close(net.double().equilibrium(given).rates[0], wanted, rtol=0, atol=1e-6)  # weights are float32


def test_a_file_that_notes_time_step_and_reset_needs_neither_argument(tmp_path):
    noted = {"metadata": {"reset": "subtract"}}
    net = read(tmp_path, nir_chain(lif(6, **noted), metadata={"dt": 1.0}), reset=None)
    assert net.neuron.leak == pytest.approx(0.8)
    assert (net.architecture.input_shape, net.architecture.classes) == ((4,), 3)


def test_a_readout_that_integrates_is_read_if_it_weights_the_steps_as_the_rates_do(tmp_path):
    integrator = nir.LI(tau=np.full(3, 5.0), r=np.ones(3), v_leak=np.zeros(3))
    edges = [("input", "in"), ("in", "lif"), ("lif", "out"), ("out", "sum"), ("sum", "output")]
    assert read(tmp_path, nir_chain(lif(6), edges=edges, sum=integrator), dt=1.0).architecture.classes == 3
    with pytest.raises(fl.BadArgument, match=r"node 'sum' \(LI\): it keeps 0.8 of its potential per step, but .* leak, 0.9"):
        read(tmp_path, nir_chain(lif(6, tau=10.0), edges=edges, sum=integrator), dt=1.0)


def test_nodes_whose_names_become_the_same_are_different_layers(tmp_path):
    edges = [("input", "in"), ("in", "a b"), ("a b", "mid"), ("mid", "a_b"), ("a_b", "out"), ("out", "output")]
    more = {"a b": integrate_and_fire(6), "mid": nir.Linear(weight=numbers(4, 6, 6)), "a_b": integrate_and_fire(6)}
    net = read(tmp_path, nir_chain(edges=edges, **more), dt=1.0)
    assert [layer.name for layer in net.graph.layers] == ["a_b", "l2"]


def test_two_nodes_with_one_name_are_refused(tmp_path):
    inner = nir.NIRGraph(
        nodes={
            "input": nir.Input(input_type={"input": np.array([6])}),
            "lif": integrate_and_fire(6),
            "output": nir.Output(output_type={"output": np.array([6])}),
        },
        edges=[("input", "lif"), ("lif", "output")],
        type_check=False,
    )
    edges = [("input", "in"), ("in", "ring"), ("ring", "ring.lif"), ("ring.lif", "out"), ("out", "output")]
    with pytest.raises(fl.BadFile, match=r"two nodes are named 'ring\.lif'"):
        read(tmp_path, nir_chain(edges=edges, **{"ring": inner, "ring.lif": integrate_and_fire(6)}), dt=1.0)


ONES = np.ones(6)
PAIR = np.array([1, 1])


@pytest.mark.parametrize(
    ("graph", "options", "sentence"),
    [
        (nir_chain, {"reset": None, "dt": 1.0}, r'with dt = 1, it resets to zero, .* pass reset="subtract"'),
        (nir_chain, {}, "the file does not say how long a time step is"),
        (nir_chain, {"dt": 9.0}, r"it would keep -0.8 of its potential per step"),
        (nir_chain, {"written_by": "spikingjelly"}, "SpikingJelly only writes networks that reset to a fixed potential"),
        (nir_chain, {"written_by": "sinabs"}, "do not say whether norm_input scales their input"),
        (nir_chain, {"written_by": "brian"}, "written_by must be one of"),
        (nir_chain, {"dt": 1.0, "input_shape": (5,)}, r"takes 4 values, but its input has shape \(5,\)"),
        (lambda: nir_chain(lif(7)), {"dt": 1.0}, r"node 'lif' \(LIF\): it has 7 neurons, but its input has shape \(6,\)"),
        (lambda: nir_chain(lif(6, threshold=np.arange(1, 7))), {"dt": 1.0}, r"v_threshold differs between its neurons \(1 … 6\)"),
        (
            lambda: nir_chain(nir.LIF(tau=ONES, r=ONES, v_leak=ONES, v_threshold=ONES)),
            {"dt": 0.5},
            "v_leak must be 0",
        ),
        (
            lambda: nir_chain(nir.CubaLIF(tau_syn=ONES, tau_mem=ONES, r=ONES, v_leak=0 * ONES, v_threshold=ONES)),
            {"dt": 0.5},
            r"node 'lif' \(CubaLIF\): it filters its input through a synaptic current",
        ),
        (
            lambda: nir_chain(lif(6, v_reset=0.1 * ONES)),
            {"dt": 0.5},
            r"node 'lif' \(LIF\): a spike subtracts the threshold and v_reset is not 0; only one of the two can be meant",
        ),
        (lambda: nir_chain(nir.Threshold(threshold=ONES)), {"dt": 1.0}, r"node 'lif' \(Threshold\): it has no potential"),
        (lambda: nir_chain(edges=[("input", "in"), ("in", "out"), ("out", "output")]), {"dt": 1.0}, "no IF or LIF node"),
        (
            lambda: nir_chain(edges=[("input", "in"), ("in", "in"), ("in", "lif"), ("lif", "out"), ("out", "output")]),
            {"dt": 1.0},
            "a loop must contain a layer of neurons",
        ),
        (lambda: nir_chain(edges=[("input", "in"), ("in", "lif")]), {"dt": 1.0}, "the layers cannot be ordered"),
        (
            lambda: nir_chain(edges=[("input", "lif"), ("lif", "out"), ("out", "output")]),
            {"dt": 1.0},
            "it has no nn.Linear or nn.Conv2d before it",
        ),
    ],
)
def test_what_does_not_fit_is_one_sentence(graph, options, sentence, tmp_path):
    with pytest.raises(fl.BadArgument, match=sentence):
        read(tmp_path, graph(), **options)
