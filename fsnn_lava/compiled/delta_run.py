"""The emulator's event-driven run with delta encoding (E15): one thread per sample; every message adds its weights times the change.

S is the sum of everything received. After the first step, a layer that receives nothing cannot change, so it is skipped. Times are each
layer's own (see ir/network.py).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW, shift
from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.integer_run import constant_current, to_network_order
from fsnn_lava.compiled.program import (
    COLUMN_SPANS,
    COLUMN_SPANS_END,
    DELAY,
    END_SYNAPSE,
    FIRST_SYNAPSE,
    FORM_START,
    FROM_INPUT,
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
    TARGET_SIZE,
    WEIGHT,
    WEIGHT_END,
)
from fsnn_lava.compiled.row_sums import add_rows_graded
from fsnn_lava.compiled.scatter import scatter, scatter_graded
from fsnn_lava.compiled.spike_list import NO, list_spikes
from fsnn_lava.limits import FRAME_BITS, STATE_FRACTION_BITS, STATE_MAX


class DeltaProgram(NamedTuple):
    """The data that delta encoding adds to a Program."""

    shifts: Any  # [M] int64: s; the threshold of a neuron is 2**s
    bands: Any  # [layers] int64: dead bands, units of 2**-q
    rate_bits: int  # q
    ceiling: int  # the largest rate, units of 2**-q
    frames: Any  # [T] int64: weights of the frames of an event input, in units of 2**-12; [0] for a static input
    frame_exponents: Any  # [layers] int64: of the sum of the frames that a layer has received
    keys: Any  # [M] uint64, odd: what the rates are multiplied by in a hash


class DeltaOutputs(NamedTuple):
    """The outputs of a run, initially zero: B samples, M neurons, in the network's own order. Trains are not recorded if empty."""

    counts: Any  # [B, M] int32: messages sent
    told: Any  # [B, M] float64: the rates that were sent, units of 2**-q
    late: Any  # [B, late neurons] int32: changes in flight at the end
    sums: Any  # [B, M] int32: S
    readout: Any  # [B, classes] int32
    clipped: Any  # [B, M] uint8
    clip_count: Any  # [B, layers + 1] int64
    operations: Any  # [B, 1] int64
    messages: Any  # [B, T] int32: sent in each step, by all layers in their own time
    hashes: Any  # [B, T] uint64: of the rates that were sent, after each step
    trains: Any  # [B, T or 0, M] int16: every change


@compiled
def _clip_states(states: Any, flags: Any) -> int:
    """Clip `states` to the chip's range and mark those that were clipped in `flags`; return their number, which is nearly always 0."""
    outside = 0
    for i in range(len(states)):
        outside |= int(np.abs(states[i]) > STATE_MAX)
    clips = 0
    for i in range(len(states) if outside else 0):
        if states[i] > STATE_MAX:
            states[i] = STATE_MAX
            flags[i] |= CLIPPED_HIGH
            clips += 1
        elif states[i] < -STATE_MAX:
            states[i] = -STATE_MAX
            flags[i] |= CLIPPED_LOW
            clips += 1
    return clips


@compiled
def _scale_drive(constant: Any, rate_bits: int, drive: Any, flags: Any) -> int:
    """Convert `constant` (units of 2**-6) to units of 2**-q in `drive`; return the number of clips."""
    for i in range(len(constant)):
        drive[i] = np.int64(constant[i]) << (rate_bits - STATE_FRACTION_BITS)
    return _clip_states(drive, flags)


@compiled
def _collect_frame(collected: Any, scratch: Any, synapse: Any, program: Any, frame: Any, weight_of_frame: int, exponent: int) -> int:
    """Add frame weight * 2**(exponent - the layer's) * (weight @ frame) to `collected`; return the operations. `scratch` stays zero."""
    weight = program.weight[synapse[WEIGHT] : synapse[WEIGHT_END]]
    row_spans = program.spans[synapse[ROW_SPANS] : synapse[ROW_SPANS_END]]
    column_spans = program.spans[synapse[COLUMN_SPANS] : synapse[COLUMN_SPANS_END]]
    current = scratch[: synapse[TARGET_SIZE]]
    operations = scatter_graded(current, weight, frame, synapse[FORM_START:], row_spans, column_spans)
    bits = synapse[SHIFT] - STATE_FRACTION_BITS - exponent
    for i in range(len(collected)):
        collected[i] += weight_of_frame * (np.int64(current[i]) << bits)
        current[i] = 0
    return operations


@compiled
def _frame_drive(collected: Any, bias: Any, exponent: int, rate_bits: int, drive: Any, flags: Any) -> int:
    """Set `drive` to the bias (units of 2**-6) plus the frames so far, in units of 2**-q, shifted only now; return the number of clips."""
    for i in range(len(collected)):
        so_far = shift(collected[i], rate_bits + exponent - FRAME_BITS)
        drive[i] = (np.int64(bias[i]) << (rate_bits - STATE_FRACTION_BITS)) + so_far
    return _clip_states(drive, flags)


