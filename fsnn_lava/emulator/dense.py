"""The dense run, for networks that fire so often that listing spikes does not pay: a batch at a time, products by torch, the same bits.

Sums of products are exact in float32 while they stay below 2**24, whatever their order; where they could leave that range there is no
dense run. Neurons are updated by the functions of the event-driven run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nnf
from numpy.typing import NDArray

from fsnn_lava.chip.limits import STATE_FRACTION_BITS
from fsnn_lava.chip.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse
from fsnn_lava.compiled import over_samples
from fsnn_lava.emulator.dense_kernels import begin_samples, end_samples, readout_samples, step_samples
from fsnn_lava.emulator.events import Outputs
from fsnn_lava.emulator.geometry import WIDEST, patches
from fsnn_lava.emulator.program import Layout, largest_sum

EXACT = 2**24  # float32 holds every integer below
AT_ONCE = 2**18  # neurons of all samples at a time: what they need stays in the cache
LEAST = 64  # samples at a time


class DenseRun:
    """A network ready for the dense run; make one only if `is_exact(chip)`."""

    def __init__(self, chip: ChipNetwork, layout: Layout) -> None:
        self.chip, self.layout = chip, layout
        self.synapses = [s for layer in chip.layers for s in chip.into(layer) if s.source != INPUT or chip.input.kind == "events"]
        self.weights = {id(s): _weight(s) for s in self.synapses}
        self.readout = torch.from_numpy(chip.readout.weight.astype(np.float32))
        self.products_per_step = sum(_products(chip, s) for s in self.synapses)

    def event_seconds(self, counts: NDArray[np.int32], messages: NDArray[np.uint8], steps: int) -> float:
        """About how long one core takes for the weights that the event-driven run touches in one step of one sample."""
        total = 0.0
        for synapse in self.synapses:
            if synapse.source == INPUT:
                share = float(np.count_nonzero(messages)) / messages.size
            else:
                at, size = self.layout.offsets[self.chip.index(synapse.source)], self.chip.layer(synapse.source).size
                share = float(counts[:, at : at + size].mean()) / steps
            total += share * _products(self.chip, synapse) / _events_per_second(synapse)
        return total

    @torch.no_grad()
    def run(self, first: int, end: int, steps: int, drive: NDArray[np.int32], messages: NDArray[np.uint8], out: Outputs) -> None:
        """Fill the rows first … end - 1 of `out`, as `run_samples` does."""
        number = max(LEAST, AT_ONCE // len(self.layout.program.bias))
        for start in range(first, end, number):
            rows = slice(start, min(start + number, end))
            self._run(steps, drive[rows], messages[rows], Outputs(*(array[rows] for array in out)))

    def _run(self, steps: int, drive: NDArray[np.int32], messages: NDArray[np.uint8], out: Outputs) -> None:
        program, chip = self.layout.program, self.chip
        samples, neurons = len(messages), len(program.bias)
        dtype = np.int64 if self.layout.wide else np.int32
        u, constant = np.zeros((samples, neurons), dtype), np.empty((samples, neurons), dtype)
        flags, mask = np.zeros((samples, neurons), np.uint8), np.zeros((samples, neurons), np.uint8)
        trace, late_trace = np.zeros(out.traces.shape), np.zeros(out.late_traces.shape)
        counts, late = np.zeros((samples, neurons), np.int32), np.zeros(out.late.shape, np.int32)
        static = np.zeros(samples, np.int64)
        state = (u, constant, flags, mask, trace, late_trace, counts, late, static)
        over_samples(lambda a, b: begin_samples(a, b, program, drive, messages, state), samples)
        fired: list[list[torch.Tensor]] = [[] for _ in chip.layers]  # spikes of the last steps, the newest last
        for tau in range(steps):
            for number, layer in enumerate(chip.layers):
                sums, bits = [], []
                for synapse in chip.into(layer):
                    if synapse.source == INPUT and chip.input.kind != "events":
                        continue
                    spikes = self._arriving(synapse, fired, messages, tau)
                    if spikes is not None:
                        sums.append(_flat(self._product(synapse, spikes)))
                        bits.append(STATE_FRACTION_BITS + synapse.exponent)
                stacked = sums[0][None] if len(sums) == 1 else np.stack(sums) if sums else np.zeros((0, samples, 0), np.float32)
                shifts = np.array(bits, dtype=np.int64)
                train = out.trains[:, tau] if out.trains.shape[1] else out.trains.reshape(samples, 0)
                spikes_out = np.empty((samples, layer.size), np.float32)
                args = (number, tau, steps, program, stacked, shifts, state, out.clip_count, train, spikes_out)
                over_samples(lambda a, b, args=args: step_samples(a, b, *args), samples, even=True)  # type: ignore[misc]
                fired[number] = [*fired[number], _grid(spikes_out, layer.shape)][-program.slots :]
            total = _flat(nnf.linear(fired[-1][-1].reshape(samples, -1), self.readout))
            readout_samples(0, samples, program, total, out.readout, out.clip_count)
        over_samples(lambda a, b: end_samples(a, b, program, state, out), samples)
        out.operations[:, 0] += self._operations(out, messages, steps, static)

    def _arriving(self, synapse: Synapse, fired: list[list[torch.Tensor]], messages: NDArray[np.uint8], tau: int) -> torch.Tensor | None:
        if synapse.source == INPUT:
            return _grid(messages[:, tau].astype(np.float32), self.chip.input.shape)
        delay, source = self.chip.delay(synapse), self.chip.index(synapse.source)
        if tau < delay:
            return None
        return fired[source][-1] if self.chip.is_forward(synapse) else fired[source][-delay]  # the source fires after its feedback arrived

    def _product(self, synapse: Synapse, spikes: torch.Tensor) -> torch.Tensor:
        weight = self.weights[id(synapse)]
        if isinstance(synapse, ConvSynapse):
            return nnf.conv2d(spikes, weight, stride=synapse.stride, padding=synapse.padding, groups=synapse.groups)
        if isinstance(synapse, TransposedConvSynapse):
            options: dict[str, Any] = {"stride": synapse.stride, "padding": synapse.padding, "output_padding": synapse.output_padding}
            return nnf.conv_transpose2d(spikes, weight, **options)
        return nnf.linear(spikes.reshape(len(spikes), -1), weight)

    def _operations(self, out: Outputs, messages: NDArray[np.uint8], steps: int, static: NDArray[np.int64]) -> NDArray[np.int64]:
        """[B] weights touched: by the static input at every step, by spikes that arrived, by the last layer's in the readout."""
        chip, offsets = self.chip, self.layout.offsets
        total = steps * static
        for synapse in self.synapses:
            shape = chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape
            touched = patches(synapse, shape, chip.layer(synapse.target).shape).touched
            if synapse.source == INPUT:
                arrived = (messages != 0).sum(axis=1).reshape(len(messages), *_last(shape))
                total += (arrived * _per_neuron(touched, _last(shape))).reshape(len(messages), -1).sum(axis=1)
                continue
            at, size = offsets[chip.index(synapse.source)], math.prod(shape)
            arrived = out.counts[:, at : at + size].astype(np.int64)
            if not chip.is_forward(synapse):
                late_at = self.layout.late_offsets[next(i for i, s in enumerate(chip.feedback) if s is synapse)]
                arrived = arrived - out.late[:, late_at : late_at + size]
            per_neuron = np.moveaxis(_per_neuron(touched, _last(shape)), -1, 0) if len(shape) == 3 else _per_neuron(touched, _last(shape))
            total += (arrived * per_neuron.reshape(-1)).sum(axis=1)
        last = chip.layers[-1]
        return total + chip.readout.classes * out.counts[:, offsets[-1] : offsets[-1] + last.size].sum(axis=1, dtype=np.int64)


