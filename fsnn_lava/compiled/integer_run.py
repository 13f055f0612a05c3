"""The event-driven run: one thread per sample, spikes scattered through their patches, every neuron updated once per step (E9).

Where more than half of a layer fires, the neurons that did not are the events: what they would have added is taken from the sum
over everybody. A step therefore never costs more than half of all weights, and as much for 95 % as for 5 %.

Times are each layer's own (see chip/network.py): what layer k fires at tau reaches layer l at tau + k - l + 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fsnn_lava.backends.emulator.program import (
    COLUMNS,
    COLUMNS_END,
    DELAY,
    END_SYNAPSE,
    EVERYBODY,
    FIRST_SYNAPSE,
    FORM_START,
    OFFSET,
    ROWS,
    ROWS_END,
    SHIFT,
    SIZE,
    SOURCE,
    STATIC,
    STRICT,
    SUBTRACT,
    TARGET_SIZE,
    TOUCHED_BY_ALL,
    WEIGHT,
    WEIGHT_END,
)
from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW, after_spike, clipped, leaked, shift
from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.row_sums import add_rows
from fsnn_lava.compiled.scatter import scatter, scatter_graded
from fsnn_lava.limits import DECAY_UNIT, STATE_MAX

NO = np.bool_(False)  # a plain False would be a type of its own, compiled for itself
ONES = np.uint64(0x0101010101010101)
GATHER = np.uint64(0x0102040810204080)  # times eight bytes of 0 or 1: bit i of the highest byte is byte i
PLACES = np.array([sorted(range(8), key=lambda i: (not pattern >> i & 1, i)) for pattern in range(256)], dtype=np.int32)  # set bits first
NUMBER = np.array([pattern.bit_count() for pattern in range(256)], dtype=np.int64)  # of set bits


class Outputs(NamedTuple):
    """What a run fills, zero before: B samples, M neurons, in the network's own order. Trace and train may be empty: not wanted."""

    counts: Any  # [B, M] int32
    traces: Any  # [B, M or 0] float64
    late: Any  # [B, late neurons] int32
    late_traces: Any  # [B, late neurons or 0] float64
    potentials: Any  # [B, M] int32
    readout: Any  # [B, classes] int32
    clipped: Any  # [B, M] uint8
    clip_count: Any  # [B, layers + 1] int64
    operations: Any  # [B, 1] int64
    trains: Any  # [B, T or 0, M] uint8


@compiled
def charge(u: Any, constant: Any, keep: int) -> None:
    """u <- leak(u) + constant, for every neuron."""
    if keep == DECAY_UNIT:
        for i in range(len(u)):
            u[i] += constant[i]
    else:
        for i in range(len(u)):
            u[i] = leaked(u[i], keep) + constant[i]


@compiled
def count_clips(u: Any, flags: Any) -> int:
    """Mark and count the neurons outside the state's range."""
    number = 0
    for i in range(len(u)):
        if u[i] > STATE_MAX:
            flags[i] |= CLIPPED_HIGH
            number += 1
        elif u[i] < -STATE_MAX:
            flags[i] |= CLIPPED_LOW
            number += 1
    return number


@compiled
def fire(u: Any, threshold: Any, strict: int, subtract: bool, spikes: Any, flags: Any) -> int:
    """Clip, compare, reset; spikes[i] is 1 where neuron i fired. The number of clips."""
    outside = 0
    for i in range(len(u)):
        outside |= int(u[i] > STATE_MAX) | int(u[i] < -STATE_MAX)
    clips = count_clips(u, flags) if outside else 0
    for i in range(len(u)):
        charged = clipped(u[i])
        spike = charged >= threshold[i] + strict
        u[i] = after_spike(charged, spike, threshold[i], subtract)
        spikes[i] = spike
    return clips


@compiled
def list_spikes(spikes: Any, words: Any, indices: Any, silent: Any) -> int:
    """Write the numbers of the neurons that fired (`silent`: that did not) into `indices`, in order; how many.

    `words` is `spikes`, eight at a time. A test per neuron would be guessed wrong too often: the positions within eight are looked up
    and all eight written.
    """
    number = 0
    whole = len(spikes) // 8
    flip = ONES if silent else np.uint64(0)
    for w in range(whole):
        word = words[w] ^ flip
        if word != 0:
            pattern = (word * GATHER) >> np.uint64(56)
            for k in range(8):
                indices[number + k] = 8 * w + PLACES[pattern, k]
            number += NUMBER[pattern]
    for i in range(8 * whole, len(spikes)):
        indices[number] = i
        number += spikes[i] ^ silent
    return number


