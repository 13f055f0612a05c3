"""Lay out a ChipNetwork for the emulator's kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.arithmetic import shift
from fsnn_lava.compiled.patches import Patches
from fsnn_lava.compiled.program import FORM_START, FROM_INPUT, LAYER_COLUMNS, STATIC, Program, Sums
from fsnn_lava.compiled.row_vectors import LANES
from fsnn_lava.compiled.scatter import FORM, scatter, scatter_form
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.network import INPUT, ChipNetwork, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.ir.stock_network import runs_as_atrlif, stock_network_bias, stock_network_offset
from fsnn_lava.limits import BIAS_MAX, DECAY_UNIT, INT32_MAX, MESSAGE_MAX, STATE_FRACTION_BITS, STATE_MAX


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """A Program, and the offsets of each layer's results in it."""

    program: Program
    offsets: tuple[int, ...]  # of each layer among the M neurons
    late_offsets: tuple[int, ...]  # of each feedback synapse among the late counts
    late_size: int
    wide: bool  # a sum could exceed 32 bits before it is clipped: compute in 64 bits


def lay_out(chip: ChipNetwork, *, stock: bool = False) -> Layout:
    """Return the emulator's layout of `chip`. With `stock`, layers with a leak and reset by subtraction follow Lava's ATRLIF, not E9."""
    atrlif = [stock and runs_as_atrlif(layer) for layer in chip.layers]
    shapes = {INPUT: chip.input.shape, **{layer.name: layer.shape for layer in chip.layers}}
    synapses = [s for layer in chip.layers for s in chip.into(layer)]
    patches = [compiled_synapse(s, shapes[s.source], shapes[s.target]) for s in synapses]
    offsets = _starts([layer.size for layer in chip.layers])
    late_sizes = [chip.layer(s.source).size for s in chip.feedback]
    late_offsets = _starts(late_sizes)
    wide = max(_largest_readout(chip), *(_largest_state(chip, layer) for layer in chip.layers)) > INT32_MAX
    dtype: type[np.signedinteger[Any]] = np.int64 if wide else np.int32
    full = [_full_current(patch, shapes[s.source], shapes[s.target], dtype) for s, patch in zip(synapses, patches)]
    readout = _readout_rows(chip)
    late = [(chip.index(s.source), chip.delay(s), offset) for s, offset in zip(chip.feedback, late_offsets)]
    program = Program(
        layers=_layer_table(chip, synapses, offsets, atrlif),
        synapses=_synapse_table(chip, synapses, patches, offsets, [operations for _, operations in full]),
        weight=np.concatenate([p.blocks for p in patches] or [np.zeros(0, np.int8)]),
        full_current=np.concatenate([current for current, _ in full] or [np.zeros(0, dtype)]),
        spans=np.concatenate([spans for p in patches for spans in (p.row_spans, p.column_spans)] or [np.zeros((0, 3), np.int32)]),
        threshold=np.concatenate([flatten_to_emulator_layout(layer.per_neuron(layer.threshold)) for layer in chip.layers])
        << STATE_FRACTION_BITS,
        bias=np.concatenate([flatten_to_emulator_layout(_bias(layer, one)) for layer, one in zip(chip.layers, atrlif)]).astype(np.int32),
        atrlif_offset=_atrlif_offsets(chip) if any(atrlif) else np.zeros(0, np.int32),
        order=np.concatenate([_order(layer) for layer in chip.layers]),
        late=np.array(late, dtype=np.int64).reshape(-1, 3),
        readout_weight=readout.reshape(-1),
        readout_full_current=readout.sum(axis=0, dtype=dtype),
        readout_bias=chip.readout.bias << STATE_FRACTION_BITS,
        readout_shift=STATE_FRACTION_BITS + chip.readout.exponent,
        keep=DECAY_UNIT - chip.decay,
        slots=max([chip.delay(s) for s in synapses if s.source != INPUT], default=0) + 1,
        largest_layer=max(layer.size for layer in chip.layers),
    )
    return Layout(program=program, offsets=offsets, late_offsets=late_offsets, late_size=sum(late_sizes), wide=wide)


def flatten_to_emulator_layout(values: NDArray[Any]) -> NDArray[Any]:
    """Flatten [*shape] to the neuron order of the emulator's layout, [H * W * C] (or [N])."""
    return np.ascontiguousarray(values.transpose(1, 2, 0) if values.ndim == 3 else values).reshape(-1)


def _starts(sizes: list[int]) -> tuple[int, ...]:
    """Return where each of several arrays begins when they are concatenated."""
    return tuple(int(n) for n in np.cumsum([0, *sizes])[:-1])


