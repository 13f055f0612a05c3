"""Loop gains: how far a change of the feedback's sources can reach (E18), through whole layers, single neurons, and sets of neurons."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.ir.network import INPUT, ChipNetwork, Synapse
from fsnn_lava.ir.synapse_operator import operator_of, synapse_operator_gain
from fsnn_lava.verify.linearised_loop import Loop

Floats = NDArray[np.float64]


class LoopGains:
    """Upper bounds on gains around the loop that hold for any set of active neurons.

    reach[l]: ||change of layer l|| per ||change of the sources||. rows[l]: the same for the input of every single neuron, [*shape].
    """

    def __init__(self, loop: Loop) -> None:
        self.loop, chip = loop, loop.chip
        self._synapses = [s for s in chip.synapses if s.source != INPUT]
        self._gains = {id(s): synapse_operator_gain(chip, s) for s in self._synapses}
        self._row_squares = {id(s): self._squares(s, back=False) for s in self._synapses}
        self._column_squares = {id(s): self._squares(s, back=True) for s in self._synapses}
        self.reach = np.zeros(len(chip.layers))
        self.rows: list[Floats] = []
        for position, layer in enumerate(chip.layers):
            row = np.zeros(layer.shape)
            for synapse in self.loop.into[position]:
                through = self._source_reach(synapse, position)
                self.reach[position] += self._gains[id(synapse)] * through
                row += np.sqrt(self._row_squares[id(synapse)]) * through
            self.rows.append(row)
        self.onto_sources = self._onto_sources()

    def _source_reach(self, synapse: Synapse, position: int) -> float:
        """Return how much a synapse's source changes: 1 for feedback, because changes are measured there, else its `reach`."""
        k = self.loop.chip.index(synapse.source)
        return float(self.reach[k]) if k < position else 1.0

    def _onto_sources(self) -> Floats:
        """Return how much a change in layer k changes the rates of layer l in the same pass, [N, N]: (1 - forward gains)**-1."""
        chip = self.loop.chip
        forward = np.zeros((len(chip.layers),) * 2)
        for synapse in self._synapses:
            if chip.is_forward(synapse):
                forward[chip.index(synapse.target), chip.index(synapse.source)] += self._gains[id(synapse)]
        return np.maximum(np.linalg.inv(np.eye(len(forward)) - forward), 0.0)

    def change_of_jacobian(self, undecided: list[NDArray[np.bool_]]) -> Floats:
        """Bound the change of J if only neurons in `undecided` switch pieces, [B]: sum of out(U) * in(U) over layers (E18)."""
        total = np.zeros(len(undecided[0]))
        for position, chosen in enumerate(undecided):
            if chosen.any():
                total += self._out_of(position, chosen) * self._in_to(position, chosen)
        return total

    def _in_to(self, position: int, chosen: NDArray[np.bool_]) -> Floats:
        """Return ||rows U of a layer's input|| per ||change of the sources||, from the norms of rows or of the whole connection."""
        total = np.zeros(len(chosen))
        for synapse in self.loop.into[position]:
            together = np.sqrt(_sum_over(chosen, self._row_squares[id(synapse)]))
            total += np.minimum(self._gains[id(synapse)], together) * self._source_reach(synapse, position)
        return total

    def _out_of(self, position: int, chosen: NDArray[np.bool_]) -> Floats:
        """Return ||change of the sources after the pass|| per ||change of the neurons U of a layer||."""
        chip, loop = self.loop.chip, self.loop
        parts = np.zeros((len(loop.sources), len(chosen)))
        for index, source in enumerate(loop.sources):
            parts[index] += float(source == position)
            for synapse in self._synapses:
                if chip.is_forward(synapse) and chip.index(synapse.source) == position:
                    together = np.sqrt(_sum_over(chosen, self._column_squares[id(synapse)]))
                    parts[index] += np.minimum(self._gains[id(synapse)], together) * self.onto_sources[source, chip.index(synapse.target)]
        return np.sqrt(np.square(parts).sum(axis=0))

    def _squares(self, synapse: Synapse, *, back: bool) -> Floats:
        """Return the squared lengths of the rows of weight / threshold, [*target]; with `back`, of its columns, [*source]."""
        chip = self.loop.chip
        source, target = chip.layer(synapse.source), chip.index(synapse.target)
        operator, weight = operator_of(synapse, source.shape), torch.square(self.loop.weight(synapse))
        per_target = torch.from_numpy(1.0 / np.square(self.loop.thresholds[target]))
        with torch.no_grad():
            if back:
                return operator.transpose(weight, per_target.reshape(1, *operator.out_shape)).numpy()[0]
            ones = torch.ones((1, *source.shape), dtype=torch.float64)
            return (operator.apply(weight, ones)[0].reshape(per_target.shape) * per_target).numpy()


def loop_gain(chip: ChipNetwork, gains: NDArray[np.float64]) -> float | None:
    """Return L, the loop gain if there is exactly one feedback connection: the sum over its paths of the product of their gains."""
    if len(chip.feedback) != 1:
        return None
    first, last = chip.index(chip.feedback[0].target), chip.index(chip.feedback[0].source)
    reach = np.zeros(len(gains))
    reach[first] = 1.0
    for position in range(first + 1, last + 1):
        reach[position] = gains[position, first:position] @ reach[first:position]
    return float(gains[first, last] * reach[last])


def _sum_over(chosen: NDArray[np.bool_], values: Floats) -> Floats:
    """Sum `values` [*shape] over the chosen neurons [B, *shape]; returns [B]."""
    return chosen.reshape(len(chosen), -1) @ values.reshape(-1)