@compiled
def how_many(spikes: Any) -> int:
    number = 0
    for i in range(len(spikes)):
        number += spikes[i]
    return number


@compiled
def receive(u: Any, extra: Any, synapse: Any, program: Any, indices: Any, silent: Any, values: Any) -> int:
    """Add one synapse's current to u, the number of weights touched.

    The messages are spikes of `indices` (`silent`: of all others), or graded `values` if the synapse comes from the input. `extra` is
    zero before and afterwards.
    """
    weight = program.weight[synapse[WEIGHT] : synapse[WEIGHT_END]]
    rows = program.tables[synapse[ROWS] : synapse[ROWS_END]]
    columns = program.tables[synapse[COLUMNS] : synapse[COLUMNS_END]]
    form = synapse[FORM_START:]
    bits = synapse[SHIFT]
    current = extra[: synapse[TARGET_SIZE]]
    if synapse[SOURCE] < 0:
        touched = scatter_graded(current, weight, values, form, rows, columns)
    else:
        touched = scatter(current, weight, indices, values[:0], form, rows, columns)
    if silent:
        everybody = program.everybody[synapse[EVERYBODY] : synapse[EVERYBODY] + synapse[TARGET_SIZE]]
        for i in range(len(u)):
            current[i] = everybody[i] - current[i]
        touched = synapse[TOUCHED_BY_ALL] - touched
    for i in range(len(u)):
        u[i] += shift(current[i], bits)
        current[i] = 0
    return touched


@compiled
def read_out(state: Any, program: Any, indices: Any, silent: bool, total: Any) -> int:
    """One step of the readout's integrators; the number of clips. `total` is room for as many numbers as its padded rows have."""
    clips = 0
    total[:] = 0
    width = np.int64(len(total))
    add_rows(total, np.int64(0), program.readout_weight, np.int64(0), indices, np.int64(0), np.int64(len(indices)), width, width)
    if silent:
        for c in range(len(total)):
            total[c] = program.readout_everybody[c] - total[c]
    for c in range(len(state)):
        raw = leaked(state[c], program.keep) + shift(np.int64(total[c]), program.readout_shift) + program.readout_bias[c]
        state[c] = clipped(raw)
        clips += raw != state[c]
    return clips


@compiled
def note_spikes(spikes: Any, indices: Any, silent: bool, order: Any, counts: Any) -> None:
    """Count the spikes of one layer and step, in the network's own order; `indices` fired or, if `silent`, did not."""
    if silent:
        for i in range(len(spikes)):
            counts[order[i]] += spikes[i]
    else:
        for i in range(len(indices)):
            counts[order[indices[i]]] += 1


@compiled
def decay_traces(traces: Any, leak: float, spikes: Any) -> None:
    """trace <- trace * lambda + s."""
    for i in range(len(traces)):
        traces[i] = traces[i] * leak + spikes[i]


@compiled
def to_network_order(source: Any, order: Any, target: Any) -> None:
    for i in range(len(source)):
        target[order[i]] = source[i]


@compiled
def constant_current(program: Any, drive: Any, values: Any, extra: Any, constant: Any) -> int:
    """constant <- bias + drive + static input of every layer, [M]; the weights that the static input touches."""
    touched = 0
    for i in range(len(constant)):
        constant[i] = program.bias[i]
    for i in range(len(drive)):
        constant[i] += drive[i]
    for s in range(len(program.synapses)):
        synapse = program.synapses[s]
        if synapse[DELAY] == STATIC:
            touched += receive(constant[: synapse[TARGET_SIZE]], extra, synapse, program, program.order[:0], NO, values)
    return touched


