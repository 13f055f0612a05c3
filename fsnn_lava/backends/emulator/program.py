"""A ChipNetwork laid out for the kernels: all layers end to end, channels last, so that one compiled function runs any network."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.arithmetic import shift
from fsnn_lava.compiled.patches import Patches, patches
from fsnn_lava.compiled.row_sums import LANES
from fsnn_lava.compiled.scatter import FORM, form_of, scatter
from fsnn_lava.ir.network import INPUT, ChipNetwork, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.limits import BIAS_MAX, DECAY_UNIT, MESSAGE_MAX, STATE_FRACTION_BITS, STATE_MAX

INT32_MAX = 2**31 - 1

# columns of Program.layers
OFFSET, SIZE, CHANNELS, STRICT, SUBTRACT, FIRST_SYNAPSE, END_SYNAPSE = range(7)
# columns of Program.synapses: then come the eight of kernels.FORM
SOURCE, DELAY, SHIFT, WEIGHT, WEIGHT_END, ROWS, ROWS_END, COLUMNS, COLUMNS_END, TARGET_SIZE, EVERYBODY, TOUCHED_BY_ALL = range(12)
FORM_START = 12
STATIC = -1


class Program(NamedTuple):
    """What the kernels read. S synapses are sorted by target; M is the number of neurons of all layers.

    A static input's synapse has the delay STATIC: its current is worked out once per sample and added at every step.
    """

    layers: NDArray[np.int64]  # [layers, 7]
    synapses: NDArray[np.int64]  # [S, 20]; a source of -1 is the input
    weight: NDArray[np.int8]  # of all synapses
    everybody: NDArray[np.int32] | NDArray[np.int64]  # what each target of a synapse gets if all its sources fire, of all synapses
    tables: NDArray[np.int32]  # [., 3] rows and columns of all synapses
    threshold: NDArray[np.int32]  # [M] units 2**-6
    bias: NDArray[np.int32]  # [M] units 2**-6
    order: NDArray[np.int32]  # [M] place of each neuron in the network's own order, from the start of its layer
    late: NDArray[np.int64]  # [feedback synapses, 3]: source, delay, offset among the late counts
    readout_weight: NDArray[np.int8]  # [size of the last layer, classes padded to vectors] flattened, rows in channels-last order
    readout_everybody: NDArray[np.int32] | NDArray[np.int64]  # the sum of its rows
    readout_bias: NDArray[np.int32]  # [classes] units 2**-6
    readout_shift: int
    keep: int  # 4096 - decay
    slots: int  # steps of spikes to remember: the longest delay + 1
    largest: int  # neurons of the largest layer


@dataclass(frozen=True, kw_only=True, eq=False)
class Layout:
    """A Program and how to find one's way back."""

    program: Program
    offsets: tuple[int, ...]  # of each layer among the M neurons
    late_offsets: tuple[int, ...]  # of each feedback synapse among the late counts
    late_size: int
    wide: bool  # 32 bits could overflow before the clip: use 64


def lay_out(chip: ChipNetwork) -> Layout:
    """The layout of `chip`."""
    shapes = {INPUT: chip.input.shape, **{layer.name: layer.shape for layer in chip.layers}}
    used = [s for layer in chip.layers for s in chip.into(layer)]
    made = [patches(s, shapes[s.source], shapes[s.target]) for s in used]
    offsets = tuple(int(n) for n in np.cumsum([0, *(layer.size for layer in chip.layers)])[:-1])
    sources = [chip.layer(s.source).size for s in chip.feedback]
    late_offsets = tuple(int(n) for n in np.cumsum([0, *sources])[:-1])
    wide = max(_largest_readout(chip), *(_largest_state(chip, layer) for layer in chip.layers)) > INT32_MAX
    sums = [_everybody(patch, shapes[s.source], shapes[s.target], np.int64 if wide else np.int32) for s, patch in zip(used, made)]
    readout = _readout_rows(chip)
    program = Program(
        layers=_layer_table(chip, used, offsets),
        synapses=_synapse_table(chip, used, made, [touched for _, touched in sums]),
        everybody=np.concatenate([total for total, _ in sums] or [np.zeros(0, np.int64 if wide else np.int32)]),
        weight=np.concatenate([p.blocks for p in made] or [np.zeros(0, np.int8)]),
        tables=np.concatenate([table for p in made for table in (p.rows, p.columns)] or [np.zeros((0, 3), np.int32)]),
        threshold=np.concatenate([channels_last(layer.per_neuron(layer.threshold)) for layer in chip.layers]) << STATE_FRACTION_BITS,
        bias=np.concatenate([channels_last(layer.bias) for layer in chip.layers]) << STATE_FRACTION_BITS,
        order=np.concatenate([_order(layer) for layer in chip.layers]),
        late=np.array([(chip.index(s.source), chip.delay(s), at) for s, at in zip(chip.feedback, late_offsets)], dtype=np.int64).reshape(
            -1, 3
        ),
        readout_weight=readout.reshape(-1),
        readout_everybody=readout.sum(axis=0, dtype=np.int64 if wide else np.int32),
        readout_bias=chip.readout.bias << STATE_FRACTION_BITS,
        readout_shift=STATE_FRACTION_BITS + chip.readout.exponent,
        keep=DECAY_UNIT - chip.decay,
        slots=max([chip.delay(s) for s in used if s.source != INPUT], default=0) + 1,
        largest=max(layer.size for layer in chip.layers),
    )
    return Layout(
        program=program,
        offsets=offsets,
        late_offsets=late_offsets,
        late_size=sum(sources),
        wide=wide,
    )


