"""The stock graph on Loihi 2, reused for one sample after another.

A layer has no bias until its window opens; then its bias is written. A static image is the bias of layer 1. Spikes come back through
the vendor's adapters, potentials are read while the run is paused at the end of each window, and the remaining steps up to a power of
two pass without spikes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.loihi2.neuron import ChipNeuron, ChipReadout
from fsnn_lava.backends.lava.processes.feeder.process import Feeder
from fsnn_lava.backends.lava.processes.recorder.process import Recorder
from fsnn_lava.backends.lava.shared_memory import shared_array
from fsnn_lava.backends.lava.stock_order import from_stock_order, stock_shape
from fsnn_lava.backends.lava.stock_result import Recorded
from fsnn_lava.backends.lava.stock_synapse import GRADED_BITS, Relay, connect_stock, stock_dense_process
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.errors import BackendFailed
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, Layer, Synapse
from fsnn_lava.ir.relays import relay_name, waits_in_synapse
from fsnn_lava.ir.space_to_depth import packed, unpacked
from fsnn_lava.ir.stock_network import lower_to_stock
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.placement.chip_window import ChipWindow

RELAYS_VARIABLE = "FSNN_RELAYS"  # "1": skips wait in relay neurons even if synapses could have a delay
RunSteps = Callable[[int], None]
Potentials = dict[int, NDArray[np.int64]]  # per layer, from 1
Action = Callable[[Potentials], None]


class ChipGraph:
    """The graph on the chip: processes of one network, where `network` is a stock equivalent (ir/stock_network.py)."""

    def __init__(self, network: ChipNetwork, adapters: Any, *, steps: int) -> None:
        lowered = lower_to_stock(network)
        self._network, self._chip, self._factors = network, lowered.chip, lowered.factors
        self._adapters = adapters  # the vendor's lava.proc.embedded_io.spike
        self._events = network.input.kind == "events"
        self.window = ChipWindow(
            steps=steps,
            layers=len(network.layers),
            first=2 + _latency("FSNN_INPUT_LATENCY") if self._events else 1,
            latency=loihi2_graph_latency(),
            longest=network.longest_chip_delay,
        )
        length = self.window.length
        self._beat = shared_array((1,), np.int64)
        self.neurons = [ChipNeuron(layer, window=length) for layer in self._chip.layers]
        self.readout = ChipReadout(self._chip.readout, window=length)
        self.synapses: list[Any] = []
        self._ports = {layer.name: neuron.process.s_out for layer, neuron in zip(self._chip.layers, self.neurons, strict=True)}
        self._messages: dict[tuple[int, bool], NDArray[np.int32]] = {}  # [window, *Lava's shape], by delay and by whether to convolutions
        self._feeds: dict[tuple[int, bool], Any] = {}
        self._delayed: dict[tuple[str, int], Any] = {}  # ports that repeat a layer some steps later
        for synapse in self._chip.synapses:
            if synapse.source != INPUT or self._events:
                self._connect(synapse)
        self._records = [self._record(layer, neuron) for layer, neuron in zip(self._chip.layers, self.neurons, strict=True)]
        self._connect_readout()

    @property
    def process(self) -> Any:
        """Return one of the graph's connected processes; running it runs all of them."""
        return self.neurons[0].process

    def idle(self, run: RunSteps) -> None:
        """Run the graph for one window without input or bias; check that nothing spikes, so that a sample can start."""
        run(self.window.length)
        self._check_silence(0, "a network at rest")
        self._rest()

    def sample(self, values: NDArray[np.uint8], run: RunSteps) -> Recorded:
        """Run the graph on one sample, [*shape] or [T, *shape] of events, and leave the network silent and at rest."""
        if self._events:
            self._load(values)
        stops = self._stops(self._biases(values))
        potentials: Potentials = {}
        done = 0
        for stop in sorted(stops):
            if stop > done:
                run(stop - done)
            done = stop
            for action in stops[stop]:
                action(potentials)
        for neuron in (*self.neurons, self.readout):
            neuron.silence()
        if self.window.used > done:
            run(self.window.used - done)
        run(self.window.length - self.window.used)
        self._check_silence(self.window.length - 1, "after a sample")
        recorded = self._recorded(potentials)
        self._rest()
        return recorded

    # --- building ----------------------------------------------------------------------------------------------------------

    def _feed(self, late: int, *, to_convolution: bool) -> Any:
        """Return the port of a source whose messages arrive `late` steps late; convolutions need a different vendor adapter."""
        key = late, to_convolution
        if key not in self._messages:
            self._messages[key] = shared_array((self.window.length, *stock_shape(self._chip.input.shape)), np.int32)
            feeder = Feeder(messages=self._messages[key], name=f"source, {late} steps late" if late else "source")
            kind = self._adapters.PyToN3ConvAdapter if to_convolution else self._adapters.PyToNxAdapter
            adapter = kind(shape=feeder.s_out.shape, num_message_bits=GRADED_BITS)
            feeder.s_out.connect(adapter.inp)
            self._feeds[key] = adapter.out
        return self._feeds[key]

    def _connect(self, synapse: Synapse) -> None:
        graded, delay = synapse.source == INPUT, self._chip.chip_delay(synapse)
        source = self._chip.input.shape if graded else self._chip.layer(synapse.source).shape
        after = self.neurons[self._chip.index(synapse.target)].process.a_in
        target = self._chip.layer(synapse.target).shape
        waits = waits_in_synapse(synapse) and not graded and os.environ.get(RELAYS_VARIABLE) != "1"
        if graded:
            before = self._feed(delay - 1, to_convolution=isinstance(synapse, ConvSynapse))
        else:
            before = self._port(synapse.source, 0 if waits else delay - 1)
        delay = delay if waits else 1
        self.synapses.append(
            connect_stock(synapse, before=before, after=after, source=source, target=target, bits=GRADED_BITS if graded else 0, delay=delay)
        )

    def _port(self, name: str, late: int) -> Any:
        """Return the port that delivers the spikes of a layer `late` steps after they were sent, through that many relays."""
        if late == 0:
            return self._ports[name]
        if (name, late) not in self._delayed:
            before, shape = self._port(name, late - 1), self._chip.layer(name).shape
            relay = Relay(before, shape, relay_name(name, late), window=self.window.length)
            self._delayed[name, late] = relay.port
            self.synapses.append(relay.synapse)
        return self._delayed[name, late]

    def _connect_readout(self) -> None:
        last = self._chip.layers[-1]
        synapse = stock_dense_process(self._chip.readout.weight, self._chip.readout.exponent, last.shape, 0, "synapse to readout")
        self._ports[last.name].reshape(new_shape=synapse.s_in.shape).connect(synapse.s_in)
        synapse.a_out.connect(self.readout.process.a_in)
        self.synapses.append(synapse)

    def _record(self, layer: Layer, neuron: ChipNeuron) -> NDArray[np.uint8]:
        """Record every spike of the current window, [window, *Lava's shape]."""
        length = self.window.length
        spikes = shared_array((length, *stock_shape(layer.shape)), np.uint8)
        adapter = self._adapters.NxToPyAdapter(shape=neuron.process.s_out.shape)
        whole = Window(opens=1, steps=length, period=length)
        recorder = Recorder(spikes=spikes, beat=self._beat, window=whole, tag="stock", name=f"recorder {layer.name}")
        neuron.process.s_out.connect(adapter.inp)
        adapter.out.connect(recorder.s_in)
        return spikes

    # --- running -----------------------------------------------------------------------------------------------------------

    def _load(self, values: NDArray[np.uint8]) -> None:
        moved = values.transpose(0, *range(values.ndim - 1, 0, -1))
        for (late, _), messages in self._messages.items():
            messages[:] = 0
            messages[late : late + len(moved)] = moved

    def _biases(self, values: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
        """Return the biases of every layer and the readout, units 2**-6, packed like the layers."""
        found = [layer.bias.astype(np.int64) << STATE_FRACTION_BITS for layer in self._chip.layers]
        if not self._events:
            current = input_current(self._network, values[None])[0].astype(np.int64)
            first = self._network.layers[0]
            found[0] = packed(current, first.shape, self._factors[first.name])
        return [*found, self._chip.readout.bias.astype(np.int64) << STATE_FRACTION_BITS]

    def _stops(self, biases: list[NDArray[np.int64]]) -> dict[int, list[Action]]:
        """Return the actions after each step: read a potential when a window closes, wake a neuron before its window opens."""
        stops: dict[int, list[Action]] = {}
        neurons = [*self.neurons, self.readout]
        for number, neuron in enumerate(neurons, start=1):
            stops.setdefault(self.window.closes(number), []).append(_read_potential(number, neuron))
        for number, (neuron, bias) in enumerate(zip(neurons, biases, strict=True), start=1):
            stops.setdefault(self.window.opens(number) - 1, []).append(_wake_neuron(neuron, bias))
        return stops

    def _rest(self) -> None:
        for neuron in (*self.neurons, self.readout):
            neuron.rest()

    def _check_silence(self, first: int, when: str) -> None:
        for layer, record in zip(self._chip.layers, self._records, strict=True):
            spikes = int(np.count_nonzero(record[first:]))
            if spikes:
                raise BackendFailed(
                    f"backend 'loihi2': layer {layer.name!r} spikes {spikes} times {when}; these spikes would leak into the next sample"
                )

    def _recorded(self, potentials: Potentials) -> Recorded:
        trains, final = [], []
        for number, (layer, record) in enumerate(zip(self._network.layers, self._records, strict=True), start=1):
            start = self.window.opens(number) - 1 + self.window.latency
            factor = self._factors[layer.name]
            trains.append(unpacked(_ordered(record[start : start + self.window.steps].copy()), layer.shape, factor))
            final.append(unpacked(_ordered(potentials[number]), layer.shape, factor))
        return Recorded(spikes=trains, potentials=final, readout=potentials[len(self._network.layers) + 1].astype(np.int32))


def _read_potential(number: int, neuron: ChipNeuron) -> Action:
    return lambda found: found.update({number: neuron.potential()})


def _wake_neuron(neuron: ChipNeuron, bias: NDArray[np.int64]) -> Action:
    return lambda found: neuron.wake(bias)


def _ordered(values: NDArray[Any]) -> NDArray[Any]:
    return from_stock_order(values) if values.ndim >= 3 else values


def loihi2_graph_latency() -> int:
    """Return the steps that a message takes from Loihi 2 to the host's record, as measured by the user."""
    return _latency("FSNN_OUTPUT_LATENCY")


def _latency(name: str) -> int:
    return int(os.environ.get(name, "0"))
