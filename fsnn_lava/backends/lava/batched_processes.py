"""The common part of the Lava processes of both encodings: source, layers, connections and recorders, for B samples at once.

source -> synapse -> neuron 1 -> synapse -> neuron 2 -> … -> neuron N -> readout
                        ^                                       |
                        +-------------- synapse <---------------+

Any network graph is supported: a forward connection over d layers delays its messages by d - 1 steps (`ChipNetwork.chip_delay`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.channel_order import channels_last
from fsnn_lava.backends.lava.processes.conv.process import Conv
from fsnn_lava.backends.lava.processes.dense.process import Dense
from fsnn_lava.backends.lava.processes.recorder.process import Recorder
from fsnn_lava.backends.lava.processes.source.process import Source
from fsnn_lava.backends.lava.processes.transposed.process import TransposedConv
from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.backends.lava.shared_memory import shared_array
from fsnn_lava.backends.lava.synapse_process import SynapseProcess
from fsnn_lava.backends.lava.window import Window, layer_window
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, Layer, Synapse, TransposedConvSynapse

_PROCESS: dict[type[Synapse], type[SynapseProcess]] = {
    DenseSynapse: Dense,
    ConvSynapse: Conv,
    TransposedConvSynapse: TransposedConv,
}
Record = TypeVar("Record")


class BatchedProcesses(ABC, Generic[Record]):
    """Batched processes for B samples of T steps, and the shared memory for their values and results."""

    def __init__(self, chip: ChipNetwork, *, batch: int, steps: int, trains: type[np.generic] | None, recorder: str) -> None:
        """`trains` is the dtype of recorded messages, or None to record nothing; `recorder` is the tag of the process that records them."""
        self.chip, self.batch, self.steps = chip, batch, steps
        self.period = len(chip.layers) + steps
        self._beat = shared_array((1,), np.int64)
        self.records: list[Record] = [self._record(layer, self._late_delays(layer)) for layer in chip.layers]
        self.readout = shared_array((batch, chip.readout.classes), np.int32)
        self.readout_clips = shared_array((batch,), np.int64)
        self.spikes = None if trains is None else [shared_array((steps, batch, layer.size), trains) for layer in chip.layers]
        self._neurons = {layer.name: self._neuron(i, layer) for i, layer in enumerate(chip.layers)}
        self.values, source = self._source()
        self.processes: list[Any] = [source, *self._neurons.values()]
        for synapse in chip.synapses:
            self._connect(synapse, source)
        if chip.input.kind == "current":
            source.s_out.connect(self._input_port(chip.layers[0]))
        self._add(self._readout(), chip.layers[-1])
        for position, (layer, train) in enumerate(zip(chip.layers, self.spikes or (), strict=False), start=1):
            window, name = self._window(position), f"recorder {layer.name}"
            self._add(Recorder(spikes=train, beat=self._beat, window=window, tag=recorder, name=name), layer)

    def load(self, values: NDArray[np.uint8]) -> None:
        """Copy up to B samples into the memory that the source process reads; the rest of the batch is zero."""
        if self.chip.input.kind == "current":
            filled = np.zeros((self.batch, *self.chip.input.shape), dtype=np.uint8)
            filled[: len(values)] = values
            self.values[:] = channels_last(input_current(self.chip, filled), self.chip.layers[0].shape)
            return
        self.values[: len(values)] = channels_last(values, self.chip.input.shape)
        self.values[len(values) :] = 0

    def heartbeat(self) -> int:
        """Return a counter that advances as long as the batched processes make progress."""
        return int(self._beat[0])

    def late(self, number: int) -> tuple[Record, int]:
        """Return the record of the layer that feedback synapse `number` comes from, and its index among that layer's late messages."""
        synapse = self.chip.feedback[number]
        place = [s for s in self.chip.feedback if s.source == synapse.source].index(synapse)
        return self.records[self.chip.index(synapse.source)], place

    def _late_delays(self, layer: Layer) -> list[int]:
        return [self.chip.delay(s) for s in self.chip.feedback if s.source == layer.name]

    def _window(self, position: int) -> Window:
        return layer_window(position, layers=len(self.chip.layers), steps=self.steps)

    def _driven(self, index: int) -> bool:
        """Return whether the source sends the layer's whole drive, bias included."""
        return index == 0 and self.chip.input.kind == "current"

    def _source(self) -> tuple[NDArray[Any], Source]:
        kind, first = self.chip.input.kind, self.chip.layers[0]
        size = first.size if kind == "current" else int(np.prod(self.chip.input.shape))
        shape = (self.batch, self.steps, size) if kind == "events" else (self.batch, size)
        tag = self._current_tag(first) if kind == "current" else "messages"
        values = shared_array(shape, {"fixed_pt": np.int32, "wide": np.int64, "messages": np.uint8}[tag])
        return values, Source(values=values, beat=self._beat, window=self._window(0), tag=tag, name="source")

    def _connect(self, synapse: Synapse, source: Source) -> None:
        given, layer = synapse.source == INPUT, self.chip.layer(synapse.target)
        before = source if given else self._neurons[synapse.source]
        process = _PROCESS[type(synapse)](
            scatter=self._scatter(synapse, self.chip.input.shape if given else self.chip.layer(synapse.source).shape),
            batch=self.batch,
            window=self._window(0),
            delay=self.chip.chip_delay(synapse),
            constant=given and self.chip.input.kind == "pixels",
            tag=self._synapse_tag(synapse),
            name=f"synapse {synapse.source} -> {synapse.target}",
        )
        before.s_out.connect(process.s_in)
        process.a_out.connect(self._input_port(layer) if given else self._neurons[layer.name].a_in)
        self.processes.append(process)

    def _add(self, process: Any, layer: Layer) -> None:
        """Add a process that receives the messages of a layer."""
        self._neurons[layer.name].s_out.connect(process.s_in)
        self.processes.append(process)

    def _input_port(self, layer: Layer) -> Any:
        """Return the port at which a layer receives the network's input."""
        return self._neurons[layer.name].a_in

    def _readout_scatter(self, *, changes: bool) -> Scatter:
        """Return what the readout computes from the spikes, or the `changes`, of the last layer, in 64 bits."""
        last, readout = self.chip.layers[-1], self.chip.readout
        synapse = DenseSynapse(source=last.name, target="classes", weight=readout.weight)
        return Scatter(
            compiled_synapse(synapse, last.shape, (readout.classes,)),
            exponent=readout.exponent,
            sources=last.size,
            targets=readout.classes,
            graded=changes,
            out=np.int64,
            wide=True,
            changes=changes,
        )

    @abstractmethod
    def _record(self, layer: Layer, late: list[int]) -> Record:
        """Allocate memory for the record of a layer; `late` are the delays of the feedback that starts there."""

    @abstractmethod
    def _neuron(self, index: int, layer: Layer) -> Any:
        """Return the process that implements a layer."""

    @abstractmethod
    def _scatter(self, synapse: Synapse, source: tuple[int, ...]) -> Scatter:
        """Return what a connection computes; `source` is the shape of its source."""

    @abstractmethod
    def _current_tag(self, layer: Layer) -> str:
        """Return "fixed_pt" or "wide", the tag for currents that the source sends to a layer."""

    @abstractmethod
    def _synapse_tag(self, synapse: Synapse) -> str:
        """Return the tag that selects the model of a connection."""

    @abstractmethod
    def _readout(self) -> Any:
        """Return the process of the readout."""