def _order(layer: Layer) -> NDArray[np.int32]:
    """Return, for each neuron in channels-last order, its index in the network's own order, [N]."""
    return flatten_to_emulator_layout(np.arange(layer.size, dtype=np.int32).reshape(layer.shape))


def _bias(layer: Layer, atrlif: bool) -> NDArray[np.int64]:
    bias = layer.bias.astype(np.int64) << STATE_FRACTION_BITS
    return stock_network_bias(layer, bias) if atrlif else bias


def _atrlif_offsets(chip: ChipNetwork) -> NDArray[np.int32]:
    return np.concatenate([flatten_to_emulator_layout(stock_network_offset(layer)) for layer in chip.layers]).astype(np.int32)


def _layer_table(chip: ChipNetwork, synapses: list[Synapse], offsets: tuple[int, ...], atrlif: list[bool]) -> NDArray[np.int64]:
    table = np.zeros((len(chip.layers), LAYER_COLUMNS), dtype=np.int64)
    for i, layer in enumerate(chip.layers):
        incoming = [n for n, s in enumerate(synapses) if s.target == layer.name]
        first = incoming[0] if incoming else 0
        table[i] = (offsets[i], layer.size, layer.strict, layer.reset == "subtract", first, first + len(incoming), atrlif[i])
    return table


def _synapse_table(
    chip: ChipNetwork, synapses: list[Synapse], patches: list[Patches], offsets: tuple[int, ...], operations: list[int]
) -> NDArray[np.int64]:
    """Return one row per synapse; `offsets` belong to the layers, `operations` to a step in which all sources fire."""
    table = np.zeros((len(synapses), FORM_START + len(FORM)), dtype=np.int64)
    weights = spans = targets = 0
    for i, (synapse, patch) in enumerate(zip(synapses, patches)):
        source = chip.index(synapse.source) if synapse.source != INPUT else FROM_INPUT
        columns = spans + len(patch.row_spans)
        end = columns + len(patch.column_spans)
        delay = chip.delay(synapse) if source != FROM_INPUT else 0 if chip.input.kind == "events" else STATIC
        bits = STATE_FRACTION_BITS + synapse.exponent
        begins, target = offsets[chip.index(synapse.target)], chip.layer(synapse.target).size
        places = (weights, weights + patch.weight.size, spans, columns, columns, end)
        table[i, :FORM_START] = (source, delay, bits, *places, begins, target, targets, operations[i])
        table[i, FORM_START:] = scatter_form(patch)
        weights, spans, targets = weights + patch.weight.size, end, targets + target
    return table


def _full_current(patch: Patches, source: tuple[int, ...], target: tuple[int, ...], dtype: type[np.signedinteger[Any]]) -> tuple[Sums, int]:
    """Return what every target receives if all sources fire at once, [target size], channels last, and how many operations this takes."""
    total: Sums = np.zeros(math.prod(target), dtype)
    sources = np.arange(math.prod(source), dtype=np.int32)
    return total, scatter(total, patch.blocks, sources, np.zeros(0, np.uint8), scatter_form(patch), patch.row_spans, patch.column_spans)


def _readout_rows(chip: ChipNetwork) -> NDArray[np.int8]:
    """Return the readout's weights, [size of the last layer, classes padded with zeros to whole vectors]."""
    weight = chip.readout.weight.T[_order(chip.layers[-1])]
    return np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -weight.shape[1] % LANES))))


def _largest_readout(chip: ChipNetwork) -> int:
    return int(np.abs(chip.readout.weight.astype(np.int64)).sum(axis=1).max(initial=0))


def _largest_state(chip: ChipNetwork, layer: Layer) -> int:
    """Return an upper bound on |u| before the clip, and on every sum that leads to it."""
    largest_bias = BIAS_MAX if chip.host_drive is not None else int(np.abs(layer.bias).max())
    sums = [(largest_layout_sum(s), STATE_FRACTION_BITS + s.exponent) for s in chip.into(layer)]
    offset = int(stock_network_offset(layer).max())  # of the bias, at most, if the layer is computed as ATRLIF does
    state = (
        STATE_MAX + (largest_bias << STATE_FRACTION_BITS) + offset + sum(shift(total, bits) + 1 for total, bits in sums)
    )  # + 1: rounded down
    return max([state, *(total for total, _ in sums)])


def largest_layout_sum(synapse: Synapse) -> int:
    """Return the largest |weight @ messages| in the emulator's layout, at any target and before the shift; it determines the dtype."""
    size = np.abs(synapse.weight.astype(np.int64))
    target_axis = 1 if isinstance(synapse, TransposedConvSynapse) else 0
    message = MESSAGE_MAX if synapse.source == INPUT else 1
    return message * int(size.sum(axis=tuple(a for a in range(size.ndim) if a != target_axis)).max(initial=0))
