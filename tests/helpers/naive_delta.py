"""A second implementation of delta encoding (E15), kept as plain as possible: full matrices, global time, one line per equation.

It shares no arithmetic with the package. `DeltaFaults` breaks it on purpose, to see whether this is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.delta_encoding import Activation
from fsnn_lava.ir.network import ChipNetwork, DeltaEncoding
from fsnn_lava.ir.result import Result
from tests.helpers.naive_simulator import TOP, Array, host_drive, matrix_of, touched
from tests.helpers.strategies import random_network


@dataclass
class DeltaFaults:
    """What goes wrong. Each hook returns what is used instead; layers and synapses are numbered from 0, tau from 1."""

    matrix: Callable[[int, Array], Array] = lambda synapse, matrix: matrix  # weights [targets, sources] of chip.synapses[synapse]
    delivered: Callable[[int, int, Array], Array] = lambda layer, tau, changes: changes  # [B, N] on their way to the targets
    received: Callable[[int, int, Array], Array] = lambda layer, tau, received: received  # [B, N] what a step adds to S
    start: Callable[[int, Array], Array] = lambda layer, sums: sums  # [B, N] S before the run
    drive: Callable[[int, Array], Array] = lambda layer, drive: drive  # [B, N]
    shift: Callable[[int, Array], Array] = lambda layer, shift: shift  # [N] s
    band: Callable[[int, int], int] = lambda layer, band: band
    late_by: Callable[[int], int] = lambda synapse: 0  # steps that a synapse takes too long
    rate: Callable[[int, int, Array, Array], Array] = lambda layer, tau, z, rate: rate  # [B, N] from z in units of 2**-(q + s)
    sent: Callable[[int, int, Array], Array] = lambda layer, tau, change: change  # [B, N] after the dead band
    told: Callable[[int, int, Array], Array] = lambda layer, tau, told: told  # [B, N] what a neuron remembers that it sent


def drives(chip: ChipNetwork, delta: DeltaEncoding, values: NDArray[np.uint8]) -> list[Array]:
    """2**q times bias and input, [B, N] per layer."""
    one, batch = 2**delta.rate_bits, len(values)
    found = [np.broadcast_to(one * layer.bias.reshape(-1).astype(np.int64), (batch, layer.size)) for layer in chip.layers]
    if chip.host_drive is not None:
        found[0] = found[0] + one * host_drive(chip, values)
    for synapse in chip.synapses:
        if synapse.source == "input" and chip.input.kind != "events":
            target = chip.layer(synapse.target)
            product = values.reshape(batch, -1).astype(np.int64) @ matrix_of(synapse, chip.input.shape, target.shape).T
            found[chip.index(target.name)] = found[chip.index(target.name)] + product * one * 2**6 // 2 ** (6 - synapse.exponent)
    return found


def frames_so_far(chip: ChipNetwork, delta: DeltaEncoding, values: NDArray[np.uint8], position: int, tau: int) -> Array:
    """2**q times what the first `tau` frames add to the drive of a layer, [B, N]: each with its weight, rounded down once, in the end."""
    steps, batch, layer = values.shape[1], len(values), chip.layers[position]
    decay = [((4096 - delta.frame_decay) / 4096) ** (steps - t) for t in range(1, steps + 1)]
    ends = [round(4096 * sum(decay[:t]) / sum(decay)) for t in range(steps + 1)]
    finest = min(s.exponent for s in chip.synapses if s.source == "input" and s.target == layer.name)
    total = np.zeros((batch, layer.size), dtype=np.int64)
    for synapse in chip.synapses:
        if synapse.source == "input" and synapse.target == layer.name:
            matrix = matrix_of(synapse, chip.input.shape, layer.shape)
            for t in range(tau):
                product = values[:, t].reshape(batch, -1).astype(np.int64) @ matrix.T
                total += (ends[t + 1] - ends[t]) * product * 2 ** (synapse.exponent - finest)
    return total * 2**delta.rate_bits * 2**6 // 2 ** (6 + 12 - finest)


def simulate_delta(chip: ChipNetwork, values: NDArray[np.uint8], *, steps: int | None = None, faults: DeltaFaults | None = None) -> Result:
    """Run `values` through the chip in its global time g = 1 … T + N: layer l works at g = l … l + T - 1, then it is switched off.

    What a neuron sends at g arrives at g + 1, at the d-th layer after it at g + d. The readout adds up what the last layer sends.
    """
    faults, delta = faults or DeltaFaults(), chip.delta
    assert delta is not None
    T, N, B, one = steps or chip.steps, len(chip.layers), len(values), 2**delta.rate_bits
    shapes = {"input": chip.input.shape, **{layer.name: layer.shape for layer in chip.layers}}
    matrices = [faults.matrix(i, matrix_of(s, shapes[s.source], shapes[s.target])) for i, s in enumerate(chip.synapses)]
    ops = [touched(s, shapes[s.source], shapes[s.target]) for s in chip.synapses]
    sent = np.zeros((N, T + 1, B, max(layer.size for layer in chip.layers)), dtype=np.int64)  # [layer, tau]; tau 0 is silence
    delivered = sent.copy()
    sums = [faults.start(i, np.zeros((B, layer.size), dtype=np.int64)) for i, layer in enumerate(chip.layers)]
    told = [np.zeros((B, layer.size), dtype=np.int64) for layer in chip.layers]
    flags = [np.zeros((B, layer.size), dtype=np.int64) for layer in chip.layers]
    clip_count, operations = np.zeros((B, N + 1), dtype=np.int64), np.zeros(B, dtype=np.int64)
    constant = [faults.drive(i, drive) for i, drive in enumerate(drives(chip, delta, values))]
    framed = [chip.input.kind == "events" and any(s.source == "input" for s in chip.into(layer)) for layer in chip.layers]
    for i, drive in enumerate(constant):
        if framed[i]:
            continue
        flags[i] |= (drive < -TOP) * 1 + (drive > TOP) * 2
        clip_count[:, i] += (np.abs(drive) > TOP).sum(axis=1)
        constant[i] = np.clip(drive, -TOP, TOP)
    for i, synapse in enumerate(chip.synapses):
        if synapse.source == "input":
            operations += (values.reshape(B, -1, len(ops[i])) != 0).sum(axis=1) @ ops[i]
    for g in range(1, T + N + 1):
        for number, layer in enumerate(chip.layers, start=1):
            tau = g - number + 1
            if not 1 <= tau <= T:
                continue
            received = np.zeros((B, layer.size), dtype=np.int64)
            for i, synapse in enumerate(chip.synapses):
                if synapse.target != layer.name or synapse.source == "input":
                    continue
                k = chip.index(synapse.source) + 1
                then = g - max(1, number - k) - k + 1 - faults.late_by(i)  # the source's own time when the message was sent
                change = delivered[k - 1, then if 1 <= then <= T else 0, :, : chip.layers[k - 1].size]
                received += (change @ matrices[i].T) * 2**synapse.exponent
                operations += (change != 0) @ ops[i]
            raw = sums[number - 1] + faults.received(number - 1, tau, received)
            flags[number - 1] |= (raw < -TOP) * 1 + (raw > TOP) * 2
            clip_count[:, number - 1] += (np.abs(raw) > TOP).sum(axis=1)
            sums[number - 1] = np.clip(raw, -TOP, TOP)
            threshold = layer.per_neuron(layer.threshold).reshape(-1).astype(np.int64)
            shift = faults.shift(number - 1, np.array([int(t).bit_length() - 1 for t in threshold]))
            drive = constant[number - 1]
            if framed[number - 1]:
                drive = drive + frames_so_far(chip, delta, values, number - 1, tau)
                flags[number - 1] |= (drive < -TOP) * 1 + (drive > TOP) * 2
                clip_count[:, number - 1] += (np.abs(drive) > TOP).sum(axis=1)
                drive = np.clip(drive, -TOP, TOP)
            z = sums[number - 1] + drive
            rate = faults.rate(number - 1, tau, z, np.clip(z // 2**shift, 0, one if delta.activation == "clip" else 2**15 - 1))
            change = rate - told[number - 1]
            change = np.where(np.abs(change) >= faults.band(number - 1, delta.dead_bands[number - 1]), change, 0)
            change = faults.sent(number - 1, tau, change)
            told[number - 1] = faults.told(number - 1, tau, told[number - 1] + change)
            sent[number - 1, tau, :, : layer.size] = change
            delivered[number - 1, tau, :, : layer.size] = faults.delivered(number - 1, tau, change)
    last = delivered[N - 1, 1:, :, : chip.layers[-1].size]
    operations += (last != 0).sum(axis=(0, 2)) * chip.readout.classes
    raw = (last.sum(axis=0) @ chip.readout.weight.astype(np.int64).T) * 2**chip.readout.exponent + one * chip.readout.bias.astype(np.int64)
    clip_count[:, N] += (np.abs(raw) > TOP).sum(axis=1)
    return _result(chip, T, sent, sums, flags, np.clip(raw, -TOP, TOP), clip_count, operations)


def _result(
    chip: ChipNetwork, T: int, sent: Array, sums: list[Array], flags: list[Array], readout: Array, clips: Array, ops: Array
) -> Result:
    B = sent.shape[2]
    trains = [sent[i, 1:, :, : layer.size].swapaxes(0, 1).reshape(B, T, *layer.shape) for i, layer in enumerate(chip.layers)]
    late = [trains[chip.index(s.source)][:, max(0, T - chip.delay(s)) :].sum(axis=1) for s in chip.feedback]
    return Result(
        backend="emu",
        steps=T,
        digest=chip.digest(),
        weight_sum=chip.weight_sum(T),
        readout_scale=float(chip.readout.scale) * 64,
        counts=tuple((train != 0).sum(axis=1).astype(np.int32) for train in trains),
        traces=tuple(train.sum(axis=1).astype(np.float64) for train in trains),
        late=tuple(part.astype(np.int32) for part in late),
        late_traces=tuple(part.astype(np.float64) for part in late),
        potentials=tuple(x.reshape(B, *layer.shape).astype(np.int32) for x, layer in zip(sums, chip.layers)),
        readout=readout.astype(np.int32),
        clipped=tuple(x.reshape(B, *layer.shape).astype(np.uint8) for x, layer in zip(flags, chip.layers)),
        clip_count=clips,
        operations=ops,
        updates=np.full(B, T * (sum(layer.size for layer in chip.layers) + chip.readout.classes), dtype=np.int64),
        spikes=tuple(train.astype(np.int16) for train in trains),
        messages=sum((train != 0).reshape(B, T, -1).sum(axis=2) for train in trains).astype(np.int32),  # type: ignore[union-attr]
        cycles=_cycles(chip, trains, T),
    )


def _cycles(chip: ChipNetwork, trains: list[Array], T: int) -> NDArray[np.int32]:
    """The shortest period with which all rates repeat over the longest delay plus one step, found by comparing them; 0 if silent."""
    B = len(trains[0])
    rates = np.concatenate([np.cumsum(train.reshape(B, T, -1), axis=1) for train in trains], axis=2)
    window = max([chip.delay(s) for s in chip.feedback], default=0) + 1
    found = np.zeros(B, np.int32)
    before = np.concatenate([np.zeros_like(rates[:, :1]), rates], axis=1)  # from step 0 on
    for sample in range(B):
        for period in range(T - window, 0, -1):
            same = (rates[sample, T - window :] == rates[sample, T - window - period : T - period]).all()
            moved = (np.diff(before[sample, T - period :], axis=0) != 0).any()
            found[sample] = period if same and moved else found[sample]
    return found


def as_delta(chip: ChipNetwork, *, rate_bits: int = 8, band: int = 5, activation: Activation = "clip") -> ChipNetwork:
    """A rate network with thresholds of 512 and delta encoding."""
    layers = tuple(replace(layer, threshold=np.array(512)) for layer in chip.layers)
    delta = DeltaEncoding(rate_bits=rate_bits, dead_bands=(band,) * len(layers), activation=activation)
    return replace(chip, layers=layers, delta=delta)


def random_delta_network(
    rng: np.random.Generator, *, layers: int | None = None, wild: bool = False, dense: bool | None = None
) -> ChipNetwork:
    """A random network whose thresholds, exponents and dead bands are those of delta encoding; `wild`: sums leave the state's range."""
    kind = str(rng.choice(["pixels", "pixels", "current", "events"]))
    return with_random_delta(
        rng, random_network(rng, layers=layers, kind=kind, decay=0, reset="subtract", strict=False, dense=dense), wild=wild
    )


def with_random_delta(rng: np.random.Generator, chip: ChipNetwork, *, wild: bool = False, activation: Activation = "clip") -> ChipNetwork:
    """A rate network without leak with the thresholds, exponents and dead bands of delta encoding."""
    delta = DeltaEncoding(
        rate_bits=int(rng.integers(6, 13)),
        dead_bands=tuple(int(b) for b in rng.integers(1, int(rng.choice([3, 30])), len(chip.layers))),
        frame_decay=int(rng.choice([0, 205])) if chip.input.kind == "events" else 0,
        activation=activation,
    )
    parts = [replace(layer, threshold=2 ** np.ceil(np.log2(layer.threshold + 1)).astype(np.int64).clip(1, 16)) for layer in chip.layers]
    highest = 12 if wild else 2
    synapses = [
        replace(s, exponent=int(rng.integers(-6, 1)) if s.source == "input" else int(rng.integers(0, highest + 1))) for s in chip.synapses
    ]
    readout = replace(chip.readout, exponent=int(rng.integers(0, highest + 1)))
    return replace(chip, layers=tuple(parts), synapses=tuple(synapses), readout=readout, delta=delta)
