"""A second implementation of E15, written as plainly as NumPy allows, to check the emulator and Lava's own sigma-delta neurons.

It shares no arithmetic with the backends, but takes the weights of event frames from the network. It is slow, so it computes only a few
samples of a run, except for runs of Lava's own neurons, which nothing else computes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import INPUT, ChipNetwork, DeltaEncoding, Layer
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.reference_arithmetic import (
    TOP,
    Ints,
    reference_host_current,
    reference_operations,
    reference_shift,
    reference_sum,
    reference_updates,
)


class MessageReference:
    """Reference that runs samples step by step: each layer in its own time, feedback `delay` steps late.

    `stock`: each neuron is a pair of Lava's SigmaDelta neurons (ir/stock_delta.py), which drop bits and do not clip their sum, or a single
    one with the activation "relu".
    """

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        if chip.delta is None:
            raise BadArgument("this network uses rate coding; use run_reference")
        self.chip, self.delta, self.stock = chip, chip.delta, stock

    def run(self, values: NDArray[np.uint8], *, steps: int | None = None, spikes: bool = False) -> Result:
        """Return the Result; the changes are stored if `spikes`."""
        chip, steps = self.chip, self.chip.steps if steps is None else steps
        kind = _LavaNeurons if self.stock else _Neuron
        neurons = [kind(layer, band, self.delta, self._drive(layer, values)) for layer, band in zip(chip.layers, self.delta.dead_bands)]
        changes = [np.zeros((len(values), steps, *layer.shape), np.int64) for layer in chip.layers]
        sent = [np.zeros_like(train) for train in changes]  # messages: 0, 1, or 2 for a pair
        for step in range(steps + len(chip.layers)):  # the chip's time, counted from 0: layer l is active from step l on
            for index, layer in enumerate(chip.layers):
                own = step - index
                if 0 <= own < steps:
                    if chip.input.kind == "events":
                        neurons[index].take(self._framed(layer, values, own))
                    changes[index][:, own], sent[index][:, own] = neurons[index].step(self._received(layer, changes, own))
        inputs = (values != 0).sum(axis=1) if chip.input.kind == "events" else values != 0  # a static input is sent once
        found = self._result(steps, changes, sent, neurons, reference_operations(chip, sent, inputs))
        return found if spikes else replace(found, spikes=None)

    def _drive(self, layer: Layer, values: NDArray[np.uint8]) -> Ints:
        """Return D of E15, not clipped: 2**q (2**n w.x + bias), [B, *shape]; 0 for a layer with event input, until its first frame."""
        chip, bits = self.chip, self.delta.rate_bits
        if chip.input.kind == "events" and any(synapse.source == INPUT for synapse in chip.into(layer)):
            return np.zeros((len(values), *layer.shape), np.int64)
        total = np.zeros((len(values), *layer.shape), np.int64) + (layer.bias.astype(np.int64) << bits)
        if chip.host_drive is not None and layer is chip.layers[0]:
            total = total + reference_shift(reference_host_current(chip, values), bits - 6)
        for synapse in chip.into(layer):
            if synapse.source == INPUT:
                total = total + reference_shift(reference_sum(synapse, values), bits + synapse.exponent)
        return total

    def _framed(self, layer: Layer, values: NDArray[np.uint8], own: int) -> Ints | None:
        """Return D after frames 0 … `own` of an event input, weighted, summed and shifted once; None if no events enter the layer."""
        synapses = [synapse for synapse in self.chip.into(layer) if synapse.source == INPUT]
        if not synapses:
            return None
        weights = self.delta.frame_weights(values.shape[1])[: own + 1]
        seen = np.tensordot(weights, values[:, : own + 1].astype(np.int64), axes=(0, 1))
        finest = min(synapse.exponent for synapse in synapses)
        total = sum(reference_shift(reference_sum(synapse, seen), synapse.exponent - finest) for synapse in synapses)
        bits = self.delta.rate_bits
        return (layer.bias.astype(np.int64) << bits) + reference_shift(np.asarray(total), bits + finest - 12)

    def _received(self, layer: Layer, changes: list[Ints], own: int) -> Ints | int:
        """Return what all connections deliver to a layer in step `own` of its own time, counted from 0."""
        total: Ints | int = 0
        for synapse in self.chip.into(layer):
            then = own - self.chip.delay(synapse)
            if synapse.source != INPUT and then >= 0:
                arrived = changes[self.chip.index(synapse.source)][:, then]
                total = total + reference_shift(reference_sum(synapse, arrived), synapse.exponent)
        return total

    def _result(self, steps: int, changes: list[Ints], sent: list[Ints], neurons: list[Any], operations: Ints) -> Result:
        chip = self.chip
        late = [changes[chip.index(s.source)][:, max(0, steps - chip.delay(s)) :].sum(axis=1) for s in chip.feedback]
        told = [train.sum(axis=1) for train in changes]
        readout = reference_shift(reference_sum(chip.readout, told[-1]), chip.readout.exponent)
        readout = readout + (chip.readout.bias.astype(np.int64) << self.delta.rate_bits)
        clips = np.stack([*(neuron.clips for neuron in neurons), (np.abs(readout) > TOP).sum(axis=1)], axis=1)
        messages = np.sum([number.reshape(len(readout), steps, -1).sum(axis=2) for number in sent], axis=0)
        return Result(
            backend="reference",
            steps=steps,
            digest=chip.digest(),
            weight_sum=chip.weight_sum(steps),
            readout_scale=chip.readout_scale,
            counts=tuple(number.sum(axis=1).astype(np.int32) for number in sent),
            traces=tuple(rate.astype(np.float64) for rate in told),
            late=tuple(part.astype(np.int32) for part in late),
            late_traces=tuple(part.astype(np.float64) for part in late),
            potentials=tuple(neuron.sums.astype(np.int32) for neuron in neurons),
            readout=(readout if self.stock else np.clip(readout, -TOP, TOP)).astype(np.int32),
            clipped=tuple(neuron.flags.astype(np.uint8) for neuron in neurons),
            clip_count=clips,
            operations=operations,
            updates=reference_updates(chip, len(readout), steps),
            spikes=tuple(train.astype(np.int16) for train in changes),
            messages=messages.astype(np.int32),
            cycles=self._cycles(changes, messages),
        )

    def _cycles(self, changes: list[Ints], messages: Ints) -> NDArray[np.int32]:
        """Return the shortest period with which all rates repeat over the longest delay plus one step, [B]; 0 without messages in it."""
        samples, steps = messages.shape
        rates = np.concatenate([np.cumsum(train.reshape(samples, steps, -1), axis=1) for train in changes], axis=2)
        window = max((self.chip.delay(synapse) for synapse in self.chip.feedback), default=0) + 1
        found = np.zeros(samples, np.int32)
        for period in range(steps - window, 0, -1):
            same = (rates[:, steps - window :] == rates[:, steps - window - period : steps - period]).all(axis=(1, 2))
            found[same & messages[:, steps - period :].any(axis=1)] = period
        return found


class _Neuron:
    """State of one layer (E15): S, the rate, and the rate last sent."""

    def __init__(self, layer: Layer, band: int, delta: DeltaEncoding, drive: Ints) -> None:
        self.band, self.drive = band, drive
        self.relu, self.one = delta.activation == "relu", 2**delta.rate_bits
        self.threshold = layer.per_neuron(layer.threshold).astype(np.int64)
        self.sums, self.told = np.zeros_like(drive), np.zeros_like(drive)
        self.flags, self.clips = np.zeros_like(drive), np.zeros(len(drive), np.int64)
        self.take(drive)

    def take(self, drive: Ints | None) -> None:
        """Replace the drive; None keeps it."""
        if drive is not None:
            self.drive = self._clip(drive)

    def step(self, received: Ints | int) -> tuple[Ints, Ints]:
        """Advance one step; return the change that each neuron sends, and its number of messages."""
        self.sums = self._clip(self.sums + received)
        rate = np.clip((self.sums + self.drive) // self.threshold, 0, 2**15 - 1 if self.relu else self.one)
        sends = np.abs(rate - self.told) >= self.band
        change = np.where(sends, rate - self.told, 0)
        self.told = self.told + change
        return change, sends.astype(np.int64)

    def _clip(self, values: Ints) -> Ints:
        low, high = values < -TOP, values > TOP
        self.flags |= low + 2 * high
        self.clips += (low | high).reshape(len(values), -1).sum(axis=1)
        return np.clip(values, -TOP, TOP)


class _LavaNeurons(_Neuron):
    """ReLU(z) - ReLU(z - one), or ReLU(z) alone. Each neuron sends the shifted change of its activation; dropped bits are lost."""

    def __init__(self, layer: Layer, band: int, delta: DeltaEncoding, drive: Ints) -> None:
        super().__init__(layer, band, delta, drive)
        self.starts = [0] if self.relu else [0, self.one]  # rates above which a neuron is active
        self.before = [np.zeros_like(drive) for _ in self.starts]

    def take(self, drive: Ints | None) -> None:
        if drive is not None:
            self.drive = drive

    def step(self, received: Ints | int) -> tuple[Ints, Ints]:
        self.sums = self.sums + received
        change, number = np.zeros_like(self.sums), np.zeros_like(self.sums)
        for which, start in enumerate(self.starts):
            activation = np.maximum(self.sums + self.drive - start * self.threshold, 0)
            moved = activation - self.before[which]
            sends = np.abs(moved) >= self.band * self.threshold
            self.before[which] = np.where(sends, activation, self.before[which])
            change += (1 - 2 * which) * np.where(sends, moved // self.threshold, 0)
            number += sends
        outside = (np.abs(self.sums) > TOP) | (np.abs(self.drive) > TOP)
        self.flags = (self.sums > TOP) * 2 | (self.sums < -TOP) * 1 | (self.drive > TOP) * 2 | (self.drive < -TOP) * 1
        self.clips = outside.reshape(len(self.sums), -1).sum(axis=1)
        return change, number
