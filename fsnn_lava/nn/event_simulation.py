"""The float network in time, spike by spike (E1, E2), in float32 on the CPU.

Its work grows with the number of spikes. Each batch decides for itself: its first samples are run, and if their spikes need too many of
all products, the other samples are run with dense products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fsnn_lava.compiled.float_run import run_samples
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.nn.dense_simulation import simulate_densely
from fsnn_lava.nn.drive import SequenceDrive
from fsnn_lava.nn.dynamics import Dynamics
from fsnn_lava.nn.event_layout import NetworkLayout, network_layout
from fsnn_lava.nn.operators import Shape
from fsnn_lava.nn.trace import Trace

DENSE_FROM = 0.5  # activity from which dense products are faster, measured for layers of 64 to 384 channels
SAMPLES_PER_PROBE = 64  # one of so many samples is run before the choice is made
SEQUENCES_AT_ONCE = 16  # an input sequence's drive takes T times the memory of an image's
WORTH_A_CALL = 2**17  # neurons times steps, about half a millisecond


@torch.no_grad()
def simulate_by_events(dynamics: Dynamics, steps: int, *, returned: bool = False) -> Trace:
    """Run `steps` steps from rest. `returned`: the trace holds W a, if this is a single layer with a constant drive that ran by events."""
    samples = dynamics.samples
    part = SEQUENCES_AT_ONCE if isinstance(dynamics.drive, SequenceDrive) else samples
    if part >= samples:
        return _simulate_part(dynamics, steps, returned)
    slices = [slice(first, first + part) for first in range(0, samples, part)]
    return Trace.joined([_simulate_part(dynamics.part(rows), steps, returned) for rows in slices])


def _simulate_part(dynamics: Dynamics, steps: int, returned: bool) -> Trace:
    run = EventRun(dynamics, steps, returned=returned)
    probe = max(1, dynamics.samples // SAMPLES_PER_PROBE)
    run.simulate(0, probe)
    if probe == dynamics.samples or run.activity(probe) < DENSE_FROM:
        run.simulate(probe, dynamics.samples)
        return run.trace(dynamics.samples)
    rest = simulate_densely(dynamics.part(slice(probe, None)), steps)
    return Trace.joined([run.trace(probe), rest])


def layout_of(dynamics: Dynamics, shape: Shape) -> NetworkLayout:
    """The layout of a network whose first layer has this shape."""
    forward = tuple(current.operator for current in dynamics.forward)
    feedback = None if dynamics.feedback is None else dynamics.feedback.operator
    return network_layout((shape, *(operator.out_shape for operator in forward)), forward, feedback, dynamics.delay)


class EventRun:
    """One batch: arrays as the compiled run takes them. Samples are independent, so any range of them can be run."""

    def __init__(self, dynamics: Dynamics, steps: int, *, returned: bool) -> None:
        drive, incoming = dynamics.drive.over(steps), (dynamics.feedback, *dynamics.forward)
        sequence = isinstance(dynamics.drive, SequenceDrive)
        shape = tuple(drive.shape[2 if sequence else 1 :])
        self.layout, self.neuron, self.steps, self.vth = layout_of(dynamics, shape), dynamics.neuron, steps, dynamics.vth
        layout, samples = self.layout, dynamics.samples
        self.drive = _channels_last(drive.reshape(-1, *shape)).view(samples, -1, layout.sizes[0]).contiguous()
        weights = [
            connection.ordered(current.weight)
            for connection, current in zip(layout.connections, incoming, strict=True)
            if connection is not None and current is not None
        ]
        self.weight = _concatenated(weights, 0).contiguous() if weights else drive.new_zeros(0)
        biases = [_per_neuron(current.bias, size, like=drive) for current, size in zip(dynamics.forward, layout.shapes[1:], strict=True)]
        self.bias = _concatenated([drive.new_zeros(layout.sizes[0]), *biases], 0)
        self.mask = self._masks([None if current is None else current.mask for current in incoming], like=drive)
        total, leaks = layout.offsets[-1], self.neuron.leak != 1.0
        self.sums, self.potentials = drive.new_empty(samples, total), drive.new_empty(samples, total)
        self.counts = drive.new_empty(samples, total if leaks else 0)  # without a leak the sums are the counts
        ring = returned and len(layout.shapes) == 1 and dynamics.feedback is not None and not sequence
        self.returned = drive.new_empty(samples, total if ring else 0)
        self.spikes = np.empty((samples, len(layout.shapes)), dtype=np.int64)

    def _masks(self, masks: Sequence[Tensor | None], *, like: Tensor) -> Tensor:
        """[B, neurons], or [B, 0] where there is no dropout."""
        samples = len(self.drive)
        if all(mask is None for mask in masks):
            return like.new_zeros(samples, 0)
        sizes = self.layout.sizes
        flat = [_channels_last(m) if m is not None else like.new_ones(samples, n) for m, n in zip(masks, sizes, strict=True)]
        return _concatenated(flat, 1).contiguous()

    def simulate(self, first: int, end: int) -> None:
        """Run samples first … end - 1."""
        layout = self.layout
        weight, bias, drive, mask = (part.numpy() for part in (self.weight, self.bias, self.drive, self.mask))
        sums, counts, potentials, returned = (part.numpy() for part in (self.sums, self.counts, self.potentials, self.returned))
        leak, vth = sums.dtype.type(self.neuron.leak), sums.dtype.type(self.vth)

        def run(begin: int, stop: int) -> None:
            run_samples(
                first + begin, first + stop, layout.in_blocks, layout.layers, layout.tables, weight, bias, drive, mask, self.steps,
                layout.delay, layout.together, leak, vth, sums, counts, potentials, returned, self.spikes,
            )  # fmt: skip

        least = max(WORTH_A_CALL // (self.steps * layout.offsets[-1]), layout.together)
        over_samples(run, end - first, number=torch.get_num_threads(), least=least)

    def activity(self, samples: int) -> float:
        """The share of all products that the spikes of the first samples needed."""
        spikes = self.spikes[:samples].sum(0)
        return self.layout.activity([int(n) / (samples * size * self.steps) for n, size in zip(spikes, self.layout.sizes, strict=True)])

    def trace(self, samples: int) -> Trace:
        """The outcome of the first samples."""
        sums, potentials = self._per_layer(self.sums, samples), self._per_layer(self.potentials, samples)
        counts = self._per_layer(self.counts, samples) if self.counts.shape[1] else sums
        total = self.neuron.weight_sum(self.steps)
        rates = tuple(s / total for s in sums)
        returned = self._per_layer(self.returned, samples)[0] if self.returned.shape[1] else None
        return Trace(rates, counts, potentials, returned=returned)

    def _per_layer(self, flat: Tensor, samples: int) -> tuple[Tensor, ...]:
        layout = self.layout
        layers = zip(layout.offsets, layout.sizes, layout.shapes)
        return tuple(_channels_first(flat[:samples, at : at + size], shape) for at, size, shape in layers)


def _concatenated(parts: Sequence[Tensor], axis: int) -> Tensor:
    """torch.cat, without a copy of a single part."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), axis)


def _channels_last(values: Tensor) -> Tensor:
    """[B, C, H, W] as [B, H * W * C]; [B, N] unchanged."""
    return values.permute(0, 2, 3, 1).reshape(len(values), -1) if values.dim() == 4 else values


def _channels_first(flat: Tensor, shape: Shape) -> Tensor:
    """[B, H * W * C] as [B, C, H, W], channels last in memory."""
    if len(shape) == 1:
        return flat
    channels, height, width = shape
    return flat.unflatten(1, (height, width, channels)).permute(0, 3, 1, 2)


def _per_neuron(bias: Tensor | None, shape: Shape, *, like: Tensor) -> Tensor:
    """One bias per neuron, channels last, of one per channel or per neuron."""
    if bias is None:
        return like.new_zeros(shape).flatten()
    if len(shape) == 1:
        return bias
    whole = bias.view(-1, 1, 1).expand(shape) if bias.dim() == 1 else bias
    return whole.permute(1, 2, 0).reshape(-1)
