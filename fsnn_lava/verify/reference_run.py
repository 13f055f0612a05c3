"""A second implementation of E9, written as plainly as NumPy allows, to check the emulator.

It shares no arithmetic with the backends. It is slow, so only a few samples of a run are computed with it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import INPUT, ChipNetwork, Layer, Synapse
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


def run_reference(chip: ChipNetwork, values: NDArray[np.uint8], *, steps: int, stock: bool = False) -> Result:
    """Run the reference on every sample step by step: each layer in its own time, feedback `delay` steps late.

    `stock`: layers that leak and subtract are Lava's ATRLIF neurons, which round v and r separately.
    """
    samples, layers = len(values), chip.layers
    neurons = [
        _Atrlif(layer, samples) if stock and layer.decay and layer.reset == "subtract" else _Neuron(layer, samples) for layer in layers
    ]
    spikes = [np.zeros((samples, steps, *layer.shape), np.int64) for layer in layers]
    constant = [_constant_current(chip, layer, values) for layer in layers]
    readout, clips = np.zeros((samples, chip.readout.classes), np.int64), np.zeros((samples, len(layers) + 1), np.int64)
    for step in range(steps + len(layers)):  # the chip's time, counted from 0: layer l is active from step l on
        for index, layer in enumerate(layers):
            own = step - index
            if not 0 <= own < steps:
                continue
            current = (layer.bias.astype(np.int64) << 6) + constant[index]
            for synapse in chip.into(layer):
                if synapse.source != INPUT or chip.input.kind == "events":
                    current = current + _arriving(chip, synapse, values, spikes, own)
            spikes[index][:, own], clipped = neurons[index].step(np.broadcast_to(current, (samples, *layer.shape)))
            clips[:, index] += clipped.reshape(samples, -1).sum(axis=1)
        own = step - len(layers)
        if 0 <= own < steps:
            charge = reference_shift(reference_sum(chip.readout, spikes[-1][:, own]), 6 + chip.readout.exponent) + (
                chip.readout.bias.astype(np.int64) << 6
            )
            readout = _towards_zero(readout, chip.readout.decay) + charge
            clips[:, -1] += (np.abs(readout) > TOP).sum(axis=1)
            readout = np.clip(readout, -TOP, TOP)
    inputs = (values != 0).sum(axis=1) if chip.input.kind == "events" else (values != 0) * steps
    return _as_result(chip, steps, spikes, neurons, readout, clips, reference_operations(chip, spikes, inputs))


class _Neuron:
    """Potential, spike and reset of one layer (E9)."""

    def __init__(self, layer: Layer, samples: int) -> None:
        self.layer = layer
        self.theta = layer.per_neuron(layer.threshold).astype(np.int64) << 6
        self.u = np.zeros((samples, *layer.shape), np.int64)
        self.flags = np.zeros(self.u.shape, np.int64)

    def step(self, current: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        """Advance one step; return the spikes, and which neurons were clipped."""
        charged, clipped = self._clip(_towards_zero(self.u, self.layer.decay) + current)
        fires = charged > self.theta if self.layer.strict else charged >= self.theta
        self.u = np.where(fires, charged - self.theta if self.layer.reset == "subtract" else 0, charged)
        return fires.astype(np.int64), clipped

    def _clip(self, charged: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        low, high = charged < -TOP, charged > TOP
        self.flags |= low + 2 * high
        return np.clip(charged, -TOP, TOP), low | high


class _Atrlif(_Neuron):
    """Lava's adaptive-threshold neuron, set up to subtract: v and r leak and are rounded separately; u = v - r + offset."""

    def __init__(self, layer: Layer, samples: int) -> None:
        super().__init__(layer, samples)
        self.offset = self.theta // 2 + layer.strict
        self.v, self.r = np.zeros_like(self.u), np.broadcast_to(self.offset, self.u.shape).copy()

    def step(self, current: Ints) -> tuple[Ints, NDArray[np.bool_]]:
        decay = self.layer.decay
        balanced = current - (decay * self.offset + 2048) // 4096  # cancels the leak of the offset
        self.v, clipped = self._clip(_towards_zero(self.v, decay) + balanced)
        left = _towards_zero(self.r, decay)
        fires = self.v - left >= self.theta - self.offset + self.layer.strict
        self.r = left + self.theta * fires
        self.u = self.v - self.r + self.offset
        return fires.astype(np.int64), clipped


def _arriving(chip: ChipNetwork, synapse: Synapse, values: NDArray[np.uint8], spikes: list[Ints], own: int) -> Ints | int:
    """Return what a synapse delivers in step `own` of its target's own time, counted from 0, units 2**-6."""
    if synapse.source == INPUT:
        messages: NDArray[Any] = values[:, own]
    else:
        sent = own - chip.delay(synapse)
        if sent < 0:
            return 0
        messages = spikes[chip.index(synapse.source)][:, sent]
    return reference_shift(reference_sum(synapse, messages), 6 + synapse.exponent)


def _constant_current(chip: ChipNetwork, layer: Layer, values: NDArray[np.uint8]) -> Ints | int:
    """Return what a static input adds to a layer at every step, without its bias, units 2**-6."""
    total: Ints | int = reference_host_current(chip, values) if chip.host_drive is not None and layer is chip.layers[0] else 0
    for synapse in chip.into(layer):
        if synapse.source == INPUT and chip.input.kind != "events":
            total = total + reference_shift(reference_sum(synapse, values), 6 + synapse.exponent)
    return total


def _towards_zero(u: Ints, decay: int) -> Ints:
    return np.sign(u) * (np.abs(u) * (4096 - decay) // 4096)


def _as_result(
    chip: ChipNetwork, steps: int, spikes: list[Ints], neurons: list[_Neuron], readout: Ints, clips: Ints, operations: Ints
) -> Result:
    late = [spikes[chip.index(s.source)][:, max(0, steps - chip.delay(s)) :] for s in chip.feedback]
    return Result(
        backend="reference",
        steps=steps,
        digest=chip.digest(),
        weight_sum=chip.weight_sum(steps),
        readout_scale=float(chip.readout.scale),
        counts=tuple(train.sum(axis=1).astype(np.int32) for train in spikes),
        traces=tuple(_trace(train, chip.leak) for train in spikes),
        late=tuple(train.sum(axis=1).astype(np.int32) for train in late),
        late_traces=tuple(_trace(train, chip.leak) for train in late),
        potentials=tuple(neuron.u.astype(np.int32) for neuron in neurons),
        readout=readout.astype(np.int32),
        clipped=tuple(neuron.flags.astype(np.uint8) for neuron in neurons),
        clip_count=clips,
        operations=operations,
        updates=reference_updates(chip, len(readout), steps),
        spikes=tuple(train.astype(np.uint8) for train in spikes),
    )


def _trace(train: Ints, leak: float) -> NDArray[np.float64]:
    weights = leak ** np.arange(train.shape[1] - 1, -1, -1, dtype=np.float64)
    return np.tensordot(train.astype(np.float64), weights, axes=(1, 0))
