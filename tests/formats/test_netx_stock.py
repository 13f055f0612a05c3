"""Stock NetX loads our files, and stock Lava's own Conv, Dense and LIF produce the same spikes from them as our emulator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.quantisation.quantise import quantise
from fsnn_lava.running.run import run
from tests.backends.lava.needs import needs_lava
from tests.helpers.chip_networks import conv_network, dense_network

needs_lava()
hdf5 = pytest.importorskip("lava.lib.dl.netx.hdf5", reason="lava-dl is not installed")

from lava.magma.core.model.py.type import LavaPyType  # noqa: E402
from lava.proc.conv.models import PyConvModelFixed  # noqa: E402
from lava.proc.dense.models import PyDenseModelBitAcc  # noqa: E402
from lava.proc.lif.models import PyLifModelBitAcc  # noqa: E402

PAPER = {
    "400 (F400)": (1, 28, 28),
    "64C5s (F64C5)": (2, 34, 34),
    "16C3s (F16C3)": (1, 8, 8),
    "9C3s-25C3-38C3s-38C3-25C3 (F9C3u)": (3, 32, 32),  # a tenth of AlexNet-F
    "12C3s-25C3-51C3s-102C3-51C3 (F12C3u)": (3, 32, 32),  # a tenth of CIFARNet-F
    "6C3-P2-8C3s (F6C3u)": (3, 16, 16),
}


class Port:
    """A mock of a Lava port: keeps what is sent, and returns what it is given."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.value = shape, np.zeros(shape, np.int32)

    def send(self, value: Any) -> None:
        self.value = np.asarray(value)

    def recv(self) -> np.ndarray:
        return self.value


def model_of(kind: type, process: Any) -> Any:
    """A stock ProcessModel with its process' Vars and stand-ins for its ports; run_spk() may be called at once."""
    model = kind(process.proc_params._parameters if hasattr(process.proc_params, "_parameters") else dict(process.proc_params))
    for var in process.vars:
        declared = getattr(kind, var.name, None)
        dtype = declared.d_type if isinstance(declared, LavaPyType) and declared.cls is np.ndarray else None
        value = np.asarray(var.init)
        value = np.broadcast_to(value, var.shape) if value.size == 1 else value  # thresholds per channel are passed through as they are
        setattr(model, var.name, value.astype(dtype).copy() if dtype else (value.reshape(-1)[0] if value.size == 1 else value.copy()))
    for port in [*process.in_ports, *process.out_ports]:
        setattr(model, port.name, Port(port.shape))
    return model


class StockLayer:
    """Synapse (and its recurrent one) and LIF of one block that NetX built."""

    def __init__(self, block: Any) -> None:
        conv = type(block.synapse).__name__ == "Conv"
        self.synapse = model_of(PyConvModelFixed if conv else PyDenseModelBitAcc, block.synapse)
        self.loop = model_of(PyDenseModelBitAcc, block.synapse_rec) if hasattr(block, "synapse_rec") else None
        self.neuron = model_of(PyLifModelBitAcc, block.neuron)
        self.arriving = np.zeros(self.neuron.a_in.shape, np.int64)

    def step(self) -> np.ndarray:
        """Spikes made of what has arrived."""
        self.neuron.a_in.value = self.arriving.astype(np.int32)
        self.neuron.run_spk()
        return np.asarray(self.neuron.s_out.value).astype(np.int64)

    def send(self, messages: np.ndarray, spikes: np.ndarray) -> None:
        """What arrives at the next step: `messages` through the synapse, own `spikes` through the loop."""
        self.arriving = _through(self.synapse, messages)
        if self.loop is not None:
            self.arriving = self.arriving + _through(self.loop, spikes)


def _through(model: Any, messages: np.ndarray) -> np.ndarray:
    model.s_in.value = messages
    model.run_spk()
    return np.asarray(model.a_buf if hasattr(model, "a_buf") else model.a_buff).astype(np.int64)


def load(path: Path, bits: int = 0) -> Any:
    network = hdf5.Network(net_config=str(path), input_message_bits=bits)
    network.net_config.f.close()
    return network


