"""The emulator's event-driven run: one thread per sample; spikes add their patches, and every neuron is updated once per step (E9).

If more than half of a layer fires, the silent neurons are the events: their weights are subtracted from the current of a layer
in which all fire. A step therefore never adds more than half of all weights, and 95 % firing neurons cost as much as 5 %.

Times are each layer's own (see ir/network.py): what layer k fires at tau reaches layer l at tau if k < l, else at tau + k - l + 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW, after_spike, clipped, leaked, shift
from fsnn_lava.compiled.atrlif import fire_atrlif, leak_atrlif, store_atrlif_potentials
from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.program import (
    ATRLIF,
    COLUMN_SPANS,
    COLUMN_SPANS_END,
    DELAY,
    END_SYNAPSE,
    FIRST_SYNAPSE,
    FORM_START,
    FROM_INPUT,
    FULL_CURRENT,
    FULL_OPERATIONS,
    LATE_DELAY,
    LATE_OFFSET,
    LATE_SOURCE,
    OFFSET,
    ROW_SPANS,
    ROW_SPANS_END,
    SHIFT,
    SIZE,
    SOURCE,
    STATIC,
    STRICT,
    SUBTRACT,
    TARGET,
    TARGET_SIZE,
    WEIGHT,
    WEIGHT_END,
)
from fsnn_lava.compiled.row_sums import add_rows
from fsnn_lava.compiled.scatter import scatter, scatter_graded
from fsnn_lava.compiled.spike_list import NO, list_spikes
from fsnn_lava.limits import DECAY_UNIT, STATE_MAX


class Outputs(NamedTuple):
    """The outputs of a run, initially zero: B samples, M neurons, in the network's order. Traces and trains are not recorded if empty."""

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
def _charge(u: Any, constant: Any, keep: int) -> None:
    """Set u to leak(u) + constant, for every neuron."""
    if keep == DECAY_UNIT:
        for i in range(len(u)):
            u[i] += constant[i]
    else:
        for i in range(len(u)):
            u[i] = leaked(u[i], keep) + constant[i]


@compiled
def _count_clips(u: Any, flags: Any) -> int:
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
def _any_outside(u: Any) -> bool:
    """Return whether any neuron is outside the state's range."""
    outside = 0
    for i in range(len(u)):
        outside |= int(u[i] > STATE_MAX) | int(u[i] < -STATE_MAX)
    return outside != 0


@compiled
def _fire(u: Any, threshold: Any, strict: int, subtract: bool, spikes: Any, flags: Any) -> int:
    """Clip, compare and reset; spikes[i] is 1 where neuron i fired. Return the number of clips."""
    clips = _count_clips(u, flags) if _any_outside(u) else 0
    for i in range(len(u)):
        charged = clipped(u[i])
        spike = charged >= threshold[i] + strict
        u[i] = after_spike(charged, spike, threshold[i], subtract)
        spikes[i] = spike
    return clips


@compiled
def _count_spikes(spikes: Any) -> int:
    number = 0
    for i in range(len(spikes)):
        number += spikes[i]
    return number


@compiled
def _receive(u: Any, scratch: Any, synapse: Any, program: Any, indices: Any, silent: Any, values: Any) -> int:
    """Add one synapse's current to u; return the operations.

    The messages are spikes of `indices` (`silent`: of all others), or graded `values` if the synapse comes from the input. `scratch` is
    zero before and afterwards.
    """
    weight = program.weight[synapse[WEIGHT] : synapse[WEIGHT_END]]
    row_spans = program.spans[synapse[ROW_SPANS] : synapse[ROW_SPANS_END]]
    column_spans = program.spans[synapse[COLUMN_SPANS] : synapse[COLUMN_SPANS_END]]
    form = synapse[FORM_START:]
    bits = synapse[SHIFT]
    current = scratch[: synapse[TARGET_SIZE]]
    if synapse[SOURCE] == FROM_INPUT:
        operations = scatter_graded(current, weight, values, form, row_spans, column_spans)
    else:
        operations = scatter(current, weight, indices, values[:0], form, row_spans, column_spans)
    if silent:
        full = program.full_current[synapse[FULL_CURRENT] : synapse[FULL_CURRENT] + synapse[TARGET_SIZE]]
        for i in range(len(u)):
            current[i] = full[i] - current[i]
        operations = synapse[FULL_OPERATIONS] - operations
    for i in range(len(u)):
        u[i] += shift(current[i], bits)
        current[i] = 0
    return operations


