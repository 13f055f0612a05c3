"""The float simulation of training (E1, E2), event by event: the emulator's scatter in float32.

Nothing of a step is written to memory that all samples share, so that a sample's potentials stay in the processor's cache. Where all
synapses are dense, potentials are few and weights many: then samples take their steps together, and it is the weights that stay.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as nnf
from torch import Tensor

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.integer_run import NO, list_spikes
from fsnn_lava.compiled.patches import WIDEST, meeting, spread
from fsnn_lava.compiled.row_sums import BLOCK, add_blocks
from fsnn_lava.compiled.scatter import BUSY, FORM, scatter, scatter_by_taps
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.notation import Architecture, LayerSpec

Shape = tuple[int, ...]
ONE = np.array([[0, 0, 1]], dtype=np.int32)

# columns of the table of layers: the layer's neurons, and the one synapse from the layers before it (or around the loop)
OFFSET, SIZE, SOURCE, DELAY, WEIGHT, WEIGHT_END, ROWS, ROWS_END, COLUMNS, COLUMNS_END, FORM_START = range(11)
NO_SYNAPSE = -1
WORTH_A_CALL = 2**17  # neurons times steps, about half a millisecond
TOGETHER = 64  # samples that take their steps together where all synapses are dense


@dataclass(frozen=True, kw_only=True)
class Link:
    """A synapse without its weights: what joins two layers, by shape. Kinds: dense, conv, transposed."""

    kind: str
    source: Shape
    target: Shape
    kernel: int = 1
    stride: int = 1
    padding: int = 0


class Run(NamedTuple):
    """What a run leaves behind, one [B, *shape] tensor per layer, channels last in memory."""

    sums: tuple[Tensor, ...]  # of spikes, weighted as E3 says
    counts: tuple[Tensor, ...]
    potentials: tuple[Tensor, ...]
    returned: Tensor | None  # masked W times the rates, of a single layer with a constant drive
    rates: Sequence[float]  # mean spikes per neuron and step of each layer


class _Laid:
    """A link's tables, and how its weight is put into the order in which a spike meets it."""

    def __init__(self, link: Link, *, in_blocks: bool = False) -> None:
        self.link, self.in_blocks = link, in_blocks
        if link.kind == "dense":
            self.rows = self.columns = ONE
            width, taps = 1, (1, 1)
        elif link.kind == "conv":
            (self.row_order, self.rows), (self.column_order, self.columns) = (
                meeting(link.source[i], link.target[i], link.kernel, link.stride, link.padding) for i in (1, 2)
            )
            width, taps = link.target[2], (link.kernel, link.kernel)
        else:
            self.rows, self.columns = (spread(link.source[i], link.target[i], link.kernel, link.stride, link.padding) for i in (1, 2))
            width, taps = link.target[2], (link.kernel, link.kernel)
        channels = int(np.prod(link.source)) if link.kind == "dense" else link.source[0]
        whole_rows = link.kind == "dense"  # `fused`: a spike's weights lie side by side, however many
        self.form = np.array([channels, len(self.columns), *taps, width, link.target[0], 1, whole_rows], dtype=np.int64)

    @property
    def products(self) -> int:
        """Weights that are touched in a step in which every source fires."""
        return int(self.rows[:, 2].sum()) * int(self.columns[:, 2].sum()) * int(self.form[0]) * int(self.form[5])

    def ordered(self, weight: Tensor) -> Tensor:
        """weight in blocks of target channels, each [row taps, column taps, source, block], flattened; dense: [source, target].

        `in_blocks`: as `add_blocks` wants it.
        """
        by_tap = self._by_tap(weight)
        if self.in_blocks:
            filled = nnf.pad(by_tap[0, 0], (0, -by_tap.shape[-1] % BLOCK)) if by_tap.shape[-1] % BLOCK else by_tap[0, 0]
            return filled.unflatten(1, (-1, BLOCK)).transpose(0, 1).reshape(-1)
        if self.link.kind == "dense":
            return by_tap.reshape(-1)
        return torch.cat([by_tap[..., k : k + WIDEST].reshape(-1) for k in range(0, by_tap.shape[-1], WIDEST)])

    def _by_tap(self, weight: Tensor) -> Tensor:
        """[row taps, column taps, source, target channels]."""
        if self.link.kind == "dense":
            by_source = weight.t()
            if len(self.link.source) == 3:  # the spikes of the layer before are numbered channels last
                by_source = by_source.reshape(*self.link.source, -1).permute(1, 2, 0, 3).flatten(0, 2)
            return by_source[None, None]
        if self.link.kind == "conv":
            return weight.permute(2, 3, 1, 0)[self.row_order][:, self.column_order]
        return weight.permute(2, 3, 0, 1)


