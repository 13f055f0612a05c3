"""The event-driven simulation of a float network, spike by spike (E1, E2), in float32 on the CPU.

Its work grows with the number of spikes. The choice is made for each batch: its first samples are run, and if their spikes need too many
of all products, the other samples are run with dense products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from fsnn_lava.compiled.float_run import run_samples
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.nn.dense_simulation import simulate_densely
from fsnn_lava.nn.dynamics import Dynamics, Wire
from fsnn_lava.nn.event_layout import event_layout
from fsnn_lava.nn.operators import Shape
from fsnn_lava.nn.trace import Trace

DENSE_FROM = 0.5  # activity above which dense products are faster, measured for layers of 64 to 384 channels
SAMPLES_PER_PROBE = 64  # one in this many samples is run before the choice is made, but at least as many as the layout says
SEQUENCES_AT_ONCE = 16  # an input sequence's drive takes T times the memory of an image's
WORTH_A_CALL = 2**17  # neurons times steps, about half a millisecond


@torch.no_grad()
def simulate_by_events(dynamics: Dynamics, steps: int, *, returned: bool = False) -> Trace:
    """Simulate `steps` steps from rest. With `returned`, the trace holds W a if a single layer with a constant drive ran event by event."""
    samples = dynamics.samples
    part = SEQUENCES_AT_ONCE if dynamics.sequence else samples
    if part >= samples:
        return _simulate_part(dynamics, steps, returned)
    slices = [slice(first, first + part) for first in range(0, samples, part)]
    return Trace.joined([_simulate_part(dynamics.part(rows), steps, returned) for rows in slices])


def _simulate_part(dynamics: Dynamics, steps: int, returned: bool) -> Trace:
    run = EventRun(dynamics, steps, returned=returned)
    probe = min(dynamics.samples, max(run.layout.least_probe, dynamics.samples // SAMPLES_PER_PROBE))
    run.simulate(0, probe)
    if probe == dynamics.samples or run.activity(probe) < DENSE_FROM:
        run.simulate(probe, dynamics.samples)
        return run.trace(dynamics.samples)
    rest = simulate_densely(dynamics.part(slice(probe, None)), steps)
    return Trace.joined([run.trace(probe), rest])


class EventRun:
    """One batch, as the arrays that the compiled run takes. Samples are independent, so any range of them can be run."""

    def __init__(self, dynamics: Dynamics, steps: int, *, returned: bool) -> None:
        self.layout, self.neuron, self.steps = event_layout(dynamics), dynamics.neuron, steps
        layout, samples, like = self.layout, dynamics.samples, dynamics.values
        self.vths = np.array(dynamics.vths, dtype=np.float32)
        self.weight = self._weights(dynamics.wires, like=like)
        self.mask = self._masks(dynamics.wires, like=like)
        self.constant = self._constants(dynamics.wires, like=like)
        self.drive = self._drives(dynamics, steps)
        total, leaks = layout.offsets[-1], self.neuron.leak != 1.0
        self.sums, self.potentials = like.new_empty(samples, total), like.new_empty(samples, total)
        self.counts = like.new_empty(samples, total if leaks else 0)  # without a leak the sums are the counts
        ring = returned and len(layout.shapes) == len(dynamics.wires) == 1 and not dynamics.sequence
        self.returned = like.new_empty(samples, total if ring else 0)
        self.spikes = np.empty((samples, len(layout.shapes)), dtype=np.int64)

    def _weights(self, wires: Sequence[Wire], *, like: Tensor) -> Tensor:
        """Return the weights of all wires in the order of use, flattened."""
        numbers = [connection.stored_weights for connection in self.layout.connections]
        out = like.new_empty(sum(numbers))
        for connection, wire, own in zip(self.layout.connections, wires, out.split(numbers), strict=True):
            connection.write_ordered(wire.current.weight, own)
        return out

    def _masks(self, wires: Sequence[Wire], *, like: Tensor) -> Tensor:
        """Return the dropout masks, [B, targets of all wires], or [B, 0] if there is no dropout."""
        samples = len(like)
        masks = [wire.current.mask for wire in wires]
        if all(mask is None for mask in masks):
            return like.new_zeros(samples, 0)
        sizes = [self.layout.sizes[wire.target] for wire in wires]
        flat = [_channels_last(m) if m is not None else like.new_ones(samples, n) for m, n in zip(masks, sizes, strict=True)]
        return _concatenated(flat, 1).contiguous()

    def _constants(self, wires: Sequence[Wire], *, like: Tensor) -> Tensor:
        """Return the masked biases of all wires, [B, neurons], or [1, neurons] if there is no dropout."""
        layout, masked = self.layout, self.mask.shape[1] > 0
        out = like.new_zeros(len(like) if masked else 1, layout.offsets[-1])
        for i, wire in enumerate(wires):
            if wire.current.bias is not None:
                offset, size, at = layout.offsets[wire.target], layout.sizes[wire.target], layout.masks[i]
                bias = _per_neuron(wire.current.bias, layout.shapes[wire.target])
                out[:, offset : offset + size] += self.mask[:, at : at + size] * bias if masked else bias
        return out

    def _drives(self, dynamics: Dynamics, steps: int) -> Tensor:
        """Return each drive plus the constants of the other connections into its layer, [B, T or 1, neurons of all layers with a drive]."""
        layout, samples, parts = self.layout, dynamics.samples, []
        for drive, shape, offset, size in zip(dynamics.drives, layout.shapes, layout.offsets, layout.sizes, strict=False):
            if drive is not None:
                flat = _channels_last(drive.over(steps).reshape(-1, *shape)).view(samples, -1, size)
                constant = self.constant[:, None, offset : offset + size]
                parts.append(flat + constant if bool(constant.any()) else flat)
        return _concatenated(parts, 2).contiguous()

    def simulate(self, first: int, end: int) -> None:
        """Run samples first … end - 1."""
        layout = self.layout
        weight, constant, drive, mask = (part.numpy() for part in (self.weight, self.constant, self.drive, self.mask))
        sums, counts, potentials, returned = (part.numpy() for part in (self.sums, self.counts, self.potentials, self.returned))
        leak = sums.dtype.type(self.neuron.leak)

        def run(begin: int, stop: int) -> None:
            run_samples(
                first + begin, first + stop, layout.in_blocks, layout.layers, layout.wires, layout.tables, weight, constant, drive, mask,
                self.steps, layout.delay, layout.together, leak, self.vths, sums, counts, potentials, returned, self.spikes,
            )  # fmt: skip

        least = max(WORTH_A_CALL // (self.steps * layout.offsets[-1]), layout.together)
        over_samples(run, end - first, number=torch.get_num_threads(), least=least)

    def activity(self, samples: int) -> float:
        """Return the share of all products that the spikes of the first samples needed."""
        spikes = self.spikes[:samples].sum(0)
        return self.layout.activity([int(n) / (samples * size * self.steps) for n, size in zip(spikes, self.layout.sizes, strict=True)])

    def trace(self, samples: int) -> Trace:
        """Return the trace of the first samples."""
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
    """Concatenate as torch.cat does, but do not copy if there is only one part."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), axis)


def _channels_last(values: Tensor) -> Tensor:
    """Return [B, C, H, W] as [B, H * W * C], and [B, N] unchanged."""
    return values.permute(0, 2, 3, 1).reshape(len(values), -1) if values.dim() == 4 else values


def _channels_first(flat: Tensor, shape: Shape) -> Tensor:
    """Return [B, H * W * C] as [B, C, H, W], channels last in memory."""
    if len(shape) == 1:
        return flat
    channels, height, width = shape
    return flat.unflatten(1, (height, width, channels)).permute(0, 3, 1, 2)


def _per_neuron(bias: Tensor, shape: Shape) -> Tensor:
    """Return one bias per neuron, channels last, given one per channel or per neuron."""
    if len(shape) == 1:
        return bias
    whole = bias.view(-1, 1, 1).expand(shape) if bias.dim() == 1 else bias
    return whole.permute(1, 2, 0).reshape(-1)