@compiled
def _receive_changes(sums: Any, scratch: Any, synapse: Any, program: Any, indices: Any, changes: Any) -> int:
    """Add 2**exponent (weight @ changes) of one synapse to S, not yet clipped; return the operations. `scratch` stays zero."""
    weight = program.weight[synapse[WEIGHT] : synapse[WEIGHT_END]]
    row_spans = program.spans[synapse[ROW_SPANS] : synapse[ROW_SPANS_END]]
    column_spans = program.spans[synapse[COLUMN_SPANS] : synapse[COLUMN_SPANS_END]]
    bits = synapse[SHIFT] - STATE_FRACTION_BITS
    current = scratch[: synapse[TARGET_SIZE]]
    operations = scatter(current, weight, indices, changes, synapse[FORM_START:], row_spans, column_spans)
    for i in range(len(sums)):
        sums[i] += np.int64(current[i]) << bits
        current[i] = 0
    return operations


@compiled
def _find_changes(sums: Any, drive: Any, shifts: Any, ceiling: int, band: int, told: Any, changes: Any, sent: Any) -> int:
    """Set changes[i] to what neuron i sends, 0 if it is less than the dead band, and update `told` (E14); return the number of messages."""
    number = 0
    for i in range(len(sums)):
        rate = min(max((sums[i] + drive[i]) >> shifts[i], 0), ceiling)
        change = rate - told[i]
        send = np.abs(change) >= band
        changes[i] = change * send
        told[i] += change * send
        sent[i] = send
        number += send
    return number


@compiled
def _note_changes(indices: Any, changes: Any, order: Any, target: Any) -> None:
    """Add `changes` to `target`, in the network's own order."""
    for i in indices:
        target[order[i]] += changes[i]


@compiled
def _note_messages(indices: Any, order: Any, counts: Any) -> None:
    for i in indices:
        counts[order[i]] += 1


@compiled
def _hash_changes(indices: Any, changes: Any, keys: Any) -> Any:
    """Return the sum over neurons of change times key, modulo 2**64, so that equal rates have equal sums."""
    total = np.uint64(0)
    for i in indices:
        total += np.uint64(changes[i]) * keys[i]
    return total


@compiled
def _read_changes(state: Any, program: Any, indices: Any, changes: Any, total: Any) -> None:
    """Add the changes of the last layer to the readout's sums."""
    total[:] = 0
    width = np.int64(len(total))
    add_rows_graded(
        total, np.int64(0), program.readout_weight, np.int64(0), indices, changes, np.int64(0), np.int64(len(indices)), width, width
    )
    for c in range(len(state)):
        state[c] += np.int64(total[c])


@compiled
def _takes_frames(program: Any, layer: int) -> bool:
    """Return whether a layer receives events, so that its drive changes from step to step."""
    for s in range(program.layers[layer, FIRST_SYNAPSE], program.layers[layer, END_SYNAPSE]):
        if program.synapses[s, SOURCE] == FROM_INPUT and program.synapses[s, DELAY] != STATIC:
            return True
    return False


