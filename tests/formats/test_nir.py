"""The network as a NIR graph: read back exactly, and stepped by an interpreter that knows nothing but the graph."""

from __future__ import annotations

from pathlib import Path

import h5py
import nir
import numpy as np
import pytest
import torch

from fsnn_lava.errors import BadFile
from fsnn_lava.formats import nir as nir_file
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.space_to_depth import packed, space_to_depth
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.neurons import LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.quantisation.quantise import quantise
from fsnn_lava.running.run import run
from tests.helpers.chip_networks import conv_network, dense_network, skip_network
from tests.helpers.naive_delta import as_delta

NETWORKS = {
    "dense": dense_network(1),
    "dense events": dense_network(2, kind="events"),
    "dense leaking": dense_network(3, decay=205),
    "dense hard strict": dense_network(4, kind="current", reset="zero", strict=True),
    "conv": conv_network(5),
    "conv per channel": conv_network(6, kind="events", per_channel=True, reset="zero"),
    "conv current": conv_network(7, kind="current"),
    "a skip and two loops": skip_network(9),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_a_file_written_is_the_file_read_back(name, tmp_path):
    chip = NETWORKS[name]
    nir_file.write_nir(chip, tmp_path / "net.nir")
    assert nir_file.read_nir(tmp_path / "net.nir").digest() == chip.digest()
    graph = nir.read(tmp_path / "net.nir")
    assert set(graph.nodes) == set(nir_file.nir_graph(chip).nodes)
    assert set(graph.edges) == set(nir_file.nir_graph(chip).edges)


def test_delta_encoding_is_metadata_of_neurons_with_the_same_equilibrium(tmp_path):
    chip = as_delta(conv_network(5), rate_bits=9, band=7)
    nir_file.write_nir(chip, tmp_path / "net.nir")
    assert nir_file.read_nir(tmp_path / "net.nir").digest() == chip.digest()
    graph = nir.read(tmp_path / "net.nir")
    node = graph.nodes["l2"]
    assert isinstance(node, nir.IF)
    assert (node.metadata["encoding"], int(node.metadata["rate_bits"]), int(node.metadata["dead_band"])) == ("delta", 9, 7)


def test_feedback_is_an_edge_back_and_reset_and_scale_are_reported(tmp_path):
    chip = conv_network(5)
    nir_file.write_nir(chip, tmp_path / "net.nir")
    graph = nir.read(tmp_path / "net.nir")
    assert ("l2", "l2_l1") in graph.edges
    assert ("l2_l1", "l1") in graph.edges
    meta = graph.nodes["l1"].metadata
    assert _text(meta["reset"]) == "subtract"
    np.testing.assert_array_equal(meta["scale"], [0.01])
    assert list(meta["space_to_depth"]) == [2, 2], "NIR has no transposed convolution: the grid is stored space to depth"


def _text(value: object) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


class Interpreter:
    """Steps a NIR graph as it is read, pipelined: what leaves a neuron arrives one step later, behind a Delay node later still."""

    def __init__(self, graph: nir.NIRGraph) -> None:
        self.graph = graph
        self.past: dict[str, list[np.ndarray]] = {name: [] for name, node in graph.nodes.items() if isinstance(node, nir.Delay)}
        self.state = {
            n: np.zeros(node.input_type["input"]) for n, node in graph.nodes.items() if isinstance(node, (nir.IF, nir.LIF, nir.I, nir.LI))
        }

    def into(self, name: str, sent: dict[str, np.ndarray]) -> np.ndarray:
        return sum((self.through(source, sent) for source, target in self.graph.edges if target == name), np.zeros(()))

    def through(self, name: str, sent: dict[str, np.ndarray]) -> np.ndarray:
        if name in sent:
            return sent[name]
        node, values = self.graph.nodes[name], self.into(name, sent)
        if isinstance(node, nir.Delay):
            past, steps = self.past[name], int(node.delay.flat[0])
            return past[-1 - steps] if len(past) > steps else np.zeros(node.delay.shape)
        if isinstance(node, nir.Flatten):
            return values.reshape(-1)
        if isinstance(node, (nir.Affine, nir.Linear)):
            return node.weight.astype(np.float64) @ values + (node.bias if isinstance(node, nir.Affine) else 0.0)
        out = torch.nn.functional.conv2d(
            torch.from_numpy(values)[None], torch.from_numpy(node.weight).double(), torch.from_numpy(node.bias).double(),
            stride=tuple(node.stride), padding=tuple(node.padding), dilation=tuple(node.dilation), groups=int(node.groups),
        )  # fmt: skip
        return out[0].numpy()

    def wait(self, sent: dict[str, np.ndarray]) -> None:
        """Delay nodes remember what is sent to them in this step."""
        for name, past in self.past.items():
            past.append(self.into(name, sent))

    def step(self, name: str, sent: dict[str, np.ndarray]) -> np.ndarray:
        node = self.graph.nodes[name]
        current = self.into(name, sent)
        meta = node.metadata
        if "bias" in meta:  # differs within a channel: the connection added the middle's
            middle = meta["bias"][:, meta["bias"].shape[1] // 2, meta["bias"].shape[2] // 2]
            current = current + meta["bias"] - middle[:, None, None]
        leak = 1.0 - 1.0 / node.tau.astype(np.float64) if isinstance(node, (nir.LIF, nir.LI)) else 1.0
        self.state[name] = leak * self.state[name] + current
        if isinstance(node, (nir.I, nir.LI)):
            return self.state[name]
        spikes = (self.state[name] > node.v_threshold).astype(np.float64)
        fall = node.v_threshold + 2.0**-7 if _text(meta["reset"]) == "subtract" else self.state[name]
        self.state[name] = self.state[name] - spikes * fall
        return spikes


@pytest.mark.parametrize("name", [name for name in NETWORKS if "leaking" not in name])
def test_the_graph_alone_makes_every_spike_of_the_emulator(name, tmp_path):
    chip, steps = NETWORKS[name], 12
    nir_file.write_nir(chip, tmp_path / "net.nir")
    inside = Interpreter(nir.read(tmp_path / "net.nir"))
    lowered, factors = space_to_depth(chip)
    rng = np.random.default_rng(1)
    shape = (1, steps, *chip.input.shape) if chip.input.kind == "events" else (1, *chip.input.shape)
    values = rng.integers(0, 12 if chip.input.kind == "events" else 256, shape, dtype=np.uint8)
    ours = run(chip, values, steps=steps, spikes=True)
    names = [layer.name for layer in chip.layers]
    sent = {layer.name: np.zeros(layer.shape) for layer in lowered.layers}
    for t in range(steps + len(names) - 1):
        arriving = {**sent, "input": _outside(chip, lowered, values, t, steps)}
        inside.wait(arriving)
        for position, layer in enumerate(names):
            if 0 <= t - position < steps:
                sent[layer] = inside.step(layer, arriving)
                made, whole = ours.spikes[position][0, t - position], chip.layers[position].shape
                expected = packed(made, whole, factors[layer]) if len(whole) == 3 else made
                np.testing.assert_array_equal(sent[layer], expected, err_msg=f"{layer} at its step {t - position + 1}")
            else:
                sent[layer] = np.zeros_like(sent[layer])
    assert sum(int(c.sum()) for c in ours.counts) >= 8


def _outside(chip: ChipNetwork, lowered: ChipNetwork, values: np.ndarray, t: int, steps: int) -> np.ndarray:
    if chip.input.kind == "events":
        return values[0, t].astype(np.float64) if t < steps else np.zeros(chip.input.shape)
    if chip.input.kind == "pixels":
        return values[0].astype(np.float64)
    return input_current(lowered, values)[0] / 64.0  # bias included


def test_a_leaking_network_has_the_time_constant_of_its_decay():
    graph = nir_file.nir_graph(dense_network(3, decay=205))
    node = graph.nodes["l1"]
    np.testing.assert_allclose(1.0 - 1.0 / node.tau, 1.0 - 205 / 4096, rtol=1e-6)
    np.testing.assert_allclose(node.r / node.tau, 1.0)


def test_the_threshold_lies_half_a_step_below_so_that_equality_fires():
    assert float(nir_file.nir_graph(dense_network(1)).nodes["l1"].v_threshold[0]) == 700 - 2.0**-7
    assert float(nir_file.nir_graph(dense_network(1, strict=True)).nodes["l1"].v_threshold[0]) == 700


@pytest.mark.parametrize("share", [0.0, 0.5, 0.95])
def test_a_truncated_file_is_refused(share, tmp_path):
    path = tmp_path / "net.nir"
    nir_file.write_nir(dense_network(1), path)
    path.write_bytes(path.read_bytes()[: int(path.stat().st_size * share)])
    with pytest.raises(BadFile, match=r"net\.nir"):
        nir_file.read_nir(path)


def test_a_graph_from_elsewhere_is_refused_with_the_reason(tmp_path: Path):
    path = tmp_path / "other.nir"
    nir.write(path, nir.NIRGraph.from_list(nir.Affine(weight=np.eye(3), bias=np.zeros(3))))
    with pytest.raises(BadFile, match="lacks exponents"):
        nir_file.read_nir(path)
    with h5py.File(path) as file:
        assert "node" in file


# --- other frameworks open it ----------------------------------------------------------------------------------------------------


def written_graph(architecture: str, tmp_path: Path, neuron: LIF | None = None) -> nir.NIRGraph:
    torch.manual_seed(0)
    normalisation = Normalisation(16.0, (0.3,), (0.4,))
    net = FSNN(architecture, input_shape=(1, 8, 8), classes=10, neuron=neuron, steps=30, normalisation=normalisation)
    nir_file.write_nir(quantise(net.eval()), tmp_path / "net.nir")
    return nir.read(tmp_path / "net.nir")


@pytest.mark.parametrize("architecture", ["20 (F20)", "20"])
def test_norse_opens_and_runs_it_with_its_feedback(architecture, tmp_path):
    norse = pytest.importorskip("norse.torch", reason="norse is not installed")
    pytest.importorskip("nirtorch", reason="nirtorch is not installed")
    module = norse.from_nir(written_graph(architecture, tmp_path), ignore_warnings=True)
    assert ("l1_l1" in dict(module.named_modules())) is (architecture == "20 (F20)")
    out, _ = module(torch.rand(1, 8, 8))  # it flattens from the first dimension on, so it takes no batch
    assert out.shape == (10,)


def test_sinabs_opens_and_runs_it_without_feedback(tmp_path):
    sinabs_nir = pytest.importorskip("sinabs.nir", reason="sinabs is not installed")
    out, _ = sinabs_nir.from_nir(written_graph("20", tmp_path), batch_size=2)(torch.rand(2, 1, 8, 8))
    assert out.shape == (2, 10)


def test_snntorch_opens_and_runs_it_without_the_integrating_readout(tmp_path):
    reader = pytest.importorskip("snntorch.import_nir", reason="snnTorch or nirtorch is not installed")
    graph = written_graph("20", tmp_path, LIF(0.9))  # what it makes of an IF node returns a tuple, which its own graph cannot pass on
    del graph.nodes["readout"]  # snnTorch has no node that integrates without firing
    graph.edges = [edge for edge in graph.edges if "readout" not in edge] + [("readout_weights", "output")]
    out = reader.import_from_nir(graph)(torch.rand(1, 8, 8))  # it flattens from the first dimension on, so it takes no batch
    assert (out[0] if isinstance(out, tuple) else out).shape == (10,)
