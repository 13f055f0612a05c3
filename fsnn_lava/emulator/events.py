"""The event-driven run: one thread per sample, spikes scattered through their patches, every neuron updated once per step (E9).

Times are each layer's own (see chip/network.py): what layer k fires at tau reaches layer l at tau + k - l + 1.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from fsnn_lava.chip.arithmetic import CLIPPED_HIGH, CLIPPED_LOW, after_spike, clipped, leaked, shift
from fsnn_lava.chip.limits import DECAY_UNIT, STATE_MAX
from fsnn_lava.emulator.compiled import compiled
from fsnn_lava.emulator.kernels import scatter, scatter_graded
from fsnn_lava.emulator.program import (
    COLUMNS,
    COLUMNS_END,
    DELAY,
    END_SYNAPSE,
    FIRST_SYNAPSE,
    FORM_START,
    OFFSET,
    ROWS,
    ROWS_END,
    SHIFT,
    SIZE,
    SOURCE,
    STRICT,
    SUBTRACT,
    TARGET_SIZE,
    WEIGHT,
    WEIGHT_END,
)


@compiled()
def charge(u: Any, constant: Any, keep: int) -> None:
    """u <- leak(u) + constant, for every neuron."""
    if keep == DECAY_UNIT:
        for i in range(len(u)):
            u[i] += constant[i]
    else:
        for i in range(len(u)):
            u[i] = leaked(u[i], keep) + constant[i]


@compiled()
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


@compiled()
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


@compiled()
def list_spikes(spikes: Any, words: Any, indices: Any) -> int:
    """Write the numbers of the neurons that fired into `indices`, in order; how many. `words` is `spikes`, eight at a time."""
    number = 0
    for w in range(len(words)):
        if words[w] != 0:
            for i in range(8 * w, min(8 * w + 8, len(spikes))):
                if spikes[i] != 0:
                    indices[number] = i
                    number += 1
    return number


@compiled()
def receive(u: Any, extra: Any, synapse: Any, program: Any, indices: Any, values: Any) -> int:
    """Add one synapse's current to u: spikes in `indices`, or graded `values` if it comes from the input. Weights touched."""
    weight = program.weight[synapse[WEIGHT] : synapse[WEIGHT_END]]
    rows = program.tables[synapse[ROWS] : synapse[ROWS_END]]
    columns = program.tables[synapse[COLUMNS] : synapse[COLUMNS_END]]
    form = synapse[FORM_START:]
    bits = synapse[SHIFT]
    into = u if bits >= 0 else extra[: synapse[TARGET_SIZE]]
    if bits < 0:
        into[:] = 0
    unit = 1 << bits if bits >= 0 else 1
    if synapse[SOURCE] < 0:
        touched = scatter_graded(into, weight, values, unit, form, rows, columns)
    else:
        touched = scatter(into, weight, indices, unit, form, rows, columns)
    if bits < 0:
        for i in range(len(u)):
            u[i] += shift(into[i], bits)
    return touched


@compiled()
def read_out(state: Any, program: Any, indices: Any) -> int:
    """One step of the readout's integrators; the number of clips."""
    clips = 0
    weight = program.readout_weight
    for c in range(len(state)):
        total = 0
        for i in range(len(indices)):
            total += weight[indices[i], c]
        raw = leaked(state[c], program.keep) + shift(total, program.readout_shift) + program.readout_bias[c]
        state[c] = clipped(raw)
        clips += raw != state[c]
    return clips


@compiled()
def note_spikes(indices: Any, order: Any, tau: int, counts: Any, train: Any) -> None:
    """Count the spikes of one layer and step in the network's own order, and write them into the train if there is one."""
    for i in range(len(indices)):
        counts[order[indices[i]]] += 1
    if len(train) > 0:
        for i in range(len(indices)):
            train[tau, order[indices[i]]] = 1


@compiled()
def decay_traces(traces: Any, leak: float, spikes: Any) -> None:
    """trace <- trace * lambda + s."""
    for i in range(len(traces)):
        traces[i] = traces[i] * leak + spikes[i]


@compiled()
def to_network_order(source: Any, order: Any, target: Any) -> None:
    for i in range(len(source)):
        target[order[i]] = source[i]