class EventSimulation:
    """A chain of layers with at most one loop, laid out once for its shapes; weights come with every run."""

    def __init__(self, shapes: Sequence[Shape], links: Sequence[Link], loop: Link | None, *, delay: int) -> None:
        self.shapes = tuple(shapes)
        self.sizes = [int(np.prod(shape)) for shape in shapes]
        self.offsets = [int(n) for n in np.cumsum([0, *self.sizes])]
        self.delay = delay
        dense = all(link.kind == "dense" for link in (*links, *([loop] if loop else [])))
        self.together = TOGETHER if dense else 1
        self.laid = [None if link is None else _Laid(link, in_blocks=dense) for link in (loop, *links)]
        pieces = [table for laid in self.laid if laid for table in (laid.rows, laid.columns)]
        self.tables = np.concatenate(pieces) if pieces else ONE
        self.layers = np.zeros((len(shapes), FORM_START + len(FORM)), dtype=np.int64)
        self.products = [0 if laid is None else laid.products for laid in (*self.laid[1:], self.laid[0])]  # by source
        self._fill()

    def _fill(self) -> None:
        rows = weights = 0
        for i, laid in enumerate(self.laid):
            self.layers[i, :FORM_START] = (self.offsets[i], self.sizes[i], NO_SYNAPSE, 0, 0, 0, 0, 0, 0, 0)
            if laid is None:
                continue
            source = len(self.sizes) - 1 if i == 0 else i - 1
            targets = -(-laid.form[5] // BLOCK) * BLOCK if laid.in_blocks else laid.form[5]
            size = int(np.prod(laid.form[[0, 2, 3]]) * targets)
            columns, end = rows + len(laid.rows), rows + len(laid.rows) + len(laid.columns)
            self.layers[i, SOURCE:FORM_START] = (
                source,
                self.delay if i == 0 else 0,
                weights,
                weights + size,
                rows,
                columns,
                columns,
                end,
            )
            self.layers[i, FORM_START:] = laid.form
            rows, weights = end, weights + size

    def run(
        self,
        drive: Tensor,
        biases: Sequence[Tensor],
        weights: Sequence[Tensor | None],
        masks: Sequence[Tensor | None],
        *,
        steps: int,
        leak: float,
        vth: float,
        returned: bool = False,
    ) -> Run:
        """`steps` steps from rest.

        drive [B, *first shape], or [B, T, …] that changes with the steps, masked already; biases of the further layers, per
        neuron or channel; weights of each layer's synapse (the loop's first); masks [B, *shape] on the synapse's current, and on
        the bias of the further layers. `returned`: W a is wanted, if this is a single layer with a constant drive.
        """
        batch = len(drive)
        sequence = drive.dim() == len(self.shapes[0]) + 2
        ring = returned and len(self.shapes) == 1 and self.laid[0] is not None and not sequence
        first = _last(drive.reshape(-1, *self.shapes[0])).view(batch, -1, self.sizes[0])
        steady = [_spread_bias(bias, shape) for bias, shape in zip(biases, self.shapes[1:], strict=True)]
        bias = torch.cat([drive.new_zeros(self.sizes[0]), *steady]) if steady else drive.new_zeros(self.sizes[0])
        flat = [laid.ordered(w) for laid, w in zip(self.laid, weights, strict=True) if laid is not None and w is not None]
        weight = _joined(flat, 0) if flat else drive.new_zeros(0)
        mask = drive.new_zeros(batch, 0)
        if any(m is not None for m in masks):
            mask = _joined([_last(m) if m is not None else drive.new_ones(batch, n) for m, n in zip(masks, self.sizes, strict=True)], 1)
        total = self.offsets[-1]
        out = [drive.new_empty(batch, total) for _ in range(3 if leak != 1.0 else 2)]
        loop = drive.new_empty(batch, total if ring else 0)
        spikes = np.empty((batch, len(self.sizes)), dtype=np.int64)
        arrays = [part.numpy() for part in out]
        sums, potentials, counts = arrays[0], arrays[1], arrays[-1] if leak != 1.0 else np.zeros((batch, 0), arrays[0].dtype)
        if sequence and first.shape[1] < steps:
            raise BadArgument(f"a drive of {first.shape[1]} frames cannot run {steps} steps")
        kind = arrays[0].dtype.type
        own, steady_current, driven, masked = (part.contiguous().numpy() for part in (weight, bias, first, mask))
        over_samples(
            lambda begin, end: run_samples(
                begin,
                end,
                self.layers,
                self.tables,
                own,
                steady_current,
                driven,
                masked,
                steps,
                self.delay,
                self.together,
                kind(leak),
                kind(vth),
                sums,
                counts,
                potentials,
                loop.numpy(),
                spikes,
            ),
            batch,
            number=torch.get_num_threads(),
            least=max(WORTH_A_CALL // (steps * total), self.together),
        )
        by_layer = [self._per_layer(part) for part in out]
        back = self._per_layer(loop)[0] if ring else None
        rates = [int(n) / (batch * size * steps) for n, size in zip(spikes.sum(0), self.sizes)]
        return Run(by_layer[0], by_layer[2] if leak != 1.0 else by_layer[0], by_layer[1], back, rates)

    def activity(self, rates: Sequence[float]) -> float:
        """The share of all products that neurons ask for which spike so often per step, by layer."""
        return sum(rate * number for rate, number in zip(rates, self.products, strict=True)) / max(sum(self.products), 1)

    def _per_layer(self, flat: Tensor) -> tuple[Tensor, ...]:
        return tuple(_first(flat[:, at : at + n], shape) for at, n, shape in zip(self.offsets, self.sizes, self.shapes))


def of_network(architecture: Architecture, *, delay: int) -> EventSimulation:
    """The simulation of a float network; the weights it runs with have their pooling inside."""
    links = [_link(spec) for spec in architecture.layers[1:]]
    loop = None
    if architecture.feedback is not None:
        spec = architecture.feedback
        loop = Link(
            kind=spec.kind, source=spec.in_shape, target=spec.out_shape, kernel=spec.kernel, stride=spec.stride, padding=spec.padding
        )
    return EventSimulation([spec.out_shape for spec in architecture.layers], links, loop, delay=delay)


def _link(spec: LayerSpec) -> Link:
    if spec.kind == "dense":
        return Link(kind="dense", source=spec.in_shape, target=spec.out_shape)
    kernel = spec.kernel + spec.stride * (spec.pool - 1)
    return Link(
        kind="conv", source=spec.in_shape, target=spec.out_shape, kernel=kernel, stride=spec.stride * spec.pool, padding=spec.padding
    )


def _joined(parts: Sequence[Tensor], axis: int) -> Tensor:
    """What torch.cat does, without a copy of one part alone."""
    return parts[0] if len(parts) == 1 else torch.cat(list(parts), axis)


def _last(values: Tensor) -> Tensor:
    """[B, C, H, W] as [B, H * W * C]; [B, N] unchanged."""
    return values.permute(0, 2, 3, 1).reshape(len(values), -1) if values.dim() == 4 else values


def _first(flat: Tensor, shape: Shape) -> Tensor:
    """[B, H * W * C] as [B, C, H, W], channels last in memory."""
    if len(shape) == 1:
        return flat
    channels, height, width = shape
    return flat.unflatten(1, (height, width, channels)).permute(0, 3, 1, 2)


def _spread_bias(bias: Tensor, shape: Shape) -> Tensor:
    """A bias per channel as one per neuron, channels last."""
    return bias if len(shape) == 1 else bias.expand(shape[1], shape[2], shape[0]).reshape(-1)


@compiled
def step(u: Any, constant: Any, current: Any, leak: Any, vth: Any, spikes: Any, sums: Any) -> None:
    """u <- leak u + constant + current; compare, reset by subtraction, add to the weighted sums. `current` is zero afterwards."""
    zero = vth - vth
    for i in range(len(u)):
        charged = leak * u[i] + constant[i] + current[i]
        current[i] = zero
        spike = charged >= vth
        spikes[i] = spike
        u[i] = charged - (vth if spike else zero)
        sums[i] = leak * sums[i] + spike


@compiled
def step_masked(u: Any, constant: Any, current: Any, mask: Any, leak: Any, vth: Any, spikes: Any, sums: Any) -> None:
    """The same with dropout on the current."""
    zero = vth - vth
    for i in range(len(u)):
        charged = leak * u[i] + constant[i] + mask[i] * current[i]
        current[i] = zero
        spike = charged >= vth
        spikes[i] = spike
        u[i] = charged - (vth if spike else zero)
        sums[i] = leak * sums[i] + spike


@compiled
def run_together(first: int, end: int, in_blocks: Any, layers: Any, tables: Any, weight: Any, bias: Any, drive: Any, mask: Any, steps: int,
                 delay: int, leak: Any, vth: Any, sums: Any, counts: Any, u: Any, returned: Any, spikes_of: Any) -> None:  # fmt: skip
    """Samples first … end - 1 over `steps`; sums, counts (no columns without a leak), u and spikes_of [B, layers] are the outputs.

    `returned`, unless it has no columns, becomes W times the rates of a single layer, by conservation of charge (E10): what u and the
    spikes took beyond the drive is W times the sums of the step before.
    """
    samples, total, largest, slots = end - first, u.shape[1], layers[:, SIZE].max(), delay + 1
    current = np.zeros((samples, (largest + BLOCK - 1) // BLOCK * BLOCK), u.dtype)
    starts = np.empty(largest + 1, np.int32)
    fired = np.zeros((largest + 7) // 8 * 8, np.uint8)
    words = fired.view(np.uint64)
    lists = np.empty((slots, samples, total), np.int32)
    lengths = np.zeros((slots, len(layers), samples), np.int64)
    masked = mask.shape[1] > 0
    constant = mask[first:end] * bias if masked else bias.reshape(1, -1)
    u[first:end], sums[first:end], counts[first:end], spikes_of[first:end] = 0, 0, 0, 0
    for t in range(steps):
        now = t % slots
        for layer in range(len(layers)):
            row = layers[layer]
            offset, size, source = row[OFFSET], row[SIZE], row[SOURCE]
            stop = offset + size
            if source >= 0 and t >= row[DELAY]:
                slot, start = (t - row[DELAY]) % slots, layers[source, OFFSET]
                receive(current, in_blocks, row, tables, weight, lists[slot, :, start:], lengths[slot, source], starts, fired)
            for b in range(samples):
                at = first + b
                steady = drive[at, min(t, drive.shape[1] - 1)] if layer == 0 else constant[b if masked else 0, offset:stop]
                state, spikes, here = u[at, offset:stop], fired[:size], sums[at, offset:stop]
                if masked:
                    step_masked(state, steady, current[b, :size], mask[at, offset:stop], leak, vth, spikes, here)
                else:
                    step(state, steady, current[b, :size], leak, vth, spikes, here)
                found = lists[now, b, offset:stop]
                number = list_spikes(spikes, words[: (size + 7) // 8], found, NO)
                lengths[now, layer, b] = number
                spikes_of[at, layer] += number
                if counts.shape[1] > 0:
                    for i in range(number):
                        counts[at, offset + found[i]] += 1
    if returned.shape[1] > 0:
        last = (steps - 1) % slots
        receive(current, in_blocks, layers[0], tables, weight, lists[last], lengths[last, 0], starts, fired)
        total_weight = 0.0  # of the steps' spikes in the sums
        for _ in range(steps):
            total_weight = leak * total_weight + 1
        for b in range(samples):
            at = first + b
            for i in range(returned.shape[1]):
                newest = mask[at, i] * current[b, i] if masked else current[b, i]
                returned[at, i] = (leak * (u[at, i] + vth * sums[at, i] - total_weight * drive[at, 0, i]) + newest) / total_weight


@compiled
def receive(current: Any, in_blocks: Any, row: Any, tables: Any, weight: Any, lists: Any, lengths: Any, starts: Any, fired: Any) -> None:
    """Add what the spikes lists[b, : lengths[b]] are to the layer of this row to current[b], for each sample b."""
    own = weight[row[WEIGHT] : row[WEIGHT_END]]
    if in_blocks:
        add_blocks(current, own, lists, lengths, row[FORM_START])
        return
    rows, columns = tables[row[ROWS] : row[ROWS_END]], tables[row[COLUMNS] : row[COLUMNS_END]]
    places = len(rows) * len(columns)
    for b in range(len(current)):
        indices = lists[b, : lengths[b]]
        if len(indices) > BUSY * places and places > 1:
            scatter_by_taps(current[b], own, indices, row[FORM_START:], rows, columns, starts[: places + 1])
        else:
            scatter(current[b], own, indices, fired[:0], row[FORM_START:], rows, columns)


@compiled
def run_samples(first: int, end: int, layers: Any, tables: Any, weight: Any, bias: Any, drive: Any, mask: Any, steps: int, delay: int,
                together: int, leak: Any, vth: Any, sums: Any, counts: Any, u: Any, returned: Any, spikes_of: Any) -> None:  # fmt: skip
    """Samples first … end - 1, so many at a time, each on its own: results do not depend on threads or on the batch."""
    for b in range(first, end, together):
        run_together(
            b, min(b + together, end), together > 1, layers, tables, weight, bias, drive, mask, steps, delay, leak, vth, sums, counts, u,
            returned, spikes_of,
        )  # fmt: skip