@compiled
def _read_out(state: Any, program: Any, indices: Any, silent: bool, total: Any) -> int:
    """Advance the readout's integrators by one step; return the number of clips. `total` is scratch of the padded rows' length."""
    clips = 0
    total[:] = 0
    width = np.int64(len(total))
    add_rows(total, np.int64(0), program.readout_weight, np.int64(0), indices, np.int64(0), np.int64(len(indices)), width, width)
    if silent:
        for c in range(len(total)):
            total[c] = program.readout_full_current[c] - total[c]
    for c in range(len(state)):
        raw = leaked(state[c], program.keep) + shift(np.int64(total[c]), program.readout_shift) + program.readout_bias[c]
        state[c] = clipped(raw)
        clips += raw != state[c]
    return clips


@compiled
def _note_spikes(spikes: Any, indices: Any, silent: bool, order: Any, counts: Any) -> None:
    """Count the spikes of one layer in one step, in the network's own order; `indices` fired or, if `silent`, did not."""
    if silent:
        for i in range(len(spikes)):
            counts[order[i]] += spikes[i]
    else:
        for i in range(len(indices)):
            counts[order[indices[i]]] += 1


@compiled
def _decay_traces(traces: Any, leak: float, spikes: Any) -> None:
    """Update every trace: trace <- trace * lambda + s."""
    for i in range(len(traces)):
        traces[i] = traces[i] * leak + spikes[i]


@compiled
def to_network_order(source: Any, order: Any, target: Any) -> None:
    """Copy `source`, which is in the order of an integer run, to `target` in the network's own order."""
    for i in range(len(source)):
        target[order[i]] = source[i]


@compiled
def constant_current(program: Any, drive: Any, values: Any, scratch: Any, constant: Any) -> int:
    """Before an integer run, set `constant` [M] to bias + drive + static input of each layer; return the operations of the static input."""
    operations = 0
    for i in range(len(constant)):
        constant[i] = program.bias[i]
    for i in range(len(drive)):
        constant[i] += drive[i]
    for s in range(len(program.synapses)):
        synapse = program.synapses[s]
        if synapse[DELAY] == STATIC:
            part = constant[synapse[TARGET] : synapse[TARGET] + synapse[TARGET_SIZE]]
            operations += _receive(part, scratch, synapse, program, program.order[:0], NO, values)
    return operations