@compiled()
def run_sample(program: Any, steps: int, drive: Any, events: Any, prototype: Any, out: Any) -> None:
    """Run one sample over `steps`; `out` are its rows of the outputs (see `run_samples`)."""
    counts, traces, late, late_traces, potentials, readout, flags, clip_count, operations, train = out
    layers = program.layers
    number_of_layers, total = len(layers), len(program.bias)
    weighted = program.keep != DECAY_UNIT
    leak = program.keep / DECAY_UNIT
    largest = layers[:, SIZE].max()
    u = np.zeros(total, prototype.dtype)
    extra = np.zeros(largest, prototype.dtype)
    mask = np.zeros((largest + 7) // 8 * 8, np.uint8)
    words = mask.view(np.uint64)
    lists = np.empty((program.slots, total), np.int32)  # who fired, in the last `slots` steps
    lengths = np.zeros((program.slots, number_of_layers), np.int64)
    trace = np.zeros(total if weighted else 0, np.float64)
    late_trace = np.zeros(len(late_traces), np.float64)
    own_flags = np.zeros(total, np.uint8)
    for tau in range(steps):
        now = tau % program.slots
        for layer in range(number_of_layers):
            offset, size = layers[layer, OFFSET], layers[layer, SIZE]
            end = offset + size
            state = u[offset:end]
            charge(state, drive if layer == 0 else program.bias[offset:end], program.keep)
            for s in range(layers[layer, FIRST_SYNAPSE], layers[layer, END_SYNAPSE]):
                synapse = program.synapses[s]
                source, then = synapse[SOURCE], tau - synapse[DELAY]
                if then < 0:
                    continue
                slot = then % program.slots
                start = layers[max(source, 0), OFFSET]
                fired = lists[slot, start : start + lengths[slot, max(source, 0)]]
                operations[0] += receive(state, extra, synapse, program, fired, events[min(tau, len(events) - 1)])
            spikes = mask[:size]
            strict, subtract = layers[layer, STRICT], layers[layer, SUBTRACT] == 1
            clip_count[layer] += fire(state, program.threshold[offset:end], strict, subtract, spikes, own_flags[offset:end])
            fired = lists[now, offset:end]
            lengths[now, layer] = list_spikes(spikes, words[: (size + 7) // 8], fired)
            fired = fired[: lengths[now, layer]]
            order = program.order[offset:end]
            note_spikes(fired, order, tau, counts[offset:end], train[:, offset:end])
            if weighted:
                decay_traces(trace[offset:end], leak, spikes)
            for f in range(len(program.late)):
                if program.late[f, 0] == layer and tau >= steps - program.late[f, 1]:
                    at = program.late[f, 2]
                    note_spikes(fired, order, tau, late[at : at + size], train[:0])
                    if weighted:
                        decay_traces(late_trace[at : at + size], leak, spikes)
        last = number_of_layers - 1
        fired = lists[now, layers[last, OFFSET] : layers[last, OFFSET] + lengths[now, last]]
        clip_count[number_of_layers] += read_out(readout, program, fired)
        operations[0] += len(fired) * len(readout)
    for layer in range(number_of_layers):
        offset, end = layers[layer, OFFSET], layers[layer, OFFSET] + layers[layer, SIZE]
        order = program.order[offset:end]
        to_network_order(u[offset:end], order, potentials[offset:end])
        if weighted:
            to_network_order(trace[offset:end], order, traces[offset:end])
        if clip_count[layer] > 0:
            to_network_order(own_flags[offset:end], order, flags[offset:end])
        for f in range(len(program.late)):
            if weighted and program.late[f, 0] == layer:
                at = program.late[f, 2]
                to_network_order(late_trace[at : at + end - offset], order, late_traces[at : at + end - offset])


@compiled(parallel=True)
def run_samples(program: Any, steps: int, drive: Any, events: Any, prototype: Any, out: Any) -> None:
    """Run every sample on its own: drive [B or 1, N1] (units 2**-6), events [B, T or 0, inputs], `out` zeros with B rows each.

    Traces are filled only where there is a leak (else they equal the counts), trains only if they have steps.
    """
    counts, traces, late, late_traces, potentials, readout, flags, clip_count, operations, trains = out
    for b in numba.prange(len(counts)):
        rows = (
            counts[b],
            traces[b],
            late[b],
            late_traces[b],
            potentials[b],
            readout[b],
            flags[b],
            clip_count[b],
            operations[b : b + 1],
            trains[b],
        )
        n = np.int64(b)
        run_sample(program, steps, drive[min(n, len(drive) - 1)], events[min(n, len(events) - 1)], prototype, rows)
