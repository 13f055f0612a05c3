"""The network as our own Lava processes for rate coding: one per connection and one per layer, for all B samples of a batch at once."""

from __future__ import annotations

import numpy as np

from fsnn_lava import limits
from fsnn_lava.backends.lava.batched_processes import BatchedProcesses
from fsnn_lava.backends.lava.channel_order import channels_last_order
from fsnn_lava.backends.lava.neuron_record import NeuronRecord, neuron_record
from fsnn_lava.backends.lava.processes.neuron.process import SoftResetNeuron
from fsnn_lava.backends.lava.processes.readout.process import Classifier
from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.compiled.lava_step import compile_lava_neuron_step
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.network import INPUT, ChipNetwork, Layer, Synapse, TransposedConvSynapse

_CURRENT = {"fixed_pt": np.int32, "wide": np.int64}  # what a model with this tag receives


class BatchedGraph(BatchedProcesses[NeuronRecord]):
    """The batched graph for rate coding: processes for B samples of T steps, with spiking neurons (E9)."""

    def __init__(self, chip: ChipNetwork, *, batch: int, steps: int, spikes: bool) -> None:
        super().__init__(chip, batch=batch, steps=steps, trains=np.uint8 if spikes else None, recorder="fixed_pt")

    def _record(self, layer: Layer, late: list[int]) -> NeuronRecord:
        return neuron_record(self.batch, layer.size, leaky=layer.decay > 0, delays=late)

    def _neuron(self, index: int, layer: Layer) -> SoftResetNeuron:
        compile_lava_neuron_step(_CURRENT[self._current_tag(layer)])
        return SoftResetNeuron(
            layer=layer,
            order=channels_last_order(layer.shape),
            window=self._window(index + 1),
            record=self.records[index],
            batch=self.batch,
            driven=self._driven(index),
            tag=self._current_tag(layer),
            name=f"neuron {layer.name}",
        )

    def _scatter(self, synapse: Synapse, source: tuple[int, ...]) -> Scatter:
        layer = self.chip.layer(synapse.target)
        return Scatter(
            compiled_synapse(synapse, source, layer.shape),
            exponent=synapse.exponent,
            sources=int(np.prod(source)),
            targets=layer.size,
            graded=synapse.source == INPUT,
            out=_CURRENT[self._current_tag(layer)],
            wide=_largest_sum(synapse) > limits.INT32_MAX,
        )

    def _synapse_tag(self, synapse: Synapse) -> str:
        return self._current_tag(self.chip.layer(synapse.target))

    def _current_tag(self, layer: Layer) -> str:
        """Return "fixed_pt" if every sum of currents into the layer fits in 32 bits, else "wide"."""
        bits = [(synapse, limits.STATE_FRACTION_BITS + synapse.exponent) for synapse in self.chip.into(layer)]
        total = sum(_largest_sum(synapse) * 2 ** max(0, b) for synapse, b in bits)
        host = limits.BIAS_MAX << limits.STATE_FRACTION_BITS if self.chip.input.kind == "current" else 0
        return "fixed_pt" if total + host <= limits.INT32_MAX else "wide"

    def _readout(self) -> Classifier:
        scatter, window = self._readout_scatter(changes=False), self._window(len(self.chip.layers))
        return Classifier(readout=self.chip.readout, scatter=scatter, window=window, potentials=self.readout, clip_count=self.readout_clips)


def _largest_sum(synapse: Synapse) -> int:
    """Return an upper bound on the magnitude of any weighted sum of messages."""
    axes = (0, 2, 3) if isinstance(synapse, TransposedConvSynapse) else tuple(range(1, synapse.weight.ndim))
    message = limits.MESSAGE_MAX if synapse.source == INPUT else 1
    return int(np.abs(synapse.weight.astype(np.int64)).sum(axis=axes).max()) * message