def stock_run(path: Path, frames: np.ndarray, steps: int, bits: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Spikes [T, *shape] of every layer in its own time, and the readout's potential, from stock processes alone."""
    network = load(path, bits)
    layers = [StockLayer(block) for block in network.layers]
    trains: list[list[np.ndarray]] = [[] for _ in layers]
    for t in range(steps + len(layers)):
        made = [np.zeros(layer.neuron.a_in.shape, np.int64) for layer in layers]
        for position, layer in enumerate(layers):
            if 0 <= t - 1 - position < steps:  # a layer is at rest before its window: else its bias would be added too often
                made[position] = layer.step()
                trains[position].append(made[position])
        for position, layer in enumerate(layers):
            if position == 0:
                source = frames[t] if t < steps else np.zeros_like(frames[0])
                source = source.transpose(2, 1, 0) if len(layer.synapse.s_in.shape) == 3 else source.reshape(-1)
            else:
                source = made[position - 1]
                source = source.transpose(2, 1, 0).reshape(-1) if source.ndim == 3 and len(layer.synapse.s_in.shape) == 1 else source
            layer.send(source, made[position])
    whole = [np.stack(train) for train in trains[:-1]]
    return [w.transpose(0, 3, 2, 1) if w.ndim == 4 else w for w in whole], layers[-1].neuron.v


def forward_only(chip: ChipNetwork) -> ChipNetwork:
    return replace(chip, synapses=tuple(s for s in chip.synapses if chip.is_forward(s)))


EXACT = {
    "dense_rec of events": dense_network(1, kind="events", reset="zero"),
    "dense_rec of a host drive": dense_network(2, kind="current", reset="zero"),
    "dense_rec that leaks": dense_network(3, kind="events", reset="zero", strict=True, decay=205),
    "conv of events": forward_only(conv_network(4, kind="events", reset="zero")),
    "conv of pixels": forward_only(conv_network(5, kind="pixels", reset="zero")),
    "conv of a host drive": forward_only(conv_network(6, kind="current", reset="zero")),
    "conv per channel": forward_only(conv_network(7, kind="events", reset="zero", per_channel=True)),
}


@pytest.mark.parametrize("name", EXACT)
def test_stock_lava_makes_the_same_spikes_as_our_emulator(name, tmp_path):
    """Kernels 3 x 5, paddings and strides that differ, no square anywhere: a flip, a transpose or an axis swap would show."""
    chip, path, steps = EXACT[name], tmp_path / "net.h5", 12
    chip.save(path)
    rng = np.random.default_rng(3)
    if chip.input.kind == "events":
        frames = rng.integers(0, 12, (1, steps, *chip.input.shape), dtype=np.uint8)
        values, messages, bits = frames, frames[0].astype(np.int32), 8
    else:
        values = rng.integers(0, 256, (1, *chip.input.shape), dtype=np.uint8)
        messages, bits = np.broadcast_to(values[0].astype(np.int32), (steps, *chip.input.shape)), 8
        if chip.input.kind == "current":
            drive = _drive(chip, values)
            messages, bits = np.broadcast_to(drive, (steps, *drive.shape)), 24
    ours = run(chip, values, steps=steps, spikes=True)
    theirs, readout = stock_run(path, messages, steps, bits)
    assert ours.clip_count.sum() == 0
    assert sum(int(c.sum()) for c in ours.counts) > 8, "a silent network proves nothing"
    for layer, mine, stock in zip(chip.layers, ours.spikes, theirs, strict=True):
        np.testing.assert_array_equal(stock.reshape(steps, *layer.shape), mine[0], err_msg=layer.name)
    np.testing.assert_array_equal(readout, ours.readout[0])


def _drive(chip: ChipNetwork, values: np.ndarray) -> np.ndarray:
    """What the host would send: weight units, without the layer's own bias."""
    from fsnn_lava.ir.input_current import input_current

    total = input_current(chip, values)[0].astype(np.int64) // 64
    return (total - chip.layers[0].bias).astype(np.int32)


@pytest.mark.parametrize("architecture", PAPER)
def test_stock_netx_loads_every_architecture(architecture, tmp_path):
    torch.manual_seed(0)
    shape = PAPER[architecture]
    net = FSNN(architecture, input_shape=shape, classes=10, steps=10, normalisation=Normalisation(255.0, (0.4,), (0.3,))).eval()
    path = tmp_path / "net.net"
    rng = np.random.default_rng(0)
    chip = quantise(net, calibration=rng.integers(0, 256, (4, *shape), dtype=np.uint8))
    chip.save(path)
    assert ChipNetwork.load(path).digest() == chip.digest()
    network = load(path)
    blocks = [type(block).__name__ for block in network.layers]
    expected = [
        "RecurrentDense" if architecture.startswith("400") else "Dense" if len(layer.shape) == 1 else "Conv" for layer in chip.layers
    ]
    assert blocks == [*expected, "Dense"]
    for layer, block in zip(chip.layers, network.layers, strict=False):
        assert block.neuron.s_out.shape == layer.shape[::-1]
