"""The network as stock processes of lava-nc, for one sample."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from lava.proc.io.source import RingBuffer
from numpy.typing import NDArray

from fsnn_lava.backends.lava.processes.probe.process import Probe, ResetProbe
from fsnn_lava.backends.lava.session import Session
from fsnn_lava.backends.lava.shared_memory import shared_array
from fsnn_lava.backends.lava.stock_neuron import StockNeuron, readout_neuron
from fsnn_lava.backends.lava.stock_order import from_stock_order, stock_shape
from fsnn_lava.backends.lava.stock_result import Recorded
from fsnn_lava.backends.lava.stock_synapse import GRADED_BITS, Relay, connect_stock, stock_dense_process
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.ir.network import INPUT, ChipNetwork, Synapse
from fsnn_lava.ir.relays import relay_name, waits_in_synapse
from fsnn_lava.ir.space_to_depth import packed, unpacked
from fsnn_lava.ir.stock_network import Lowered
from fsnn_lava.limits import STATE_FRACTION_BITS


class StockGraph:
    """Stock processes for one sample, connected, with a probe on each neuron. Rebuilt for every sample, so that no state carries over."""

    def __init__(self, lowered: Lowered, sample: NDArray[np.uint8], current: NDArray[np.int32] | None, *, steps: int) -> None:
        self._chip, self._factors, self._steps = lowered.chip, lowered.factors, steps
        self._first = 1 if current is not None else 2  # the Lava step at which layer 1's window opens: a source takes one step
        self._total = self._first + len(self._chip.layers) + steps - 1
        self._beat = shared_array((1,), np.int64)
        self._neurons = [self._neuron(i, current if i == 0 else None) for i in range(len(self._chip.layers))]
        self.processes: list[Any] = [neuron.process for neuron in self._neurons]
        self._ports = {layer.name: neuron.process.s_out for layer, neuron in zip(self._chip.layers, self._neurons, strict=True)}
        self._delayed: dict[tuple[str, int], Any] = {}  # ports that repeat a source some steps later
        for synapse in self._chip.synapses:
            if synapse.source != INPUT or current is None:
                self._connect(synapse, sample)
        for layer, neuron in zip(self._chip.layers, self._neurons, strict=True):
            self._send_excess_bias(layer.name, neuron)
        self._probes = [self._probe(i, neuron) for i, neuron in enumerate(self._neurons)]
        self._readout = self._classifier()

    def heartbeat(self) -> int:
        """Return a counter that advances as long as the stock graph makes progress."""
        return int(self._beat[0])

    def run(self, session: Session) -> float:
        """Run all windows, pausing only where a neuron must be woken, and return the seconds that the steps took."""
        done, seconds = 0, 0.0
        stops = {self._opens(i) - 1: neuron for i, neuron in enumerate(self._neurons) if neuron.late}
        for stop in [*sorted(stops), self._total]:
            start = time.perf_counter()
            if stop > done:
                session.run(stop - done)
            seconds += time.perf_counter() - start
            done = stop
            if stop in stops:
                session.paused(stops[stop].wake)
        return seconds

    def recorded(self, chip: ChipNetwork) -> Recorded:
        """Return what the probes recorded, in the network's own layout."""
        trains, potentials = [], []
        for layer, neuron, (spikes, potential) in zip(chip.layers, self._neurons, self._probes, strict=True):
            factor = self._factors[layer.name]
            trains.append(unpacked(_network_order(spikes), layer.shape, factor))
            potentials.append(unpacked(_network_order(potential + neuron.offset), layer.shape, factor))
        return Recorded(spikes=trains, potentials=potentials, readout=self._readout.copy())

    def _opens(self, index: int) -> int:
        return self._first + index

    def _window(self, index: int) -> Window:
        return Window(opens=self._opens(index), steps=self._steps, period=self._total)

    def _neuron(self, index: int, current: NDArray[np.int32] | None) -> StockNeuron:
        layer = self._chip.layers[index]
        bias = layer.bias.astype(np.int64) << STATE_FRACTION_BITS
        if current is not None:
            bias = packed(current.astype(np.int64), current.shape, self._factors[layer.name])
        return StockNeuron(layer, bias, before=self._opens(index) - 1, steps=self._steps)

    def _source(self, sample: NDArray[np.uint8], late: int) -> RingBuffer:
        """Return a source that sends the events [T, *shape] from step `late` on, and zeros before and after."""
        silence = [(0, 0)] * (sample.ndim - 1) + [(late, max(0, self._total - len(sample) - late))]
        moved = np.moveaxis(sample, 0, -1).astype(np.int32)
        lava = moved if moved.ndim == 2 else moved.transpose(2, 1, 0, 3)
        process = RingBuffer(data=np.pad(lava, silence))
        process.name = f"source, {late} steps late" if late else "source"
        self.processes.append(process)
        return process

    def _send_excess_bias(self, name: str, neuron: StockNeuron) -> None:
        """Send the part of a bias that does not fit in 16 bits as a constant message at every step, without a synapse."""
        if neuron.excess_bias is not None:
            process = RingBuffer(data=neuron.excess_bias[..., None].astype(np.int32))
            process.name = f"excess bias of {name}"
            process.s_out.connect(neuron.process.a_in)
            self.processes.append(process)

    def _connect(self, synapse: Synapse, sample: NDArray[np.uint8]) -> None:
        graded, delay = synapse.source == INPUT, self._chip.chip_delay(synapse)
        source = self._chip.input.shape if graded else self._chip.layer(synapse.source).shape
        after = self._neurons[self._chip.index(synapse.target)].process.a_in
        target = self._chip.layer(synapse.target).shape
        waits = waits_in_synapse(synapse) and not graded
        before = self._port(synapse.source, 0 if waits else delay - 1, sample)
        delay, bits = delay if waits else 1, GRADED_BITS if graded else 0
        self.processes.append(connect_stock(synapse, before=before, after=after, source=source, target=target, bits=bits, delay=delay))

    def _port(self, name: str, late: int, sample: NDArray[np.uint8]) -> Any:
        """Return the port that delivers the messages of a source `late` steps after they were sent, through that many relays."""
        if late == 0 and name != INPUT:
            return self._ports[name]
        if (name, late) not in self._delayed:
            if name == INPUT:
                self._delayed[name, late] = self._source(sample, late).s_out
            else:
                relay = Relay(self._port(name, late - 1, sample), self._chip.layer(name).shape, relay_name(name, late))
                self._delayed[name, late] = relay.port
                self.processes += [relay.synapse, relay.neuron]
        return self._delayed[name, late]

    def _probe(self, index: int, neuron: StockNeuron) -> tuple[NDArray[np.uint8], NDArray[np.int32]]:
        layer = self._chip.layers[index]
        shape = stock_shape(layer.shape)
        spikes, potential = shared_array((self._steps, *shape), np.uint8), shared_array(shape, np.int32)
        kind = ResetProbe if neuron.subtracts else Probe
        probe = kind(spikes=spikes, potential=potential, beat=self._beat, window=self._window(index), name=f"probe {layer.name}")
        neuron.process.s_out.connect(probe.s_in)
        probe.v.connect_var(neuron.process.v)
        if neuron.subtracts:
            probe.r.connect_var(neuron.process.r)
        self.processes.append(probe)
        return spikes, potential

    def _classifier(self) -> NDArray[np.int32]:
        """Build the readout, and return its potentials; its window opens one step after the last layer's."""
        chip, last = self._chip, self._chip.layers[-1]
        index = len(chip.layers)
        synapse = stock_dense_process(chip.readout.weight, chip.readout.exponent, last.shape, 0, "synapse to readout")
        neuron = readout_neuron(chip.readout, before=self._opens(index) - 1)
        self._ports[last.name].reshape(new_shape=synapse.s_in.shape).connect(synapse.s_in)
        synapse.a_out.connect(neuron.a_in)
        potential = shared_array((chip.readout.classes,), np.int32)
        spikes = shared_array((self._steps, chip.readout.classes), np.uint8)
        probe = Probe(spikes=spikes, potential=potential, beat=self._beat, window=self._window(index), name="probe readout")
        neuron.s_out.connect(probe.s_in)
        probe.v.connect_var(neuron.v)
        self.processes += [synapse, neuron, probe]
        return potential


def _network_order(values: NDArray[Any]) -> NDArray[Any]:
    return from_stock_order(values) if values.ndim >= 3 else values
