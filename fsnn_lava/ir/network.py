"""ChipNetwork: the network as the chip holds it, in integers. Everything after export reads only this.

Time is pipelined, as on the chip: every synapse takes one step. Layers are numbered 1 … N; layer l is at rest (u = 0, no spikes)
before step l, and its spikes are counted in its *window*, the T steps l … l + T - 1. In the layers' own time tau = 1 … T, a spike from
layer k therefore arrives at layer l `k - l + 1` steps late: 0 for feed-forward, 1 for a layer onto itself, N from the last to the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.ir.connections import ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse
from fsnn_lava.ir.validation import checked_decay, checked_exponent, checked_integers, checked_pair, checked_scale, checked_shape, require

__all__ = [
    "INPUT",
    "READOUT",
    "ChipNetwork",
    "ConvSynapse",
    "DenseSynapse",
    "HostDrive",
    "Input",
    "Layer",
    "Readout",
    "Synapse",
    "TransposedConvSynapse",
]

INPUT = "input"
READOUT = "readout"


@dataclass(frozen=True, kw_only=True, eq=False)
class Input:
    """The network's input, and how the float network normalised raw values: x = (value / divisor - mean) / std.

    kind "pixels":  [B, *shape] uint8, sent as a graded message at every step through the input synapse;
         "events":  [B, T, *shape] uint8, one message per step through the input synapse;
         "current": [B, *shape] uint8, the host computes F¹x + b¹ once per sample (`ChipNetwork.host_drive`); no input synapse.
    """

    kind: Literal["pixels", "events", "current"]
    shape: tuple[int, ...]
    divisor: float = 255.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        require(self.kind in ("pixels", "events", "current"), f"input: kind must be pixels, events or current, got {self.kind!r}")
        object.__setattr__(self, "shape", checked_shape(self.shape, "input"))
        object.__setattr__(self, "divisor", float(self.divisor))
        object.__setattr__(self, "mean", tuple(float(m) for m in self.mean))
        object.__setattr__(self, "std", tuple(float(s) for s in self.std))
        require(np.isfinite(self.divisor) and self.divisor > 0, f"input: divisor must be positive, got {self.divisor}")
        require(bool(np.all(np.isfinite(self.mean))), "input: mean must be finite")
        require(bool(np.all(np.isfinite(self.std)) and np.all(np.array(self.std) > 0)), "input: std must be positive and finite")


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """A layer of spiking neurons (E9). One weight unit equals `scale` in the units of the float network's potential."""

    name: str
    shape: tuple[int, ...]  # (N,) or (C, H, W)
    threshold: NDArray[np.int32]  # () or [C] (first axis of shape), weight units
    bias: NDArray[np.int32]  # [*shape], weight units
    scale: NDArray[np.float64]  # () or [C], physical value of one weight unit
    decay: int = 0  # 1/4096 per step; 0 is IF
    reset: Literal["subtract", "zero"] = "subtract"
    strict: bool = False  # spike at u > threshold (stock Lava's LIF) instead of u >= threshold

    def __post_init__(self) -> None:
        what = f"layer {self.name!r}"
        require(self.name not in ("", INPUT, READOUT), f"{what}: this name is reserved")
        shape = checked_shape(self.shape, what)
        object.__setattr__(self, "shape", shape)
        threshold = checked_integers(self.threshold, np.int32, 1, limits.THRESHOLD_MAX, f"{what}: threshold")
        require(threshold.shape in ((), shape[:1]), f"{what}: threshold must be one number or one per channel, got {threshold.shape}")
        object.__setattr__(self, "threshold", threshold)
        bias = checked_integers(self.bias, np.int32, -limits.BIAS_MAX, limits.BIAS_MAX, f"{what}: bias")
        require(bias.shape == shape, f"{what}: bias must have shape {shape}, got {bias.shape}")
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "scale", checked_scale(self.scale, shape, what))
        object.__setattr__(self, "decay", checked_decay(self.decay, what))
        object.__setattr__(self, "strict", bool(self.strict))
        require(self.reset in ("subtract", "zero"), f"{what}: reset must be 'subtract' or 'zero', got {self.reset!r}")

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    @property
    def leak(self) -> float:
        """lambda of E1."""
        return (limits.DECAY_UNIT - self.decay) / limits.DECAY_UNIT

    def per_neuron(self, value: NDArray[Any]) -> NDArray[Any]:
        """`threshold` or `scale` broadcast to [*shape]."""
        return np.broadcast_to(value.reshape(value.shape + (1,) * (len(self.shape) - value.ndim)), self.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Readout:
    """Non-spiking integrators behind the last layer: u <- trunc(u (4096 - decay) / 4096) + 2**6 (2**exponent weight @ s + bias)."""

    weight: NDArray[np.int8]  # [classes, N]
    bias: NDArray[np.int32]  # [classes], weight units, added once per step
    scale: NDArray[np.float64]  # (), physical value of one weight unit
    exponent: int = 0
    decay: int = 0

    def __post_init__(self) -> None:
        weight = checked_integers(self.weight, np.int8, -limits.WEIGHT_MAX, limits.WEIGHT_MAX, "readout: weight")
        require(weight.ndim == 2, f"readout: weight must be [classes, N], got {weight.shape}")
        object.__setattr__(self, "weight", weight)
        bias = checked_integers(self.bias, np.int32, -limits.BIAS_MAX, limits.BIAS_MAX, "readout: bias")
        require(bias.shape == weight.shape[:1], f"readout: bias must have shape {weight.shape[:1]}, got {bias.shape}")
        object.__setattr__(self, "bias", bias)
        scale = checked_scale(self.scale, (), "readout")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "exponent", checked_exponent(self.exponent, "readout"))
        object.__setattr__(self, "decay", checked_decay(self.decay, "readout"))

    @property
    def classes(self) -> int:
        return int(self.weight.shape[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class HostDrive:
    """Input kind "current": F¹x + b¹ of raw values, which the host computes per sample in float64, in the float network's units.

    Dense: weight [N, N_in]; convolution: weight [C_out, C_in, kH, kW] with `stride` and `padding`; bias is per neuron.
    """

    weight: NDArray[np.float64]
    bias: NDArray[np.float64]  # [*shape of layer 1]
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        for name in ("weight", "bias"):
            array = np.array(getattr(self, name), dtype=np.float64)
            require(bool(np.all(np.isfinite(array))), f"host drive: {name} must be finite")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        for name in ("stride", "padding"):
            object.__setattr__(self, name, checked_pair(getattr(self, name), f"host drive: {name}"))
        require(self.weight.ndim in (2, 4), f"host drive: weight must be [N, N_in] or [C_out, C_in, kH, kW], got {self.weight.shape}")


@dataclass(frozen=True, kw_only=True, eq=False)
class ChipNetwork:
    """A feedback network in integers, checked once when it is created."""

    input: Input
    layers: tuple[Layer, ...]
    synapses: tuple[Synapse, ...]
    readout: Readout
    steps: int
    host_drive: HostDrive | None = None
    class_names: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)  # where it came from: architecture, accuracy, version …

    def __post_init__(self) -> None:
        for name in ("layers", "synapses", "class_names"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        require(len(self.layers) > 0, "a network needs at least one layer")
        object.__setattr__(self, "steps", int(self.steps))
        require(1 <= self.steps <= limits.STEPS_MAX, f"steps must lie in 1 … {limits.STEPS_MAX}, got {self.steps}")
        names = [layer.name for layer in self.layers]
        require(len(set(names)) == len(names), f"layer names must be unique, got {names}")
        require(len({layer.decay for layer in self.layers} | {self.readout.decay}) == 1, "all layers and the readout must share one decay")
        for synapse in self.synapses:
            self._check_synapse(synapse, names)
        self._check_chain()
        last = self.layers[-1]
        require(
            self.readout.weight.shape[1] == last.size,
            f"readout: weight has {self.readout.weight.shape[1]} inputs, but the last layer has {last.size} neurons",
        )
        require(
            len(self.class_names) in (0, self.readout.classes),
            f"class_names must be empty or name all {self.readout.classes} classes, got {len(self.class_names)}",
        )

    def _check_synapse(self, synapse: Synapse, names: list[str]) -> None:
        require(synapse.source == INPUT or synapse.source in names, f"{synapse}: there is no layer {synapse.source!r}")
        require(synapse.target in names, f"{synapse}: there is no layer {synapse.target!r}")
        source = self.input.shape if synapse.source == INPUT else self.layer(synapse.source).shape
        target = self.layer(synapse.target).shape
        made = synapse.output_shape(source)
        require(made == target, f"{synapse}: its output has shape {made}, but the layer has shape {target}")
        skips = self.delay(synapse) < 0 if synapse.source != INPUT else synapse.target != names[0]
        require(not skips, f"{synapse}: a connection may not skip a layer")

    def _check_chain(self) -> None:
        for position, layer in enumerate(self.layers):
            before = [s for s in self.synapses if s.target == layer.name and self.is_forward(s)]
            wanted = 0 if position == 0 and self.input.kind == "current" else 1
            require(
                len(before) == wanted, f"layer {layer.name!r} must have {wanted} connection from the layer before it, got {len(before)}"
            )
        require(
            (self.host_drive is not None) == (self.input.kind == "current"),
            "host_drive belongs to input kind 'current' and to no other",
        )
        if self.host_drive is not None:
            require(
                self.host_drive.bias.shape == self.layers[0].shape,
                f"host drive: bias must have shape {self.layers[0].shape}, got {self.host_drive.bias.shape}",
            )

    def layer(self, name: str) -> Layer:
        return self.layers[self.index(name)]

    def index(self, name: str) -> int:
        """Position of a layer, from 0; the input is -1."""
        if name == INPUT:
            return -1
        return next(i for i, layer in enumerate(self.layers) if layer.name == name)

    def delay(self, synapse: Synapse) -> int:
        """Steps between a spike in its source's own time and its arrival in the target's own time."""
        return self.index(synapse.source) - self.index(synapse.target) + 1

    def is_forward(self, synapse: Synapse) -> bool:
        return self.index(synapse.source) < self.index(synapse.target)

    def into(self, layer: Layer) -> Iterator[Synapse]:
        return (s for s in self.synapses if s.target == layer.name)

    @property
    def feedback(self) -> tuple[Synapse, ...]:
        return tuple(s for s in self.synapses if not self.is_forward(s))

    @property
    def decay(self) -> int:
        return self.layers[0].decay

    @property
    def leak(self) -> float:
        return self.layers[0].leak

    def weight_sum(self, steps: int) -> float:
        """Sum of lambda**(T - tau) over tau = 1 … T: the denominator of a rate (E3)."""
        return float(np.sum(self.leak ** np.arange(steps, dtype=np.float64)))

    def digest(self) -> str:
        """SHA-256 of everything that a run depends on (not the notes)."""
        state = hashlib.sha256()
        _hash_into(state, {f.name: getattr(self, f.name) for f in fields(self) if f.name != "notes"})
        return state.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the network to an HDF5 file that also loads in lava-dl's NetX; an existing file is replaced atomically.

        Raises:
            BadFile: the file cannot be written; an existing one is left unchanged.
        """
        from fsnn_lava.formats import netx

        netx.write(self, path)

    @staticmethod
    def load(path: str | Path) -> ChipNetwork:
        """Read a network from a file made by `save`, or exported by lava-dl's slayer. The file need not be trusted.

        Raises:
            BadFile: the file is missing, damaged, not a network, or of a newer format.
        """
        from fsnn_lava.formats import netx

        return netx.read(path)


def _hash_into(state: hashlib._Hash, value: object) -> None:
    if isinstance(value, np.ndarray):
        state.update(f"{value.dtype.str}{value.shape}".encode())
        state.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        state.update(type(value).__name__.encode())
        _hash_into(state, {f.name: getattr(value, f.name) for f in fields(value)})
    elif isinstance(value, dict):
        for key, item in value.items():
            state.update(key.encode())
            _hash_into(state, item)
    elif isinstance(value, tuple):
        for item in value:
            _hash_into(state, item)
    else:
        state.update(repr(value).encode())
