"""The network as our own Lava processes with delta encoding (E15): like the batched graph, but every message is a change of a rate."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsnn_lava import limits
from fsnn_lava.backends.emulator.limit_cycle import hash_keys
from fsnn_lava.backends.lava.batched_processes import BatchedProcesses
from fsnn_lava.backends.lava.channel_order import channels_last_order
from fsnn_lava.backends.lava.delta_record import DeltaRecord, delta_record
from fsnn_lava.backends.lava.frames import Frames
from fsnn_lava.backends.lava.processes.delta_readout.process import DeltaClassifier
from fsnn_lava.backends.lava.processes.sigma_delta.process import SigmaDeltaNeuron
from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.compiled.lava_step import compile_lava_delta_step
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.delta_encoding import delta_frame_exponent
from fsnn_lava.ir.network import INPUT, ChipNetwork, Layer, Synapse, TransposedConvSynapse


class DeltaGraph(BatchedProcesses[DeltaRecord]):
    """The batched graph for delta encoding: processes for B samples of T steps, with neurons that send the changes of their rates."""

    def __init__(self, chip: ChipNetwork, *, batch: int, steps: int, spikes: bool) -> None:
        if chip.delta is None:
            raise BadArgument("this network uses rate coding; use BatchedGraph")
        self.delta = chip.delta
        compile_lava_delta_step()
        super().__init__(chip, batch=batch, steps=steps, trains=np.int16 if spikes else None, recorder="stock")

    def _record(self, layer: Layer, late: list[int]) -> DeltaRecord:
        sizes = [each.size for each in self.chip.layers]
        end = sum(sizes[: self.chip.index(layer.name) + 1])
        return delta_record(self.batch, steps=self.steps, delays=late, keys=hash_keys(sum(sizes))[end - layer.size : end])

    def _neuron(self, index: int, layer: Layer) -> SigmaDeltaNeuron:
        return SigmaDeltaNeuron(
            layer=layer,
            order=channels_last_order(layer.shape),
            rate_bits=self.delta.rate_bits,
            ceiling=self.delta.ceiling,
            band=self.delta.dead_bands[index],
            window=self._window(index + 1),
            record=self.records[index],
            driven=self._driven(index),
            frames=self._frames(layer),
            tag="wide" if self.chip.input.kind == "events" else "fixed_pt",
            name=f"neuron {layer.name}",
        )

    def _frames(self, layer: Layer) -> Frames | None:
        """Return how a layer sums the frames that it receives; None if it receives none."""
        if self.chip.input.kind != "events" or not any(synapse.source == INPUT for synapse in self.chip.into(layer)):
            return None
        shift = self.delta.rate_bits + delta_frame_exponent(self.chip, layer) - limits.FRAME_BITS
        return Frames(weights=self.delta.frame_weights(self.steps), shift=shift)

    def _input_port(self, layer: Layer) -> Any:
        """Return the port for the input: a static input is sent once, a frame in every step."""
        return self._neurons[layer.name].d_in

    def _scatter(self, synapse: Synapse, source: tuple[int, ...]) -> Scatter:
        layer, changes = self.chip.layer(synapse.target), self._synapse_tag(synapse) == "changes"
        return Scatter(
            compiled_synapse(synapse, source, layer.shape),
            exponent=synapse.exponent - (delta_frame_exponent(self.chip, layer) if changes and synapse.source == INPUT else 0),
            sources=int(np.prod(source)),
            targets=layer.size,
            graded=True,
            out=np.int64 if changes else np.int32,
            wide=True,
            changes=changes,
        )

    def _synapse_tag(self, synapse: Synapse) -> str:
        return "fixed_pt" if synapse.source == INPUT and self.chip.input.kind != "events" else "changes"

    def _current_tag(self, layer: Layer) -> str:
        return "fixed_pt"

    def _readout(self) -> DeltaClassifier:
        bias = self.chip.readout.bias.astype(np.int64) << self.delta.rate_bits
        scatter, window = self._readout_scatter(changes=True), self._window(len(self.chip.layers))
        return DeltaClassifier(scatter=scatter, bias=bias, window=window, sums=self.readout, clip_count=self.readout_clips)


def check_delta_graph_input(chip: ChipNetwork) -> None:
    """Raise BadArgument unless a static input's current into every layer always fits in 32 bits; `input_current` checks each sample."""
    for layer in () if chip.input.kind == "events" else chip.layers:
        total = 0
        for synapse in (s for s in chip.into(layer) if s.source == INPUT):
            axes = (0, 2, 3) if isinstance(synapse, TransposedConvSynapse) else tuple(range(1, synapse.weight.ndim))
            largest = int(np.abs(synapse.weight.astype(np.int64)).sum(axis=axes).max()) * limits.MESSAGE_MAX
            total += largest << max(0, limits.STATE_FRACTION_BITS + synapse.exponent)
            if total > limits.INT32_MAX:
                raise BadArgument(f"{synapse}: the input's current may exceed 32 bits; run it on 'emu', or lower its exponent")
