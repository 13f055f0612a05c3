"""A reader of net.h5 and results.h5 that knows only docs/formats.md: h5py, NumPy, torch's convolutions, nothing of fsnn_lava."""

from __future__ import annotations

import hashlib
import io
import json
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
import torch
from torch.nn import functional

TOP = 2**23 - 1


@dataclass
class Synapse:
    kind: str
    source: str
    target: str
    exponent: int
    weight: np.ndarray
    options: dict

    def apply(self, messages: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
        """weight applied to messages [B, *source], [B, *shape]; float64 products of integers this small are exact."""
        weight, sent = torch.from_numpy(self.weight.astype(np.float64)), torch.from_numpy(messages.astype(np.float64))
        if self.kind == "dense":
            found = sent.flatten(1) @ weight.T
        elif self.kind == "conv":
            found = functional.conv2d(sent, weight, **self.options)
        else:
            found = functional.conv_transpose2d(sent, weight, **self.options)
        return np.rint(found.numpy()).astype(np.int64).reshape(len(messages), *shape)


@dataclass
class Layer:
    name: str
    shape: tuple[int, ...]
    decay: int
    reset: str
    strict: bool
    threshold: np.ndarray  # of every neuron
    bias: np.ndarray
    scale: np.ndarray


class Network:
    """The group /fsnn of a network file."""

    def __init__(self, file: h5py.File) -> None:
        root = file["fsnn"]
        assert root.attrs["format"] == "fsnn-lava" and root.attrs["version"] in (1, 2, 3)
        self.steps = int(root.attrs["steps"])
        self.kind, self.input_shape = root["input"].attrs["kind"], tuple(map(int, root["input"].attrs["shape"]))
        self.layers = [_layer(root["layers"][str(i)]) for i in range(len(root["layers"]))]
        self.synapses = [_synapse(root["synapses"][str(i)]) for i in range(len(root["synapses"]))]
        self.readout = root["readout"]
        self.readout_weight, self.readout_bias = root["readout/weight"][()].astype(np.int64), root["readout/bias"][()].astype(np.int64)
        self.readout_scale = float(root["readout/scale"][()])
        self.readout_exponent, self.readout_decay = int(self.readout.attrs["exponent"]), int(self.readout.attrs["decay"])
        self.class_names = json.loads(root["class_names"][()].tobytes())
        self.delta = None
        if "delta" in root:
            about = root["delta"].attrs
            self.delta = int(about["rate_bits"]), [int(band) for band in about["dead_bands"]]
            self.frame_decay = int(about.get("frame_decay", 0))
            self.activation = str(about.get("activation", "clip"))
        self.drive = None
        if "host_drive" in root:
            drive = root["host_drive"]
            options = {"stride": tuple(drive.attrs["stride"]), "padding": tuple(drive.attrs["padding"])}
            self.drive = drive["weight"][()], drive["bias"][()], options

    def number(self, name: str) -> int:
        """Of a layer, from 1; the input is 0."""
        return 0 if name == "input" else 1 + [layer.name for layer in self.layers].index(name)

    def weight_sum(self, steps: int) -> float:
        return float(sum(((4096 - self.layers[0].decay) / 4096) ** j for j in range(steps)))


def _layer(group: h5py.Group) -> Layer:
    about = group.attrs
    shape = tuple(int(n) for n in about["shape"])
    per_neuron = [group[name][()].reshape(-1, *(1,) * (len(shape) - 1)) for name in ("threshold", "scale")]
    threshold, scale = (np.broadcast_to(value, shape) for value in per_neuron)
    firing = {"reset": about["reset"], "strict": bool(about["strict"])}
    sizes = {"threshold": threshold.astype(np.int64), "bias": group["bias"][()], "scale": scale}
    return Layer(name=about["name"], shape=shape, decay=int(about["decay"]), **firing, **sizes)


def _synapse(group: h5py.Group) -> Synapse:
    about, options = group.attrs, {}
    for name in {"dense": (), "conv": ("stride", "padding"), "transposed": ("stride", "padding", "output_padding")}[about["kind"]]:
        options[name] = tuple(int(n) for n in about[name])
    if about["kind"] == "conv":
        options["groups"] = int(about["groups"])
        options["dilation"] = tuple(int(n) for n in about.get("dilation", (1, 1)))
    return Synapse(about["kind"], about["source"], about["target"], int(about["exponent"]), group["weight"][()], options)


def _shifted(total: np.ndarray, exponent: int) -> np.ndarray:
    return total << exponent if exponent >= 0 else total >> -exponent  # >> of a negative integer is the floor


def _leaked(u: np.ndarray, decay: int) -> np.ndarray:
    return np.sign(u) * (np.abs(u) * (4096 - decay) // 4096)


def _host_units(network: Network, values: np.ndarray) -> np.ndarray:
    """Weight units that the host adds to layer 1 at every step."""
    weight, bias, options = network.drive
    sent = torch.from_numpy(values.astype(np.float64))
    if weight.ndim == 2:
        product = (sent.flatten(1) @ torch.from_numpy(weight).T).numpy()
    else:
        product = functional.conv2d(sent, torch.from_numpy(weight), **options).numpy()
    return np.rint((product.reshape(len(values), *bias.shape) + bias) / network.layers[0].scale).astype(np.int64)


@dataclass
class Outcome:
    spikes: list[np.ndarray]  # [B, T, *shape] per layer, or changes
    potentials: list[np.ndarray]
    readout: np.ndarray
    told: list[np.ndarray]


def run(network: Network, values: np.ndarray, steps: int) -> Outcome:
    """The run that the page describes: every layer in its own steps."""
    return _run_delta(network, values, steps) if network.delta else _run_spikes(network, values, steps)


def _arriving(network: Network, synapse: Synapse, sent: list[np.ndarray], values: np.ndarray, step: int) -> np.ndarray | None:
    """Messages that reach the target in its own step, from 0; None before the first."""
    source, target = network.number(synapse.source), network.number(synapse.target)
    if source == 0:
        return values[:, step] if network.kind == "events" else values
    at = step if source < target else step - (source - target + 1)
    return None if at < 0 else sent[source - 1][:, at]


def _run_spikes(network: Network, values: np.ndarray, steps: int) -> Outcome:
    number, samples = len(network.layers), len(values)
    spikes = [np.zeros((samples, steps, *layer.shape), np.int64) for layer in network.layers]
    potentials = [np.zeros((samples, *layer.shape), np.int64) for layer in network.layers]
    host = 64 * _host_units(network, values) if network.kind == "current" else 0
    for time in range(steps + number - 1):  # layer l is at its own step `time - l`
        for index, layer in enumerate(network.layers):
            step = time - index
            if not 0 <= step < steps:
                continue
            current = 64 * layer.bias.astype(np.int64) + (host if index == 0 else 0)
            for synapse in (s for s in network.synapses if s.target == layer.name):
                messages = _arriving(network, synapse, spikes, values, step)
                if messages is not None:
                    current = current + _shifted(synapse.apply(messages, layer.shape), 6 + synapse.exponent)
            charged = np.clip(_leaked(potentials[index], layer.decay) + current, -TOP, TOP)
            theta = 64 * layer.threshold
            fires = charged > theta if layer.strict else charged >= theta
            spikes[index][:, step] = fires
            potentials[index] = np.where(fires, charged - theta if layer.reset == "subtract" else 0, charged)
    readout = np.zeros((samples, len(network.readout_bias)), np.int64)
    for step in range(steps):
        arrived = spikes[-1][:, step].reshape(samples, -1) @ network.readout_weight.T
        charge = _shifted(arrived, 6 + network.readout_exponent) + 64 * network.readout_bias
        readout = np.clip(_leaked(readout, network.readout_decay) + charge, -TOP, TOP)
    return Outcome(spikes, potentials, readout, [])


def _run_delta(network: Network, values: np.ndarray, steps: int) -> Outcome:
    (rate_bits, bands), samples, number = network.delta, len(values), len(network.layers)
    one = 1 << rate_bits
    changes = [np.zeros((samples, steps, *layer.shape), np.int64) for layer in network.layers]
    told, sums = ([np.zeros((samples, *layer.shape), np.int64) for layer in network.layers] for _ in range(2))
    drives = [np.broadcast_to(one * layer.bias.astype(np.int64), (samples, *layer.shape)) for layer in network.layers]
    events = network.kind == "events"
    for synapse in (s for s in network.synapses if s.source == "input" and not events):
        index = network.number(synapse.target) - 1
        drives[index] = drives[index] + _shifted(synapse.apply(values, network.layers[index].shape), rate_bits + synapse.exponent)
    if network.kind == "current":
        drives[0] = drives[0] + one * _host_units(network, values)
    drives = [drive if events else np.clip(drive, -TOP, TOP) for drive in drives]
    for time in range(steps + number - 1):
        for index, layer in enumerate(network.layers):
            step = time - index
            if not 0 <= step < steps:
                continue
            for synapse in (s for s in network.synapses if s.target == layer.name and s.source != "input"):
                messages = _arriving(network, synapse, changes, values, step)
                if messages is not None:
                    sums[index] = sums[index] + (synapse.apply(messages, layer.shape) << synapse.exponent)
            sums[index] = np.clip(sums[index], -TOP, TOP)
            drive = np.clip(drives[index] + _frames(network, layer, values, step), -TOP, TOP) if events else drives[index]
            rate = np.clip(
                (sums[index] + drive) >> np.log2(layer.threshold).astype(np.int64), 0, one if network.activation == "clip" else 2**15 - 1
            )
            change = np.where(np.abs(rate - told[index]) >= bands[index], rate - told[index], 0)
            changes[index][:, step] = change
            told[index] = told[index] + change
    product = told[-1].reshape(samples, -1) @ network.readout_weight.T
    readout = (product << network.readout_exponent) + one * network.readout_bias
    return Outcome(changes, sums, readout, told)


def _frames(network: Network, layer: Layer, values: np.ndarray, step: int) -> np.ndarray | int:
    """What the frames 0 … step add to the drive of a layer."""
    synapses = [s for s in network.synapses if s.source == "input" and s.target == layer.name]
    if not synapses:
        return 0
    shares = np.cumsum(((4096 - network.frame_decay) / 4096) ** np.arange(values.shape[1] - 1, -1, -1, dtype=np.float64))
    weights = np.diff(np.rint(shares / shares[-1] * 4096), prepend=0).astype(np.int64)
    seen = np.tensordot(values[:, : step + 1].astype(np.int64), weights[: step + 1], axes=(1, 0))
    finest = min(synapse.exponent for synapse in synapses)
    total = sum(synapse.apply(seen, layer.shape) << (synapse.exponent - finest) for synapse in synapses)
    return _shifted(total, network.delta[0] + finest - 12)


class Results:
    """A results file."""

    def __init__(self, path: Path) -> None:
        self.file = h5py.File(path, "r")
        assert self.file.attrs["fsnn_results"] == 1
        self.samples, self.details, self.steps = (int(self.file.attrs[name]) for name in ("samples", "detail", "steps"))
        with h5py.File(io.BytesIO(self.file["network"][()].tobytes()), "r") as network:
            self.network = Network(network)

    def row(self, name: str) -> np.ndarray:
        return self.file[f"rows/{name}"][()]

    def detail(self, name: str) -> np.ndarray:
        return self.file[f"detail/{name}"][()]

    def logits(self, readout: np.ndarray) -> np.ndarray:
        network = self.network
        if network.delta:
            return readout * network.readout_scale / 2 ** network.delta[0]
        return readout / 64 * network.readout_scale / network.weight_sum(self.steps)

    def hashes_agree(self) -> bool:
        """The attribute sha256 against the arrays, and data_sha256 if every sample's values are kept."""
        kept = json.loads(self.file.attrs["sha256"])
        names = [f"rows/{name}" for name in self.file["rows"]] + ["detail/values"]
        agree = set(kept) == set(names) and all(hashlib.sha256(self.file[name][()].tobytes()).hexdigest() == kept[name] for name in names)
        if self.details < self.samples:
            return agree
        values, labels = (hashlib.sha256(self.file[name][()].tobytes()).digest() for name in ("detail/values", "rows/labels"))
        return agree and hashlib.sha256(values + labels).hexdigest() == self.file.attrs["data_sha256"]