@compiled
def run_sample(program: Any, steps: int, drive: Any, values: Any, u: Any, out: Any) -> None:
    """Run one sample over `steps` from rest; `u` [M] is set to zero, `out` are the sample's rows of Outputs."""
    layers, number_of_layers, slots = program.layers, len(program.layers), program.slots
    weighted, leak = program.keep != DECAY_UNIT, program.keep / DECAY_UNIT
    u[:] = 0
    constant, extra = np.empty_like(u), np.zeros_like(u)
    mask = np.zeros(program.largest + 8, np.uint8)
    words = mask[: (program.largest + 7) // 8 * 8].view(np.uint64)
    lists = np.empty(slots * len(u), np.int32)  # who fired, or who did not if they are fewer, in the last `slots` steps
    lengths, silence = np.zeros(slots * number_of_layers, np.int64), np.zeros(slots * number_of_layers, np.bool_)
    total = np.empty(len(program.readout_everybody), u.dtype)
    trace, late_trace = np.zeros(len(out.traces)), np.zeros(len(out.late_traces))
    flags = np.zeros(len(u), np.uint8)
    static_touched = constant_current(program, drive, values[0], extra, constant)
    for tau in range(steps):
        now = tau % slots
        out.operations[0] += static_touched
        for layer in range(number_of_layers):
            offset, size = layers[layer, OFFSET], layers[layer, SIZE]
            end = offset + size
            state, spikes, order = u[offset:end], mask[:size], program.order[offset:end]
            charge(state, constant[offset:end], program.keep)
            for s in range(layers[layer, FIRST_SYNAPSE], layers[layer, END_SYNAPSE]):
                synapse = program.synapses[s]
                then, source = tau - synapse[DELAY], max(synapse[SOURCE], 0)
                if synapse[DELAY] == STATIC or then < 0:
                    continue
                start, which = then % slots * len(u) + layers[source, OFFSET], then % slots * number_of_layers + source
                events, silent = lists[start : start + lengths[which]], synapse[SOURCE] >= 0 and silence[which]
                out.operations[0] += receive(state, extra, synapse, program, events, silent, values[min(tau, len(values) - 1)])
            strict, subtract = layers[layer, STRICT], layers[layer, SUBTRACT] == 1
            out.clip_count[layer] += fire(state, program.threshold[offset:end], strict, subtract, spikes, flags[offset:end])
            number = how_many(spikes)
            silent = 2 * number > size
            events = lists[now * len(u) + offset : now * len(u) + end]
            events = events[: list_spikes(spikes, words[: (size + 7) // 8], events, silent)]
            lengths[now * number_of_layers + layer], silence[now * number_of_layers + layer] = len(events), silent
            note_spikes(spikes, events, silent, order, out.counts[offset:end])
            if len(out.trains) > 0:
                note_spikes(spikes, events, silent, order, out.trains[tau, offset:end])
            if weighted:
                decay_traces(trace[offset:end], leak, spikes)
            for f in range(len(program.late)):
                if program.late[f, 0] == layer and tau >= steps - program.late[f, 1]:
                    at = program.late[f, 2]
                    note_spikes(spikes, events, silent, order, out.late[at : at + size])
                    if weighted:
                        decay_traces(late_trace[at : at + size], leak, spikes)
        out.clip_count[number_of_layers] += read_out(out.readout, program, events, silent, total)  # the last layer's
        out.operations[0] += number * len(out.readout)
    write_down(program, u, trace, late_trace, flags, out)


@compiled
def write_down(program: Any, u: Any, trace: Any, late_trace: Any, flags: Any, out: Any) -> None:
    """Potentials, traces and flags in the network's own order."""
    for layer in range(len(program.layers)):
        offset, size = program.layers[layer, OFFSET], program.layers[layer, SIZE]
        end = offset + size
        order = program.order[offset:end]
        to_network_order(u[offset:end], order, out.potentials[offset:end])
        if len(trace) > 0:
            to_network_order(trace[offset:end], order, out.traces[offset:end])
        if out.clip_count[layer] > 0:
            to_network_order(flags[offset:end], order, out.clipped[offset:end])
        for f in range(len(program.late)):
            at = program.late[f, 2]
            if len(trace) > 0 and program.late[f, 0] == layer:
                to_network_order(late_trace[at : at + size], order, out.late_traces[at : at + size])


@compiled
def run_samples(first: int, end: int, program: Any, steps: int, drive: Any, values: Any, u: Any, out: Any) -> None:
    """Run the samples first … end - 1, each on its own. drive [B, N1] or [B, 0] (units 2**-6), values [B, T or 1, inputs]; u is scratch."""
    for b in range(first, end):
        rows = Outputs(
            out.counts[b],
            out.traces[b],
            out.late[b],
            out.late_traces[b],
            out.potentials[b],
            out.readout[b],
            out.clipped[b],
            out.clip_count[b],
            out.operations[b],
            out.trains[b],
        )
        run_sample(program, steps, drive[b], values[b], u, rows)
