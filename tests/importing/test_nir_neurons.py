"""Files that the frameworks themselves write: the imported network sends the spikes of the module that was exported."""

from __future__ import annotations

import math
import warnings

import nir
import pytest
import torch
from torch import nn

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.chain import links
from fsnn_lava.importing.nir_file import NirNode
from fsnn_lava.importing.nir_neurons import WRITERS, Membrane, euler, neuron_facts
from fsnn_lava.importing.proof import prove
from tests.helpers.nir_files import numbers

STEPS = 15


def dense(inputs, outputs):
    torch.manual_seed(inputs)
    return nn.Linear(inputs, outputs)


def exciting(inputs, outputs):
    """With positive weights and biases, so that the next neurons fire."""
    made = dense(inputs, outputs)
    with torch.no_grad():
        made.weight.abs_()
        made.bias.abs_()
    return made


def imported(tmp_path, graph, writer, **options):
    nir.write(tmp_path / "net.nir", graph)
    return fl.from_nir(tmp_path / "net.nir", written_by=writer, steps=STEPS, **{"reset": "subtract", **options})


def proof(net, source, framework, scale):
    values = scale * torch.rand(6, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    found = prove(links(source, framework.kinds), framework, net, values, steps=STEPS)
    assert min(found.spikes) > 10  # the comparison has something to compare
    return found


@pytest.mark.parametrize("recurrent", [False, True])
def test_snntorch(recurrent, tmp_path):
    snn = pytest.importorskip("snntorch")
    pytest.importorskip("nirtorch")
    from snntorch.export_nir import export_to_nir

    from fsnn_lava.importing.sources.snntorch import SnnTorch

    def leaky(size, theta):  # the exporter needs an array for every parameter
        return snn.Leaky(torch.full((size,), 0.8), threshold=torch.full((size,), theta), init_hidden=True)

    torch.manual_seed(4)
    first = snn.RLeaky(0.8, linear_features=6, init_hidden=True) if recurrent else leaky(6, 0.7)
    source = nn.Sequential(dense(8, 6), first, exciting(6, 3), leaky(3, 0.4))
    net = imported(tmp_path, export_to_nir(source, torch.rand(1, 8), ignore_dims=[0]), "snntorch", input_shape=(8,))
    assert net.neuron.leak == pytest.approx(0.8, rel=1e-6)
    assert proof(net, source, SnnTorch(), 2.0).divergence is None
    assert "as snnTorch writes it: " in net.metrics["imported"] and "subtracts θ after the leak" in net.metrics["imported"]


def test_norse(tmp_path):
    norse = pytest.importorskip("norse.torch")
    pytest.importorskip("nirtorch")
    from norse.torch.functional.reset import reset_subtract

    from fsnn_lava.importing.sources.norse import Norse

    def cell(size, theta):  # the exporter needs an array for every parameter
        options = {"tau_mem_inv": torch.full((size,), 200.0), "v_th": torch.full((size,), theta), "v_leak": torch.zeros(size)}
        return norse.LIFBoxCell(norse.LIFBoxParameters(**options, reset_method=reset_subtract))

    source = norse.SequentialState(dense(8, 6), cell(6, 1.0), exciting(6, 3), cell(3, 0.1))
    net = imported(tmp_path, norse.to_nir(source, torch.rand(1, 8)), "norse", input_shape=(8,))
    assert net.neuron.leak == pytest.approx(0.8, rel=1e-6)
    assert proof(net, source, Norse(), 30.0).divergence is None


def test_sinabs(tmp_path):
    layers = pytest.importorskip("sinabs.layers")
    pytest.importorskip("nirtorch")
    from sinabs.activation import SingleSpike
    from sinabs.nir import to_nir

    from fsnn_lava.importing.sources.sinabs import Sinabs

    last = layers.IAF(spike_fn=SingleSpike, spike_threshold=torch.tensor(0.2))
    source = nn.Sequential(dense(8, 6), layers.IAF(spike_fn=SingleSpike), exciting(6, 3), last)
    net = imported(tmp_path, to_nir(source, torch.rand(1, 4, 8)), "sinabs", input_shape=(8,))
    assert net.neuron == fl.IF()
    assert proof(net, source, Sinabs(), 2.0).divergence is None


def test_spikingjelly_writes_only_resets_to_a_fixed_potential(tmp_path):
    neuron = pytest.importorskip("spikingjelly.activation_based.neuron")
    pytest.importorskip("nirtorch")
    from spikingjelly.activation_based.nir_exchange import export_to_nir

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        graph = export_to_nir(nn.Sequential(dense(8, 6), neuron.LIFNode(tau=2.0)), torch.rand(1, 8))
        with pytest.raises(NotImplementedError, match="soft reset"):
            export_to_nir(nn.Sequential(dense(8, 6), neuron.LIFNode(tau=2.0, v_reset=None)), torch.rand(1, 8))
    with pytest.raises(BadArgument, match="as SpikingJelly writes it, it resets to zero"):
        imported(tmp_path, graph, "spikingjelly", reset=None, input_shape=(8,))


# --- the same numbers without the packages ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("writer", "tau", "r", "wanted"),
    [
        ("snntorch", 5e-4, 5.0, Membrane(0.8, 1.0)),
        ("snntorch", math.inf, math.inf, Membrane(1.0, 1.0)),
        ("norse", 5e-6, 1.0, Membrane(0.8, 0.2)),
        ("norse", math.inf, 1.0, Membrane(1.0, 1.0)),
        ("sinabs", math.inf, 1.0, Membrane(1.0, 1.0)),
        ("spikingjelly", 2e-4, 1.0, Membrane(0.5, 0.5)),
        ("spikingjelly", math.inf, 1e4, Membrane(1.0, 1.0)),
    ],
)
def test_what_a_framework_writes_is_read_in_its_own_time_unit(writer, tau, r, wanted):
    found = WRITERS[writer].membrane(tau, r)
    assert (found.leak, found.gain) == (pytest.approx(wanted.leak), pytest.approx(wanted.gain))


def test_nirs_own_equations_are_stepped_by_forward_euler():
    assert euler(0.5)(4.0, 3.0) == Membrane(0.875, 0.375)
    assert euler(0.5)(math.inf, 3.0) == Membrane(1.0, 1.5)


@pytest.mark.parametrize(("writer", "removed"), [("snntorch", 1.5), ("norse", 1.2)])
def test_a_reset_acts_before_or_after_the_leak(writer, removed):
    tau = {"snntorch": 5e-4, "norse": 5e-6}[writer]
    r = {"snntorch": 5.0, "norse": 5.0}[writer]
    node = NirNode("a", "LIF", {"tau": numbers(1, 1) * 0 + tau, "r": numbers(1, 1) * 0 + r, "v_threshold": numbers(1, 1) * 0 + 1.5})
    facts = neuron_facts(node, WRITERS[writer], "subtract")
    assert (facts.threshold, facts.removed) == (pytest.approx(1.5), pytest.approx(removed))
