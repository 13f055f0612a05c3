"""The network as our own Lava processes: one per connection and one per layer, for all B samples of a batch at once.

source -> synapse -> neuron 1 -> synapse -> neuron 2 -> … -> neuron N -> classifier
                        ^                                       |
                        +-------------- synapse <---------------+
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.backends.lava.channel_order import channels_last, channels_last_order
from fsnn_lava.backends.lava.neuron_record import NeuronRecord, neuron_record
from fsnn_lava.backends.lava.processes.conv.process import Conv
from fsnn_lava.backends.lava.processes.dense.process import Dense
from fsnn_lava.backends.lava.processes.neuron.process import SoftResetNeuron
from fsnn_lava.backends.lava.processes.readout.process import Classifier
from fsnn_lava.backends.lava.processes.recorder.process import Recorder
from fsnn_lava.backends.lava.processes.source.process import Source
from fsnn_lava.backends.lava.processes.transposed.process import TransposedConv
from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.backends.lava.shared_memory import shared_array
from fsnn_lava.backends.lava.window import Window, layer_window
from fsnn_lava.compiled.lava_step import compile_lava_neuron_step
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.ir.synapse_patches import synapse_patches

_CURRENT = {"fixed_pt": np.int32, "wide": np.int64}  # what a model with this tag receives
_PROCESS = {DenseSynapse: Dense, ConvSynapse: Conv, TransposedConvSynapse: TransposedConv}


class BatchedGraph:
    """Processes for B samples of T steps, and the shared memory for values and results."""

    def __init__(self, chip: ChipNetwork, *, batch: int, steps: int, spikes: bool) -> None:
        self.chip, self.batch, self.steps = chip, batch, steps
        self.period = len(chip.layers) + steps
        self._beat = shared_array((1,), np.int64)
        self.records = [self._record(layer) for layer in chip.layers]
        self.readout = shared_array((batch, chip.readout.classes), np.int32)
        self.readout_clips = shared_array((batch,), np.int64)
        self.spikes = [shared_array((steps, batch, layer.size), np.uint8) for layer in chip.layers] if spikes else None
        self._neurons = {layer.name: self._neuron(i, layer) for i, layer in enumerate(chip.layers)}
        self.values, source = self._source()
        self.processes: list[Any] = [source, *self._neurons.values()]
        for synapse in chip.synapses:
            self._connect(synapse, source)
        if chip.input.kind == "current":
            source.s_out.connect(self._neurons[chip.layers[0].name].a_in)
        self._observe()

    def load(self, values: NDArray[np.uint8]) -> None:
        """Copy up to B samples into the memory that the graph's source reads; the rest of the batch is zero."""
        count = len(values)
        if self.chip.input.kind == "current":
            filled = np.zeros((self.batch, *self.chip.input.shape), dtype=np.uint8)
            filled[:count] = values
            self.values[:] = channels_last(input_current(self.chip, filled), self.chip.layers[0].shape)
            return
        self.values[:count] = channels_last(values, self.chip.input.shape)
        self.values[count:] = 0

    def heartbeat(self) -> int:
        """A counter that advances as long as the graph makes progress."""
        return int(self._beat[0])

    def _record(self, layer: Layer) -> NeuronRecord:
        delays = [self.chip.delay(s) for s in self.chip.feedback if s.source == layer.name]
        return neuron_record(self.batch, layer.size, leaky=layer.decay > 0, delays=delays)

    def _window(self, position: int) -> Window:
        return layer_window(position, layers=len(self.chip.layers), steps=self.steps)

    def _neuron(self, index: int, layer: Layer) -> SoftResetNeuron:
        compile_lava_neuron_step(_CURRENT[self._tag(layer)])
        return SoftResetNeuron(
            layer=layer,
            order=channels_last_order(layer.shape),
            window=self._window(index + 1),
            record=self.records[index],
            batch=self.batch,
            driven=index == 0 and self.chip.input.kind == "current",
            tag=self._tag(layer),
            name=f"neuron {layer.name}",
        )

    def _source(self) -> tuple[NDArray[Any], Source]:
        kind, first = self.chip.input.kind, self.chip.layers[0]
        size = first.size if kind == "current" else int(np.prod(self.chip.input.shape))
        shape = (self.batch, self.steps, size) if kind == "events" else (self.batch, size)
        tag = self._tag(first) if kind == "current" else "messages"
        values = shared_array(shape, _CURRENT.get(tag, np.uint8))
        return values, Source(values=values, beat=self._beat, window=self._window(0), tag=tag, name="source")

    def _connect(self, synapse: Synapse, source: Source) -> None:
        before = source if synapse.source == INPUT else self._neurons[synapse.source]
        after = self._neurons[synapse.target]
        shape = self.chip.input.shape if synapse.source == INPUT else self.chip.layer(synapse.source).shape
        layer = self.chip.layer(synapse.target)
        process = _PROCESS[type(synapse)](
            scatter=Scatter(
                synapse_patches(synapse, shape, layer.shape),
                exponent=synapse.exponent,
                sources=int(np.prod(shape)),
                targets=layer.size,
                graded=synapse.source == INPUT,
                out=_CURRENT[self._tag(layer)],
                wide=_largest_sum(self.chip, synapse) > limits.INT32_MAX,
            ),
            batch=self.batch,
            window=self._window(0),
            constant=synapse.source == INPUT and self.chip.input.kind == "pixels",
            tag=self._tag(layer),
            name=f"synapse {synapse.source} -> {synapse.target}",
        )
        before.s_out.connect(process.s_in)
        process.a_out.connect(after.a_in)
        self.processes.append(process)

    def _observe(self) -> None:
        """Add the readout, and a recorder per layer if spike trains are recorded."""
        last = self.chip.layers[-1]
        classifier = Classifier(
            readout=self.chip.readout,
            scatter=_readout_scatter(self.chip),
            window=self._window(len(self.chip.layers)),
            potentials=self.readout,
            clip_count=self.readout_clips,
        )
        self._neurons[last.name].s_out.connect(classifier.s_in)
        self.processes.append(classifier)
        for position, (layer, spikes) in enumerate(zip(self.chip.layers, self.spikes or (), strict=False), start=1):
            recorder = Recorder(spikes=spikes, beat=self._beat, window=self._window(position), name=f"recorder {layer.name}")
            self._neurons[layer.name].s_out.connect(recorder.s_in)
            self.processes.append(recorder)

    def _tag(self, layer: Layer) -> str:
        """ "fixed_pt" if every sum of currents into the layer fits in 32 bits, else "wide"."""
        bits = [(synapse, limits.STATE_FRACTION_BITS + synapse.exponent) for synapse in self.chip.into(layer)]
        total = sum(_largest_sum(self.chip, synapse) * 2 ** max(0, b) for synapse, b in bits)
        host = limits.BIAS_MAX << limits.STATE_FRACTION_BITS if self.chip.input.kind == "current" else 0
        return "fixed_pt" if total + host <= limits.INT32_MAX else "wide"


def _largest_sum(chip: ChipNetwork, synapse: Synapse) -> int:
    """Upper bound on the magnitude of any weighted sum of messages."""
    axes = (0, 2, 3) if isinstance(synapse, TransposedConvSynapse) else tuple(range(1, synapse.weight.ndim))
    message = limits.MESSAGE_MAX if synapse.source == INPUT else 1
    return int(np.abs(synapse.weight.astype(np.int64)).sum(axis=axes).max()) * message


def _readout_scatter(chip: ChipNetwork) -> Scatter:
    """The readout's synapse in the order of the last layer's process."""
    last, readout = chip.layers[-1], chip.readout
    synapse = DenseSynapse(source=last.name, target="classes", weight=readout.weight)
    layout = synapse_patches(synapse, last.shape, (readout.classes,))
    wide = _largest_sum(chip, synapse) > limits.INT32_MAX
    return Scatter(layout, exponent=readout.exponent, sources=last.size, targets=readout.classes, graded=False, out=np.int64, wide=wide)
