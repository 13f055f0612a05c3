"""A network with delta encoding as stock processes of lava-nc, for one sample: Delta, SigmaDelta, Sigma, Dense, Conv, Sparse.

The neurons and their connections are in stock_delta_neurons.py. Constants are sent once, when the layer's window opens: pixels by a Delta
process and a synapse, biases and the host's current by a RingBuffer.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from lava.proc.io.source import RingBuffer
from lava.proc.sdn.process import Delta, Sigma
from numpy.typing import NDArray

from fsnn_lava.backends.lava.processes.probe.process import Probe
from fsnn_lava.backends.lava.session import Session
from fsnn_lava.backends.lava.shared_memory import shared_array
from fsnn_lava.backends.lava.stock_delta_neurons import CHANGE_BITS, StockDeltaNeurons
from fsnn_lava.backends.lava.stock_delta_result import RecordedChanges
from fsnn_lava.backends.lava.stock_order import from_stock_order, to_stock_order
from fsnn_lava.backends.lava.stock_synapse import connect_stock
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.network import INPUT, ChipNetwork, Layer, Synapse
from fsnn_lava.ir.space_to_depth import packed, unpacked
from fsnn_lava.ir.stock_network import Lowered
from fsnn_lava.limits import STATE_FRACTION_BITS

FIRST = 2  # the Lava step at which layer 1's window opens: a source takes one step


class StockDeltaGraph:
    """Stock processes for one sample, connected, with a probe on each neuron. Rebuilt for every sample, so that no state carries over."""

    def __init__(self, lowered: Lowered, sample: NDArray[np.uint8], current: NDArray[np.int32] | None, *, steps: int) -> None:
        """`current` [*shape of the first layer], in units of 2**-6, is computed by the host, bias included; None for pixels."""
        chip = lowered.chip
        if chip.delta is None:
            raise BadArgument("this network uses rate coding; use StockGraph")
        if chip.input.kind == "events":
            raise BadNetwork("the stock graph of delta encoding does not support event input; use the batched graph")
        self._chip, self._delta, self._factors, self._steps = chip, chip.delta, lowered.factors, steps
        self._total = FIRST + len(chip.layers) + steps - 1
        self._beat = shared_array((1,), np.int64)
        self.processes: list[Any] = []
        self._neurons = StockDeltaNeurons(chip, chip.delta)
        for synapse in chip.synapses:
            if synapse.source == INPUT:
                self._send_pixels(synapse, sample)
        for index, layer in enumerate(chip.layers):
            given = current is not None and index == 0
            constant = self._packed_current(current, layer) if current is not None and given else layer.bias.astype(np.int64) << 6
            self._send_constants(index, layer, constant << (self._delta.rate_bits - STATE_FRACTION_BITS))
        self._probes = [[self._probe(index, neuron) for neuron in neurons] for index, neurons in enumerate(self._neurons.layers)]
        self._readout = self._classifier()
        self.processes += self._neurons.processes

    def heartbeat(self) -> int:
        """Return a counter that advances as long as the stock graph makes progress."""
        return int(self._beat[0])

    def run(self, session: Session) -> float:
        """Run all windows, and return the seconds that the steps took."""
        start = time.perf_counter()
        session.run(self._total)
        return time.perf_counter() - start

    def recorded(self, chip: ChipNetwork) -> RecordedChanges:
        """Return what the probes recorded, in the network's own layout."""
        found: list[list[NDArray[Any]]] = [[], [], []]
        for layer, ((lower, state), *other) in zip(chip.layers, self._probes, strict=True):
            upper = other[0][0] if other else np.zeros_like(lower)
            for parts, values in zip(found, (lower, upper, state), strict=True):
                parts.append(unpacked(_network_order(values), layer.shape, self._factors[layer.name]))
        return RecordedChanges(lower=found[0], upper=found[1], states=found[2], readout=self._readout.copy())

    def _opens(self, index: int) -> int:
        return FIRST + index

    def _window(self, index: int) -> Window:
        return Window(opens=self._opens(index), steps=self._steps, period=self._total)

    def _packed_current(self, current: NDArray[np.int32], layer: Layer) -> NDArray[np.int64]:
        return packed(current.astype(np.int64), current.shape, self._factors[layer.name])

    def _send_constants(self, index: int, layer: Layer, drive: NDArray[np.int64]) -> None:
        """Send the drive to the neurons of a layer when its window opens; for the second neuron it is lower by a rate of 1."""
        one = layer.per_neuron(layer.threshold).astype(np.int64) << self._delta.rate_bits
        for neuron, constant in zip(self._neurons.of(layer.name), (drive, drive - one), strict=False):
            self._send_once(to_stock_order(constant), neuron.a_in, step=self._opens(index), name=f"constants of {neuron.name}")

    def _send_once(self, constant: NDArray[np.int64], port: Any, *, step: int, name: str) -> None:
        data = np.zeros((*constant.shape, self._total), dtype=np.int32)
        data[..., step - 1] = constant
        source = RingBuffer(data=data)
        source.name = name
        source.s_out.connect(port)
        self.processes.append(source)

    def _send_pixels(self, synapse: Synapse, sample: NDArray[np.uint8]) -> None:
        """Send pixels from the step before the target's window opens; Delta sends them once, scaled so that the synapse has exponent 0."""
        target = self._chip.layer(synapse.target)
        first = self._opens(self._chip.index(synapse.target)) - 2  # counted from 0
        values = to_stock_order(sample).astype(np.int32)
        data = np.zeros((*values.shape, self._total), dtype=np.int32)
        data[..., first:] = values[..., None]
        source = RingBuffer(data=data)
        source.name = f"source for {synapse.target}"
        encoder = Delta(shape=values.shape, vth=1, spike_exp=self._delta.rate_bits + synapse.exponent)
        encoder.name = f"encoder for {synapse.target}"
        source.s_out.connect(encoder.a_in)
        after = [neuron.a_in for neuron in self._neurons.of(target.name)]
        plain, shape = replace(synapse, exponent=0), self._chip.input.shape
        process = connect_stock(plain, before=encoder.s_out, after=after, source=shape, target=target.shape, bits=CHANGE_BITS)
        self.processes += [source, encoder, process]

    def _probe(self, index: int, neuron: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Attach a probe, and return the memory that it fills: every message [T, *shape] and the final state of a neuron."""
        shape = neuron.sigma.shape
        messages, state = shared_array((self._steps, *shape), np.int32), shared_array(shape, np.int32)
        probe = Probe(spikes=messages, potential=state, beat=self._beat, window=self._window(index), name=f"probe {neuron.name}")
        neuron.s_out.connect(probe.s_in)
        probe.v.connect_var(neuron.sigma)
        self.processes.append(probe)
        return messages, state

    def _classifier(self) -> NDArray[np.int32]:
        """Build the readout, and return its sums; its window opens one step after the last layer's."""
        chip, index = self._chip, len(self._chip.layers)
        classes = Sigma(shape=(chip.readout.classes,))
        classes.name = "readout"
        self._neurons.connect_readout(classes.a_in)
        bias = chip.readout.bias.astype(np.int64) << self._delta.rate_bits
        self._send_once(bias, classes.a_in, step=self._opens(index), name="bias of readout")
        self.processes.append(classes)
        return self._probe(index, classes)[1]


def _network_order(values: NDArray[Any]) -> NDArray[Any]:
    return from_stock_order(values) if values.ndim >= 3 else values
