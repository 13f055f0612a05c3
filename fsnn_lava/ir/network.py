"""ChipNetwork, the integer network as the chip stores it. Everything after export uses only this.

Layers are ordered, 1 … N, with any connections between them (E13): k -> l is forward if k < l, even if it skips layers, and feedback if
k >= l. The input has position 0 and may enter any layer.

Time is pipelined, as on the chip: layer l is at rest (u = 0, no spikes) before step l, and its spikes are counted in its *window*, the T
steps l … l + T - 1. A forward connection takes l - k steps and feedback one (`chip_delay`). In the layers' own time tau = 1 … T, a spike
from layer k therefore arrives at layer l without delay if k < l, and k - l + 1 steps late otherwise (`delay`): 1 for a layer onto
itself, N from the last to the first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.connections import ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse
from fsnn_lava.ir.delta_encoding import DeltaEncoding, check_delta
from fsnn_lava.ir.graph_checks import check_graph
from fsnn_lava.ir.layers import INPUT, READOUT, HostDrive, Input, Layer, Readout
from fsnn_lava.ir.network_summary import network_line, network_summary
from fsnn_lava.ir.validation import require

__all__ = [
    "INPUT",
    "READOUT",
    "ChipNetwork",
    "ConvSynapse",
    "DeltaEncoding",
    "DenseSynapse",
    "HostDrive",
    "Input",
    "Layer",
    "Readout",
    "Synapse",
    "TransposedConvSynapse",
]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class ChipNetwork:
    """An integer feedback network, as the chip stores it. Every part is checked when it is created.

    Get one from `quantise` or `ChipNetwork.load`; build one by hand only to import a network from elsewhere. It cannot be changed or
    trained; instead, change the float network and quantise it again. `print(chip)` lists layers and connections.

    Attributes:
        input: what the network takes: kind, shape, normalisation.
        layers: the spiking layers in order, 1 … N.
        synapses: every connection, forward and feedback; several may end on one layer.
        readout: the non-spiking integrators after the last layer.
        steps: T, the default number of steps of a run.
        host_drive: what the host computes per sample; None unless `input.kind` is "current".
        class_names: one per class, or empty.
        notes: where the network came from: architecture, bits, version. Not part of `digest`.
        delta: for delta encoding, the dead bands and the unit of messages (E15); None for rate coding.

    Raises:
        BadNetwork: the parts do not fit together, or exceed the chip's arithmetic.

    Examples:
        >>> chip = fl.quantise(net)
        >>> chip.layers[0].shape
        (4, 2, 2)
        >>> [(synapse.source, synapse.target) for synapse in chip.feedback]
        [('l1', 'l1')]
    """

    input: Input
    layers: tuple[Layer, ...]
    synapses: tuple[Synapse, ...]
    readout: Readout
    steps: int
    host_drive: HostDrive | None = None
    class_names: tuple[str, ...] = ()
    notes: dict[str, str] = field(default_factory=dict)
    delta: DeltaEncoding | None = None

    def __post_init__(self) -> None:
        for name in ("layers", "synapses", "class_names"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        require(len(self.layers) > 0, "a network needs at least one layer")
        object.__setattr__(self, "steps", int(self.steps))
        require(1 <= self.steps <= limits.STEPS_MAX, f"steps must be between 1 and {limits.STEPS_MAX}, got {self.steps}")
        names = [layer.name for layer in self.layers]
        require(len(set(names)) == len(names), f"layer names must be unique, got {names}")
        require(len({layer.decay for layer in self.layers} | {self.readout.decay}) == 1, "all layers and the readout must share one decay")
        for synapse in self.synapses:
            self._check_synapse(synapse, names)
        self._check_host_drive()
        check_graph(self)
        last = self.layers[-1]
        require(
            self.readout.weight.shape[1] == last.size,
            f"readout: weight has {self.readout.weight.shape[1]} inputs, but the last layer has {last.size} neurons",
        )
        require(
            len(self.class_names) in (0, self.readout.classes),
            f"class_names must be empty or name all {self.readout.classes} classes, got {len(self.class_names)}",
        )
        if self.delta is not None:
            check_delta(self, self.delta)

    def _check_synapse(self, synapse: Synapse, names: list[str]) -> None:
        require(synapse.source == INPUT or synapse.source in names, f"{synapse}: there is no layer {synapse.source!r}")
        require(synapse.target in names, f"{synapse}: there is no layer {synapse.target!r}")
        source = self.input.shape if synapse.source == INPUT else self.layer(synapse.source).shape
        target = self.layer(synapse.target).shape
        made = synapse.output_shape(source)
        require(made == target, f"{synapse}: its output has shape {made}, but the layer has shape {target}")

    def _check_host_drive(self) -> None:
        require(
            (self.host_drive is not None) == (self.input.kind == "current"),
            "host_drive must be given for input kind 'current', and only for that",
        )
        if self.host_drive is not None:
            require(
                self.host_drive.bias.shape == self.layers[0].shape,
                f"host drive: bias must have shape {self.layers[0].shape}, got {self.host_drive.bias.shape}",
            )

    def __repr__(self) -> str:
        return f"ChipNetwork({network_line(self)})"

    def __str__(self) -> str:
        return network_summary(self).to_text()

    def _repr_html_(self) -> str:
        return network_summary(self).to_html()

    def layer(self, name: str) -> Layer:
        """Return the layer with that name.

        Args:
            name: for example "l1".

        Raises:
            BadArgument: there is no such layer.
        """
        if name == INPUT:
            raise BadArgument("the input is not a layer; see ChipNetwork.input")
        return self.layers[self.index(name)]

    def index(self, name: str) -> int:
        """Return the position of a layer, from 0; -1 for the input.

        Args:
            name: of a layer, or "input".

        Raises:
            BadArgument: there is no such layer.
        """
        if name == INPUT:
            return -1
        for position, layer in enumerate(self.layers):
            if layer.name == name:
                return position
        raise BadArgument(f"there is no layer {name!r}; the layers are {', '.join(layer.name for layer in self.layers)}")

    def delay(self, synapse: Synapse) -> int:
        """Return the steps from a spike, in its source's own time, to its arrival, in the target's own time.

        Args:
            synapse: one of `synapses`.

        Returns:
            0 for forward connections, 1 for a layer onto itself, N from the last of N layers to the first.
        """
        return max(0, self.index(synapse.source) - self.index(synapse.target) + 1)

    def chip_delay(self, synapse: Synapse) -> int:
        """Return how many steps a spike travels on the chip.

        Args:
            synapse: one of `synapses`.

        Returns:
            1 for feedback and from a layer to the next, l - k from layer k to a later layer l; the input is layer 0.
        """
        return max(1, self.index(synapse.target) - self.index(synapse.source))

    @property
    def longest_chip_delay(self) -> int:
        """How many steps a spike travels on the longest connection; 1 for a chain of layers."""
        return max([1, *(self.chip_delay(synapse) for synapse in self.synapses)])

    def is_forward(self, synapse: Synapse) -> bool:
        """Return whether a connection goes to a later layer; otherwise it is feedback.

        Args:
            synapse: one of `synapses`.
        """
        return self.index(synapse.source) < self.index(synapse.target)

    def into(self, layer: Layer) -> Iterator[Synapse]:
        """Iterate over the connections that end on a layer, forward and feedback.

        Args:
            layer: one of `layers`.
        """
        return (s for s in self.synapses if s.target == layer.name)

    @property
    def feedback(self) -> tuple[Synapse, ...]:
        """The connections to the same or an earlier layer."""
        return tuple(s for s in self.synapses if not self.is_forward(s))

    @property
    def encoding(self) -> Literal["rate", "delta"]:
        """How rates are sent: "rate" as spikes, "delta" as graded changes (E14)."""
        return "rate" if self.delta is None else "delta"

    @property
    def decay(self) -> int:
        """What every potential loses per step, in units of 1/4096; 0 for IF."""
        return self.layers[0].decay

    @property
    def leak(self) -> float:
        """Share of a potential that remains after a step (lambda of E1); 1 for IF."""
        return self.layers[0].leak

    def weight_sum(self, steps: int) -> float:
        """Return what a trace is divided by to get a rate: the sum of lambda**(T - tau) over tau = 1 … T (E3); 2**q for delta encoding.

        Args:
            steps: T.
        """
        if self.delta is not None:
            return float(self.delta.one)
        return float(np.sum(self.leak ** np.arange(steps, dtype=np.float64)))

    @property
    def readout_scale(self) -> float:
        """The `Result.readout_scale` of a run: the readout's potentials have 6 fraction bits, but its sums of rates (E15) have none."""
        return float(self.readout.scale) * (1 if self.delta is None else 2**limits.STATE_FRACTION_BITS)

    def digest(self) -> str:
        """Return the SHA-256 of everything that determines a run (not the notes), in hexadecimal."""
        state = hashlib.sha256()
        skipped = {"notes"} | ({"delta"} if self.delta is None else set())  # so that the digest stays what it was before delta encoding
        _hash_into(state, {f.name: getattr(self, f.name) for f in fields(self) if f.name not in skipped})
        return state.hexdigest()

    def save(self, path: str | Path) -> None:
        """Write the network to an HDF5 file, from which `load` reads exactly the same integers.

        Args:
            path: usually net.h5. An existing file is replaced only when the new one is complete.

        Raises:
            BadFile: the file cannot be written.

        Examples:
            >>> chip.save("net.h5")
            >>> fl.ChipNetwork.load("net.h5").digest() == chip.digest()
            True
        """
        from fsnn_lava.formats import netx

        netx.write_netx(self, path)

    @staticmethod
    def load(path: str | Path) -> ChipNetwork:
        """Read a network from a file written by `save` or fsnn-export, or from a NetX file of lava-dl.

        Args:
            path: usually net.h5.

        Raises:
            BadFile: the file is missing, damaged, written by a newer version, or not a network.
        """
        from fsnn_lava.formats import netx

        return netx.read_netx(path)


def _hash_into(state: hashlib._Hash, value: object) -> None:
    if isinstance(value, np.ndarray):
        state.update(f"{value.dtype.str}{value.shape}".encode())
        state.update(np.ascontiguousarray(value).tobytes())
    elif is_dataclass(value):
        state.update(type(value).__name__.encode())
        parts = {f.name: getattr(value, f.name) for f in fields(value)}
        if parts.get("dilation") == (1, 1):
            del parts["dilation"]  # networks without dilation hash as they did before dilation existed
        if parts.get("frame_decay") == 0:
            del parts["frame_decay"]  # likewise for networks with equal frame weights
        if parts.get("activation") == "clip":
            del parts["activation"]
        _hash_into(state, parts)
    elif isinstance(value, dict):
        for key, item in value.items():
            state.update(key.encode())
            _hash_into(state, item)
    elif isinstance(value, tuple):
        for item in value:
            _hash_into(state, item)
    else:
        state.update(repr(value).encode())
