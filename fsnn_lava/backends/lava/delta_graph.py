"""A network with delta encoding as our own Lava processes, for all B samples of a batch at once (see batched_graph.py).

The input's synapse is connected to a separate port: its current is read once, in the first step of layer 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.backends.lava.channel_order import channels_last, channels_last_order
from fsnn_lava.backends.lava.delta_record import DeltaRecord, delta_record
from fsnn_lava.backends.lava.processes.conv.process import Conv
from fsnn_lava.backends.lava.processes.delta_readout.process import DeltaClassifier
from fsnn_lava.backends.lava.processes.dense.process import Dense
from fsnn_lava.backends.lava.processes.recorder.process import Recorder
from fsnn_lava.backends.lava.processes.sigma_delta.process import SigmaDeltaNeuron
from fsnn_lava.backends.lava.processes.source.process import Source
from fsnn_lava.backends.lava.processes.transposed.process import TransposedConv
from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.backends.lava.shared_memory import shared_array
from fsnn_lava.backends.lava.window import Window, layer_window
from fsnn_lava.compiled.lava_step import compile_lava_delta_step
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.ir.synapse_patches import synapse_patches

_PROCESS = {DenseSynapse: Dense, ConvSynapse: Conv, TransposedConvSynapse: TransposedConv}


class DeltaGraph:
    """Processes for B samples of T steps, and the shared memory for values and results."""

    def __init__(self, chip: ChipNetwork, *, batch: int, steps: int, spikes: bool) -> None:
        if chip.delta is None:
            raise BadArgument("this network uses rate coding; use BatchedGraph")
        self.chip, self.delta, self.batch, self.steps = chip, chip.delta, batch, steps
        self.period = len(chip.layers) + steps
        self._beat = shared_array((1,), np.int64)
        self.records = [self._record(layer) for layer in chip.layers]
        self.readout = shared_array((batch, chip.readout.classes), np.int32)
        self.readout_clips = shared_array((batch,), np.int64)
        self.spikes = [shared_array((steps, batch, layer.size), np.int16) for layer in chip.layers] if spikes else None
        compile_lava_delta_step()
        self._neurons = {layer.name: self._neuron(i, layer) for i, layer in enumerate(chip.layers)}
        self.values, source = self._source()
        self.processes: list[Any] = [source, *self._neurons.values()]
        for synapse in chip.synapses:
            self._connect(synapse, source)
        if chip.input.kind == "current":
            source.s_out.connect(self._neurons[chip.layers[0].name].d_in)
        self._observe()

    def load(self, values: NDArray[np.uint8]) -> None:
        """Copy up to B samples into the memory that the graph's source reads; the rest of the batch is zero."""
        filled = np.zeros((self.batch, *self.chip.input.shape), dtype=np.uint8)
        filled[: len(values)] = values
        if self.chip.input.kind == "current":
            self.values[:] = channels_last(input_current(self.chip, filled), self.chip.layers[0].shape)
        else:
            self.values[:] = channels_last(filled, self.chip.input.shape)

    def heartbeat(self) -> int:
        """A counter that advances as long as the graph makes progress."""
        return int(self._beat[0])

    def _record(self, layer: Layer) -> DeltaRecord:
        delays = [self.chip.delay(s) for s in self.chip.feedback if s.source == layer.name]
        return delta_record(self.batch, layer.size, steps=self.steps, delays=delays)

    def _window(self, position: int) -> Window:
        return layer_window(position, layers=len(self.chip.layers), steps=self.steps)

    def _neuron(self, index: int, layer: Layer) -> SigmaDeltaNeuron:
        return SigmaDeltaNeuron(
            layer=layer,
            order=channels_last_order(layer.shape),
            rate_bits=self.delta.rate_bits,
            band=self.delta.dead_bands[index],
            window=self._window(index + 1),
            record=self.records[index],
            driven=index == 0 and self.chip.input.kind == "current",
            name=f"neuron {layer.name}",
        )

    def _source(self) -> tuple[NDArray[Any], Source]:
        current = self.chip.input.kind == "current"
        size = self.chip.layers[0].size if current else int(np.prod(self.chip.input.shape))
        values = shared_array((self.batch, size), np.int32 if current else np.uint8)
        tag = "fixed_pt" if current else "messages"
        return values, Source(values=values, beat=self._beat, window=self._window(0), tag=tag, name="source")

    def _connect(self, synapse: Synapse, source: Source) -> None:
        given = synapse.source == INPUT
        before = source if given else self._neurons[synapse.source]
        after = self._neurons[synapse.target]
        process = _PROCESS[type(synapse)](
            scatter=self._scatter(synapse, changes=not given),
            batch=self.batch,
            window=self._window(0),
            constant=given,
            tag="fixed_pt" if given else "changes",
            name=f"synapse {synapse.source} -> {synapse.target}",
        )
        before.s_out.connect(process.s_in)
        process.a_out.connect(after.d_in if given else after.a_in)
        self.processes.append(process)

    def _scatter(self, synapse: Synapse, *, changes: bool) -> Scatter:
        shape = self.chip.layer(synapse.source).shape if changes else self.chip.input.shape
        layer = self.chip.layer(synapse.target)
        return Scatter(
            synapse_patches(synapse, shape, layer.shape),
            exponent=synapse.exponent,
            sources=int(np.prod(shape)),
            targets=layer.size,
            graded=True,
            out=np.int64 if changes else np.int32,
            wide=True,
            changes=changes,
        )

    def _observe(self) -> None:
        """Add the readout, and a recorder per layer if messages are recorded."""
        last, readout = self.chip.layers[-1], self.chip.readout
        synapse = DenseSynapse(source=last.name, target="classes", weight=readout.weight)
        scatter = Scatter(
            synapse_patches(synapse, last.shape, (readout.classes,)),
            exponent=readout.exponent,
            sources=last.size,
            targets=readout.classes,
            graded=True,
            out=np.int64,
            wide=True,
            changes=True,
        )
        classifier = DeltaClassifier(
            scatter=scatter,
            bias=readout.bias.astype(np.int64) << self.delta.rate_bits,
            window=self._window(len(self.chip.layers)),
            sums=self.readout,
            clip_count=self.readout_clips,
        )
        self._neurons[last.name].s_out.connect(classifier.s_in)
        self.processes.append(classifier)
        for position, (layer, spikes) in enumerate(zip(self.chip.layers, self.spikes or (), strict=False), start=1):
            recorder = Recorder(spikes=spikes, beat=self._beat, window=self._window(position), tag="stock", name=f"recorder {layer.name}")
            self._neurons[layer.name].s_out.connect(recorder.s_in)
            self.processes.append(recorder)


def check_delta_input(chip: ChipNetwork) -> None:
    """BadArgument unless the input current of a delta graph fits in 32 bits, which `input_current` checks sample by sample."""
    for synapse in chip.synapses:
        axes = (0, 2, 3) if isinstance(synapse, TransposedConvSynapse) else tuple(range(1, synapse.weight.ndim))
        largest = int(np.abs(synapse.weight.astype(np.int64)).sum(axis=axes).max()) * limits.MESSAGE_MAX
        if synapse.source == INPUT and largest << max(0, limits.STATE_FRACTION_BITS + synapse.exponent) > limits.INT32_MAX:
            raise BadArgument(f"{synapse}: the input current may exceed 32 bits; run the network on 'emu', or lower the exponent")
