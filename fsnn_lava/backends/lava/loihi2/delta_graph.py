"""A network with delta encoding on Loihi 2: the processes of the stock graph, reused for one sample after another.

The constants, 2**q times bias and input, are computed by the host and written into the sums of a layer right before its window opens. Its
neurons are at rest until then. Changes come back through the vendor's adapters, and sums are read while the run is paused at the end of
each window. Before the next sample, all sums are set so low that changes in flight have no effect, which is checked, and then to zero.
Nothing depends on the chip's own reset, so a sample takes only the steps that it needs.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from lava.proc.sdn.process import ActivationMode, SigmaDelta
from numpy.typing import NDArray

from fsnn_lava.backends.lava.loihi2.graph import RELAYS_VARIABLE, RunSteps, loihi2_graph_latency
from fsnn_lava.backends.lava.processes.recorder.process import Recorder
from fsnn_lava.backends.lava.shared_memory import shared_array
from fsnn_lava.backends.lava.stock_delta_neurons import CHANGE_BITS, StockDeltaNeurons
from fsnn_lava.backends.lava.stock_delta_result import RecordedChanges
from fsnn_lava.backends.lava.stock_order import from_stock_order, to_stock_order
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.errors import BackendFailed, BadArgument
from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.space_to_depth import packed, unpacked
from fsnn_lava.ir.stock_delta import stock_delta_shift
from fsnn_lava.ir.stock_network import lower_to_stock
from fsnn_lava.limits import STATE_FRACTION_BITS, STATE_MAX
from fsnn_lava.placement.chip_window import DeltaWindow

_DEEP = 2**22  # half of a sum's range; an error is raised if a change in flight lifts a neuron above zero even from there
Sums = dict[int, NDArray[np.int64]]  # per layer, from 1, in Lava's order
Action = Callable[[Sums], None]


class ChipDeltaGraph:
    """The delta graph on the chip: processes of one network with delta encoding and a static input."""

    def __init__(self, network: ChipNetwork, adapters: Any, *, steps: int) -> None:
        if network.delta is None or network.input.kind == "events":
            raise BadArgument("this graph is for delta encoding of a static input; use ChipGraph for rate coding")
        lowered = lower_to_stock(network)
        self._network, self._chip, self._factors = network, lowered.chip, lowered.factors
        self._delta, self._adapters = network.delta, adapters  # the vendor's lava.proc.embedded_io.spike
        self.window = DeltaWindow(
            steps=steps, layers=len(network.layers), latency=loihi2_graph_latency(), longest=network.longest_chip_delay
        )
        self._beat = shared_array((1,), np.int64)
        self._connected = StockDeltaNeurons(self._chip, network.delta, delays_in_synapses=os.environ.get(RELAYS_VARIABLE) != "1")
        self.neurons, self.synapses = self._connected.layers, self._connected.synapses
        classes = self._chip.readout.classes
        self.readout = SigmaDelta(shape=(classes,), vth=STATE_MAX, act_mode=ActivationMode.UNIT, name="readout")  # it never sends
        self._connected.connect_readout(self.readout.a_in)
        self._records = [[self._record(neuron) for neuron in neurons] for neurons in self.neurons]

    @property
    def process(self) -> Any:
        """Return one of the graph's connected processes; running it runs all of them."""
        return self.neurons[0][0]

    def idle(self, run: RunSteps) -> None:
        """Run the graph for one sample's duration without input or bias; check that it sends nothing, so a sample can start."""
        run(self.window.length)
        self._check_silence(0, "a network at rest")
        self._rest()

    def sample(self, values: NDArray[np.uint8], run: RunSteps) -> RecordedChanges:
        """Run the graph on one sample, [*shape], and leave the network silent and at rest."""
        stops, sums = self._stops(self._drives(values)), Sums()
        done = 0
        for stop in sorted(stops):
            if stop > done:
                run(stop - done)
            done = stop
            for action in stops[stop]:
                action(sums)
        if self.window.used > done:
            run(self.window.used - done)
        for neuron in (neuron for neurons in self.neurons for neuron in neurons):
            _write(neuron, sigma=-_DEEP)
        run(self.window.length - self.window.used)
        self._check_silence(self.window.used + self.window.latency, "after a sample")
        recorded = self._recorded(sums)
        self._rest()
        return recorded

    # --- building ----------------------------------------------------------------------------------------------------------

    def _record(self, neuron: SigmaDelta) -> NDArray[np.int32]:
        """Record every change of the current sample, [window, *Lava's shape]."""
        length = self.window.length
        changes = shared_array((length, *neuron.s_out.shape), np.int32)
        adapter = self._adapters.NxToPyAdapter(shape=neuron.s_out.shape, num_message_bits=CHANGE_BITS)
        whole = Window(opens=1, steps=length, period=length)
        recorder = Recorder(spikes=changes, beat=self._beat, window=whole, tag="stock", name=f"recorder {neuron.name}")
        neuron.s_out.connect(adapter.inp)
        adapter.out.connect(recorder.s_in)
        return changes

    # --- running -----------------------------------------------------------------------------------------------------------

    def _drives(self, values: NDArray[np.uint8]) -> list[NDArray[np.int64]]:
        """Return D of E15 for every layer and the readout, in Lava's order."""
        bits, found = self._delta.rate_bits, []
        for position, layer in enumerate(self._network.layers):
            current = input_current(self._network, values[None], position=position)[0].astype(np.int64)
            drive = packed(current << (bits - STATE_FRACTION_BITS), layer.shape, self._factors[layer.name])
            found.append(to_stock_order(drive))
        return [*found, self._chip.readout.bias.astype(np.int64) << bits]

    def _stops(self, drives: list[NDArray[np.int64]]) -> dict[int, list[Action]]:
        """Return the actions after each step: read sums when a window closes, wake neurons before their window opens."""
        stops: dict[int, list[Action]] = {}
        for number, (neurons, drive) in enumerate(zip([*self.neurons, [self.readout]], drives, strict=True), start=1):
            stops.setdefault(self.window.closes(number), []).append(_read_sums(number, neurons[0]))
            ones = [0] if number > len(self.neurons) else self._ones(number - 1)
            stops.setdefault(self.window.opens(number) - 1, []).append(_wake(neurons, drive, ones))
        return stops

    def _ones(self, position: int) -> list[int]:
        """Return the offset to subtract from the drive of each neuron in a layer: 0 for the first, a rate of 1 for the second."""
        one = self._delta.one << stock_delta_shift(self._chip.layers[position])
        return [which * one for which in range(len(self.neurons[position]))]

    def _rest(self) -> None:
        for neuron in (*(neuron for neurons in self.neurons for neuron in neurons), *self._connected.relays, self.readout):
            _write(neuron, sigma=0)

    def _check_silence(self, first: int, when: str) -> None:
        for layer, records in zip(self._chip.layers, self._records, strict=True):
            sent = sum(int(np.count_nonzero(record[first:])) for record in records)
            if sent:
                raise BackendFailed(
                    f"backend 'loihi2': layer {layer.name!r} sends {sent} messages {when}; these would leak into the next sample"
                )

    def _recorded(self, sums: Sums) -> RecordedChanges:
        changes: list[list[NDArray[Any]]] = [[], []]
        states = []
        for number, (layer, records) in enumerate(zip(self._network.layers, self._records, strict=True), start=1):
            start, factor = self.window.opens(number) - 1 + self.window.latency, self._factors[layer.name]
            parts = [unpacked(_ordered(r[start : start + self.window.steps].copy()), layer.shape, factor) for r in records]
            changes[0].append(parts[0])
            changes[1].append(parts[1] if len(parts) == 2 else np.zeros_like(parts[0]))
            states.append(unpacked(_ordered(sums[number]), layer.shape, factor))
        readout = sums[len(self._network.layers) + 1].astype(np.int32)
        return RecordedChanges(lower=changes[0], upper=changes[1], states=states, readout=readout)


def _write(neuron: SigmaDelta, *, sigma: Any) -> None:
    """Set a neuron's sum, and clear its record of what it has sent."""
    for variable, value in ((neuron.sigma, sigma), (neuron.act, 0), (neuron.residue, 0)):
        variable.set(np.broadcast_to(np.asarray(value, dtype=np.int32), variable.shape).copy())


def _read_sums(number: int, neuron: SigmaDelta) -> Action:
    return lambda found: found.update({number: np.asarray(neuron.sigma.get()).astype(np.int64)})


def _wake(neurons: list[SigmaDelta], drive: NDArray[np.int64], ones: list[int]) -> Action:
    def wake(found: Sums) -> None:
        for neuron, one in zip(neurons, ones, strict=True):
            _write(neuron, sigma=drive - one)

    return wake


def _ordered(values: NDArray[Any]) -> NDArray[Any]:
    return from_stock_order(values) if values.ndim >= 3 else values