@compiled
def _run_delta_sample(program: Any, delta: Any, steps: int, drive: Any, values: Any, scratch: Any, out: Any) -> None:
    """Run one sample for `steps` steps from rest; `scratch` [M] is zero, and `out` are the sample's rows of DeltaOutputs."""
    layers, number_of_layers, slots, neurons = program.layers, len(program.layers), program.slots, len(program.bias)
    constant, constant_drive = np.empty_like(scratch), np.empty(neurons, np.int64)
    sums, told = np.zeros(neurons, np.int64), np.zeros(neurons, np.int64)
    mask = np.zeros(program.largest_layer + 8, np.uint8)
    words = mask[: (program.largest_layer + 7) // 8 * 8].view(np.uint64)
    lists, changes = np.empty(slots * neurons, np.int32), np.zeros(slots * neurons, np.int16)  # of the last `slots` steps
    lengths = np.zeros(slots * number_of_layers, np.int64)
    readout, row = np.zeros(len(out.readout), np.int64), np.empty(len(program.readout_full_current), scratch.dtype)
    flags = np.zeros(neurons, np.uint8)
    out.operations[0] += constant_current(program, drive, values[0], scratch, constant)
    for layer in range(number_of_layers):
        offset, end = layers[layer, OFFSET], layers[layer, OFFSET] + layers[layer, SIZE]
        if _takes_frames(program, layer):
            continue
        out.clip_count[layer] += _scale_drive(constant[offset:end], delta.rate_bits, constant_drive[offset:end], flags[offset:end])
    state_hash, collected = np.uint64(0), np.zeros(neurons if len(delta.frames) > 0 else 0, np.int64)
    for tau in range(steps):
        now = tau % slots
        for layer in range(number_of_layers):
            offset, size = layers[layer, OFFSET], layers[layer, SIZE]
            end = offset + size
            before, framed = out.operations[0], False
            for s in range(layers[layer, FIRST_SYNAPSE], layers[layer, END_SYNAPSE]):
                synapse = program.synapses[s]
                then, source = tau - synapse[DELAY], synapse[SOURCE]
                if source == FROM_INPUT and synapse[DELAY] != STATIC:
                    framed, exponent = True, delta.frame_exponents[layer]
                    part = collected[offset:end]
                    out.operations[0] += _collect_frame(part, scratch, synapse, program, values[tau], delta.frames[tau], exponent)
                    continue
                if synapse[DELAY] == STATIC or then < 0:
                    continue
                start, which = then % slots * neurons + layers[source, OFFSET], then % slots * number_of_layers + source
                if lengths[which] > 0:
                    events, amounts = lists[start : start + lengths[which]], changes[start : start + layers[source, SIZE]]
                    out.operations[0] += _receive_changes(sums[offset:end], scratch, synapse, program, events, amounts)
            which = now * number_of_layers + layer
            if framed:
                exponent = delta.frame_exponents[layer]
                out.clip_count[layer] += _frame_drive(
                    collected[offset:end], constant[offset:end], exponent, delta.rate_bits, constant_drive[offset:end], flags[offset:end]
                )
            elif tau > 0 and out.operations[0] == before:
                lengths[which] = 0
                continue
            if out.operations[0] != before:
                out.clip_count[layer] += _clip_states(sums[offset:end], flags[offset:end])
            sent, at = changes[now * neurons + offset : now * neurons + end], lists[now * neurons + offset : now * neurons + end]
            number = _find_changes(
                sums[offset:end],
                constant_drive[offset:end],
                delta.shifts[offset:end],
                delta.ceiling,
                delta.bands[layer],
                told[offset:end],
                sent,
                mask,
            )
            events = at[: list_spikes(mask[:size], words[: (size + 7) // 8], at, NO)]
            lengths[which] = number
            state_hash += _hash_changes(events, sent, delta.keys[offset:end])
            _note_layer(program, layer, tau, steps, events, sent, out)
        which = now * number_of_layers + number_of_layers - 1
        if lengths[which] > 0:
            start = now * neurons + layers[number_of_layers - 1, OFFSET]
            _read_changes(readout, program, lists[start : start + lengths[which]], changes[start : now * neurons + neurons], row)
            out.operations[0] += lengths[which] * len(readout)
        out.hashes[tau] = state_hash
    _store_delta_results(program, delta, sums, told, readout, flags, out)


@compiled
def _note_layer(program: Any, layer: int, tau: int, steps: int, events: Any, sent: Any, out: Any) -> None:
    """Record what one layer sent in one step."""
    offset, size = program.layers[layer, OFFSET], program.layers[layer, SIZE]
    order = program.order[offset : offset + size]
    out.messages[tau] += len(events)
    _note_messages(events, order, out.counts[offset : offset + size])
    if len(out.trains) > 0:
        _note_changes(events, sent, order, out.trains[tau, offset : offset + size])
    for f in range(len(program.late)):
        if program.late[f, LATE_SOURCE] == layer and tau >= steps - program.late[f, LATE_DELAY]:
            at = program.late[f, LATE_OFFSET]
            _note_changes(events, sent, order, out.late[at : at + size])


@compiled
def _store_delta_results(program: Any, delta: Any, sums: Any, told: Any, readout: Any, flags: Any, out: Any) -> None:
    """Store sums, rates and flags in the network's own order, and the readout with its bias, clipped."""
    for layer in range(len(program.layers)):
        offset, end = program.layers[layer, OFFSET], program.layers[layer, OFFSET] + program.layers[layer, SIZE]
        order = program.order[offset:end]
        to_network_order(sums[offset:end], order, out.sums[offset:end])
        to_network_order(told[offset:end], order, out.told[offset:end])
        if out.clip_count[layer] > 0:
            to_network_order(flags[offset:end], order, out.clipped[offset:end])
    for c in range(len(readout)):
        exponent = program.readout_shift - STATE_FRACTION_BITS
        bias = (np.int64(program.readout_bias[c]) >> STATE_FRACTION_BITS) << delta.rate_bits
        raw = (readout[c] << exponent) + bias
        kept = min(max(raw, -STATE_MAX), STATE_MAX)
        out.readout[c] = kept
        out.clip_count[len(program.layers)] += raw != kept


@compiled
def run_delta_samples(first: int, end: int, program: Any, delta: Any, steps: int, drive: Any, values: Any, scratch: Any, out: Any) -> None:
    """Run samples first … end - 1 one by one: drive is [B, N1] or [B, 0] (units 2**-6), values [B, T or 1, inputs], scratch [M] zero."""
    for b in range(first, end):
        sample = DeltaOutputs(
            out.counts[b],
            out.told[b],
            out.late[b],
            out.sums[b],
            out.readout[b],
            out.clipped[b],
            out.clip_count[b],
            out.operations[b],
            out.messages[b],
            out.hashes[b],
            out.trains[b],
        )
        _run_delta_sample(program, delta, steps, drive[b], values[b], scratch, sample)