def channels_last(values: NDArray[np.int32]) -> NDArray[np.int32]:
    """[*shape] as [H * W * C] (or [N])."""
    return np.ascontiguousarray(values.transpose(1, 2, 0) if values.ndim == 3 else values).reshape(-1)


def _order(layer: Layer) -> NDArray[np.int32]:
    return channels_last(np.arange(layer.size, dtype=np.int32).reshape(layer.shape))


def _layer_table(chip: ChipNetwork, used: list[Synapse], offsets: tuple[int, ...]) -> NDArray[np.int64]:
    table = np.zeros((len(chip.layers), 7), dtype=np.int64)
    for i, layer in enumerate(chip.layers):
        mine = [n for n, s in enumerate(used) if s.target == layer.name]
        first = mine[0] if mine else 0
        table[i] = (offsets[i], layer.size, layer.shape[0], layer.strict, layer.reset == "subtract", first, first + len(mine))
    return table


def _synapse_table(chip: ChipNetwork, used: list[Synapse], made: list[Patches], touched: list[int]) -> NDArray[np.int64]:
    table = np.zeros((len(used), FORM_START + len(FORM)), dtype=np.int64)
    weights = rows = targets = 0
    for i, (synapse, patch) in enumerate(zip(used, made)):
        source = chip.index(synapse.source)
        columns, end = rows + len(patch.rows), rows + len(patch.rows) + len(patch.columns)
        delay = chip.delay(synapse) if source >= 0 else 0 if chip.input.kind == "events" else STATIC
        shift = STATE_FRACTION_BITS + synapse.exponent
        target = chip.layer(synapse.target).size
        places = (weights, weights + patch.weight.size, rows, columns, columns, end)
        table[i, :FORM_START] = (source, delay, shift, *places, target, targets, touched[i])
        table[i, FORM_START:] = form_of(patch)
        weights, rows, targets = weights + patch.weight.size, end, targets + target
    return table


def _everybody(patch: Patches, source: tuple[int, ...], target: tuple[int, ...], dtype: type) -> tuple[NDArray, int]:
    """[target size] what every target gets if all sources fire at once, channels last, and how many weights that touches."""
    total: NDArray = np.zeros(math.prod(target), dtype)
    sources = np.arange(math.prod(source), dtype=np.int32)
    return total, scatter(total, patch.blocks, sources, np.zeros(0, np.uint8), form_of(patch), patch.rows, patch.columns)


def _readout_rows(chip: ChipNetwork) -> NDArray[np.int8]:
    """[size of the last layer, classes and zeros up to whole vectors]."""
    weight = chip.readout.weight.T[_order(chip.layers[-1])]
    return np.ascontiguousarray(np.pad(weight, ((0, 0), (0, -weight.shape[1] % LANES))))


def _largest_readout(chip: ChipNetwork) -> int:
    return int(np.abs(chip.readout.weight.astype(np.int64)).sum(axis=1).max(initial=0))


def _largest_state(chip: ChipNetwork, layer: Layer) -> int:
    """The largest |u| that one step can reach before the clip, or the largest sum on the way there."""
    bias = BIAS_MAX << STATE_FRACTION_BITS if chip.host_drive is not None else int(np.abs(layer.bias).max()) << STATE_FRACTION_BITS
    sums = [(largest_sum(s), STATE_FRACTION_BITS + s.exponent) for s in chip.into(layer)]
    reached = STATE_MAX + bias + sum(shift(total, bits) + 1 for total, bits in sums)  # + 1: rounded down
    return max([reached, *(total for total, _ in sums)])


def largest_sum(synapse: Synapse) -> int:
    """What the largest messages at all sources can sum to at one target, before the shift."""
    size = np.abs(synapse.weight.astype(np.int64))
    target_axis = 1 if isinstance(synapse, TransposedConvSynapse) else 0
    message = MESSAGE_MAX if synapse.source == INPUT else 1
    return message * int(size.sum(axis=tuple(a for a in range(size.ndim) if a != target_axis)).max(initial=0))