@compiled
def run_integer_sample(program: Any, steps: int, drive: Any, values: Any, u: Any, out: Any) -> None:
    """Run one sample for `steps` steps from rest; `u` [M] is reset, and `out` are the sample's rows of Outputs."""
    layers, number_of_layers, slots = program.layers, len(program.layers), program.slots
    weighted, leak = program.keep != DECAY_UNIT, program.keep / DECAY_UNIT
    u[:] = 0
    r = program.atrlif_offset.astype(u.dtype)  # what spikes have subtracted from the neurons computed as ATRLIF
    constant, scratch = np.empty_like(u), np.zeros_like(u)
    mask = np.zeros(program.largest_layer + 8, np.uint8)
    words = mask[: (program.largest_layer + 7) // 8 * 8].view(np.uint64)
    lists = np.empty(slots * len(u), np.int32)  # the neurons that fired (or did not, if those are fewer) in the last `slots` steps
    lengths, silence = np.zeros(slots * number_of_layers, np.int64), np.zeros(slots * number_of_layers, np.bool_)
    total = np.empty(len(program.readout_full_current), u.dtype)
    trace, late_trace = np.zeros(len(out.traces)), np.zeros(len(out.late_traces))
    flags = np.zeros(len(u), np.uint8)
    static_operations = constant_current(program, drive, values[0], scratch, constant)
    for tau in range(steps):
        now = tau % slots
        out.operations[0] += static_operations
        for layer in range(number_of_layers):
            offset, size = layers[layer, OFFSET], layers[layer, SIZE]
            end = offset + size
            state, spikes, order = u[offset:end], mask[:size], program.order[offset:end]
            _charge(state, constant[offset:end], program.keep)
            for s in range(layers[layer, FIRST_SYNAPSE], layers[layer, END_SYNAPSE]):
                synapse = program.synapses[s]
                then, source = tau - synapse[DELAY], max(synapse[SOURCE], 0)
                if synapse[DELAY] == STATIC or then < 0:
                    continue
                start, which = then % slots * len(u) + layers[source, OFFSET], then % slots * number_of_layers + source
                events, silent = lists[start : start + lengths[which]], synapse[SOURCE] != FROM_INPUT and silence[which]
                out.operations[0] += _receive(state, scratch, synapse, program, events, silent, values[min(tau, len(values) - 1)])
            threshold = program.threshold[offset:end]
            if layers[layer, ATRLIF] == 1:
                leak_atrlif(r[offset:end], program.keep)
                out.clip_count[layer] += _count_clips(state, flags[offset:end]) if _any_outside(state) else 0
                fire_atrlif(state, r[offset:end], threshold, spikes)
            else:
                strict, subtract = layers[layer, STRICT], layers[layer, SUBTRACT] == 1
                out.clip_count[layer] += _fire(state, threshold, strict, subtract, spikes, flags[offset:end])
            number = _count_spikes(spikes)
            silent = 2 * number > size
            events = lists[now * len(u) + offset : now * len(u) + end]
            events = events[: list_spikes(spikes, words[: (size + 7) // 8], events, silent)]
            lengths[now * number_of_layers + layer], silence[now * number_of_layers + layer] = len(events), silent
            _note_spikes(spikes, events, silent, order, out.counts[offset:end])
            if len(out.trains) > 0:
                _note_spikes(spikes, events, silent, order, out.trains[tau, offset:end])
            if weighted:
                _decay_traces(trace[offset:end], leak, spikes)
            for f in range(len(program.late)):
                if program.late[f, LATE_SOURCE] == layer and tau >= steps - program.late[f, LATE_DELAY]:
                    at = program.late[f, LATE_OFFSET]
                    _note_spikes(spikes, events, silent, order, out.late[at : at + size])
                    if weighted:
                        _decay_traces(late_trace[at : at + size], leak, spikes)
        out.clip_count[number_of_layers] += _read_out(out.readout, program, events, silent, total)  # the last layer's
        out.operations[0] += number * len(out.readout)
    for layer in range(number_of_layers):
        if layers[layer, ATRLIF] == 1:
            offset, end = layers[layer, OFFSET], layers[layer, OFFSET] + layers[layer, SIZE]
            store_atrlif_potentials(u[offset:end], r[offset:end], program.atrlif_offset[offset:end])
    _store_results(program, u, trace, late_trace, flags, out)


@compiled
def _store_results(program: Any, u: Any, trace: Any, late_trace: Any, flags: Any, out: Any) -> None:
    """Store potentials, traces and flags in the network's own order."""
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
            at = program.late[f, LATE_OFFSET]
            if len(trace) > 0 and program.late[f, LATE_SOURCE] == layer:
                to_network_order(late_trace[at : at + size], order, out.late_traces[at : at + size])


@compiled
def run_integer_samples(first: int, end: int, program: Any, steps: int, drive: Any, values: Any, u: Any, out: Any) -> None:
    """Run samples first … end - 1 one by one: drive is [B, N1] or [B, 0] (units 2**-6), values [B, T or 1, inputs], u [M] scratch."""
    for b in range(first, end):
        sample = Outputs(
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
        run_integer_sample(program, steps, drive[b], values[b], u, sample)