def is_exact(chip: ChipNetwork) -> bool:
    """Does every sum of products fit float32?"""
    sums = [largest_sum(s) for s in chip.synapses if s.source != INPUT or chip.input.kind == "events"]
    readout = int(np.abs(chip.readout.weight.astype(np.int64)).sum(axis=1).max())
    return max([readout, *sums]) < EXACT


def _products(chip: ChipNetwork, synapse: Synapse) -> int:
    """Multiplications of one step, done densely."""
    target, source = chip.layer(synapse.target), synapse.source
    shape = chip.input.shape if source == INPUT else chip.layer(source).shape
    if isinstance(synapse, DenseSynapse):
        return synapse.weight.size
    positions = math.prod(shape[1:]) if isinstance(synapse, TransposedConvSynapse) else math.prod(target.shape[1:])
    return positions * synapse.weight.size


def _events_per_second(synapse: Synapse) -> float:
    """Weights that one core adds event by event, measured: fewer where the weights of a message are few, or far apart."""
    if isinstance(synapse, DenseSynapse):
        return 15e9
    block = min(synapse.weight.shape[_target_axis(synapse)], WIDEST)
    return 36e9 * block / (block + 16)


def _weight(synapse: Synapse) -> torch.Tensor:
    weight = torch.from_numpy(synapse.weight.astype(np.float32))
    return weight.contiguous(memory_format=torch.channels_last) if weight.ndim == 4 else weight


def _target_axis(synapse: Synapse) -> int:
    return 1 if isinstance(synapse, TransposedConvSynapse) else 0


def _last(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (*shape[1:], shape[0]) if len(shape) == 3 else shape


def _per_neuron(touched: NDArray[np.int64], last: tuple[int, ...]) -> NDArray[np.int64]:
    """[H, W, C] (or [N]) from [H, W], or from [1, 1] of a dense synapse."""
    return np.broadcast_to(touched[:, :, None] if len(last) == 3 else touched[0], last)


def _grid(flat: NDArray[np.float32], shape: tuple[int, ...]) -> torch.Tensor:
    """[B, H * W * C] as torch's [B, C, H, W], the memory left as it is."""
    tensor = torch.from_numpy(flat)
    return tensor.reshape(len(flat), *_last(shape)).permute(0, 3, 1, 2) if len(shape) == 3 else tensor.reshape(len(flat), *shape)


def _flat(current: torch.Tensor) -> NDArray[np.float32]:
    """[B, C, H, W] as [B, H * W * C]."""
    last = current.permute(0, 2, 3, 1) if current.ndim == 4 else current
    return last.contiguous().reshape(len(current), -1).numpy()
