"""What the dense run does to every neuron between two products. `state` are the arrays of DenseRun._run, channels last, B rows each."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsnn_lava.chip.arithmetic import clipped, leaked, shift
from fsnn_lava.chip.limits import DECAY_UNIT
from fsnn_lava.compiled import compiled
from fsnn_lava.emulator.events import Outputs, charge, constant_current, decay_traces, fire, to_network_order, write_down
from fsnn_lava.emulator.program import OFFSET, SIZE, STRICT, SUBTRACT


@compiled
def begin_samples(first: int, end: int, program: Any, drive: Any, messages: Any, state: Any) -> None:
    """The constant current of every layer, and the weights that a static input touches at each step."""
    u, constant, static = state[0], state[1], state[8]
    extra = np.zeros_like(u[0])
    for b in range(first, end):
        static[b] = constant_current(program, drive[b], messages[b, 0], extra, constant[b])


@compiled
def step_samples(
    first: int,
    end: int,
    layer: int,
    tau: int,
    steps: int,
    program: Any,
    sums: Any,
    bits: Any,
    state: Any,
    clip_count: Any,
    train: Any,
    out: Any,
) -> None:
    """One step of one layer: `sums` [synapses, B, N] are products not yet shifted by `bits`; its spikes go to `out` [B, N]."""
    u, constant, flags, mask, trace, late_trace, counts, late, _ = state
    start, size = program.layers[layer, OFFSET], program.layers[layer, SIZE]
    stop = start + size
    strict, subtract = program.layers[layer, STRICT], program.layers[layer, SUBTRACT] == 1
    leak = program.keep / DECAY_UNIT
    for b in range(first, end):
        potentials, spikes = u[b, start:stop], mask[b, start:stop]
        charge(potentials, constant[b, start:stop], program.keep)
        for k in range(len(sums)):
            for i in range(size):
                potentials[i] += shift(np.int64(np.int32(sums[k, b, i])), bits[k])  # below 2**24; 32 bits are converted in vectors
        clip_count[b, layer] += fire(potentials, program.threshold[start:stop], strict, subtract, spikes, flags[b, start:stop])
        for i in range(size):
            counts[b, start + i] += spikes[i]
            out[b, i] = spikes[i]
        if train.shape[1] > 0:
            to_network_order(spikes, program.order[start:stop], train[b, start:stop])
        if trace.shape[1] > 0:
            decay_traces(trace[b, start:stop], leak, spikes)
        for f in range(len(program.late)):
            if program.late[f, 0] == layer and tau >= steps - program.late[f, 1]:
                at = program.late[f, 2]
                for i in range(size):
                    late[b, at + i] += spikes[i]
                if trace.shape[1] > 0:
                    decay_traces(late_trace[b, at : at + size], leak, spikes)


@compiled
def readout_samples(first: int, end: int, program: Any, sums: Any, readout: Any, clip_count: Any) -> None:
    """One step of the readout from `sums` [B, classes], not yet shifted."""
    last = len(program.layers)
    for b in range(first, end):
        for c in range(readout.shape[1]):
            raw = leaked(readout[b, c], program.keep) + shift(np.int64(sums[b, c]), program.readout_shift) + program.readout_bias[c]
            readout[b, c] = clipped(raw)
            clip_count[b, last] += raw != readout[b, c]


@compiled
def end_samples(first: int, end: int, program: Any, state: Any, out: Any) -> None:
    """Everything in the network's own order."""
    u, _, flags, _, trace, late_trace, counts, late, _ = state
    for b in range(first, end):
        row = Outputs(
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
        write_down(program, u[b], trace[b], late_trace[b], flags[b], row)
        for layer in range(len(program.layers)):
            start, stop = program.layers[layer, OFFSET], program.layers[layer, OFFSET] + program.layers[layer, SIZE]
            order = program.order[start:stop]
            to_network_order(counts[b, start:stop], order, out.counts[b, start:stop])
            for f in range(len(program.late)):
                at = program.late[f, 2]
                if program.late[f, 0] == layer:
                    to_network_order(late[b, at : at + stop - start], order, out.late[b, at : at + stop - start])
