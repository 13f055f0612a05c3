"""A second implementation of the chip, kept as plain as possible: full matrices, global time, one line per equation.

It shares no arithmetic with the package. `Faults` breaks it on purpose, to see whether this is noticed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.ir.result import Result

TOP = 2**23 - 1
Array = NDArray[np.int64]


@dataclass
class Faults:
    """What goes wrong. Each hook returns what is used instead; layers and synapses are numbered from 0, tau from 1."""

    matrix: Callable[[int, Array], Array] = lambda synapse, matrix: matrix  # weights [targets, sources] of chip.synapses[synapse]
    delivered: Callable[[int, int, Array], Array] = lambda layer, tau, spikes: spikes  # [B, N] on their way to the targets
    counted: Callable[[int, int, Array], Array] = lambda layer, tau, spikes: spikes  # [B, N] as recorded
    current: Callable[[int, int, Array], Array] = lambda layer, tau, current: current  # [B, N] units 2**-6
    potential: Callable[[int, int, Array], Array] = lambda layer, tau, u: u  # [B, N] after the reset
    late_by: Callable[[int], int] = lambda synapse: 0  # steps that a synapse takes too long
    shift: Callable[[int, Array, int], Array] = lambda synapse, total, bits: shifted(total, bits)  # a sum by 2**bits


@dataclass(frozen=True)
class Charged:
    """One step of a layer, each [B, N]."""

    u: Array  # after the reset, units 2**-6
    spikes: Array  # 0 or 1
    low: NDArray[np.bool_]  # clipped at the bottom
    high: NDArray[np.bool_]


class Neurons(Protocol):
    """The neurons of one layer, with their state."""

    def step(self, bias: Array, synaptic: Array) -> Charged:
        """One step with these currents, each [B, N], units 2**-6."""


class PlainNeurons:
    """E9."""

    def __init__(self, layer: Layer) -> None:
        self.layer, self.u = layer, np.zeros((1, layer.size), dtype=np.int64)

    def step(self, bias: Array, synaptic: Array) -> Charged:
        layer = self.layer
        charged = towards_zero(self.u, layer.decay) + bias + synaptic
        low, high = charged < -TOP, charged > TOP
        charged = np.clip(charged, -TOP, TOP)
        threshold = 64 * layer.per_neuron(layer.threshold).reshape(-1).astype(np.int64)
        spikes = (charged > threshold if layer.strict else charged >= threshold).astype(np.int64)
        self.u = charged - threshold * spikes if layer.reset == "subtract" else np.where(spikes == 1, 0, charged)
        return Charged(u=self.u, spikes=spikes, low=low, high=high)


def matrix_of(synapse: Synapse, source: tuple[int, ...], target: tuple[int, ...]) -> Array:
    """The synapse written out, [targets, sources], both flattened in (C, H, W) order."""
    weight = synapse.weight.astype(np.int64)
    if isinstance(synapse, DenseSynapse):
        return weight
    matrix = np.zeros((*target, *source), dtype=np.int64)
    kernel_height, kernel_width = weight.shape[2:]
    for oc in range(target[0]):
        for ic in range(source[0]):
            for ky in range(kernel_height):
                for kx in range(kernel_width):
                    for y, x, iy, ix in _pairs(synapse, ky, kx, source, target):
                        matrix[oc, y, x, ic, iy, ix] += _tap(synapse, weight, oc, ic, ky, kx, source, target)
    return matrix.reshape(int(np.prod(target)), int(np.prod(source)))


def _pairs(synapse: Synapse, ky: int, kx: int, source: tuple[int, ...], target: tuple[int, ...]) -> list[tuple[int, int, int, int]]:
    """(output row, output column, input row, input column) joined by one tap."""
    assert isinstance(synapse, ConvSynapse | TransposedConvSynapse)
    (sy, sx), (py, px) = synapse.stride, synapse.padding
    if isinstance(synapse, ConvSynapse):
        dy, dx = synapse.dilation
        pairs = [(y, x, y * sy - py + ky * dy, x * sx - px + kx * dx) for y in range(target[1]) for x in range(target[2])]
    else:
        pairs = [(y * sy - py + ky, x * sx - px + kx, y, x) for y in range(source[1]) for x in range(source[2])]
    return [p for p in pairs if 0 <= p[0] < target[1] and 0 <= p[1] < target[2] and 0 <= p[2] < source[1] and 0 <= p[3] < source[2]]


def _tap(synapse: Synapse, weight: Array, oc: int, ic: int, ky: int, kx: int, source: tuple[int, ...], target: tuple[int, ...]) -> int:
    if isinstance(synapse, TransposedConvSynapse):
        return int(weight[ic, oc, ky, kx])
    assert isinstance(synapse, ConvSynapse)
    inner, outer = source[0] // synapse.groups, target[0] // synapse.groups
    return int(weight[oc, ic % inner, ky, kx]) if oc // outer == ic // inner else 0


def touched(synapse: Synapse, source: tuple[int, ...], target: tuple[int, ...]) -> Array:
    """How many weights one message of each source touches, [sources]: the matrix of a synapse whose weights are all 1."""
    ones = type(synapse)(**{**synapse.__dict__, "weight": np.ones_like(synapse.weight)})
    return matrix_of(ones, source, target).sum(axis=0)


def shifted(total: Array, bits: int) -> Array:
    """total * 2**bits, rounded down."""
    return total * 2**bits if bits >= 0 else total // 2**-bits


def towards_zero(u: Array, decay: int) -> Array:
    return np.where(u < 0, -((-u * (4096 - decay)) // 4096), (u * (4096 - decay)) // 4096)


def host_drive(chip: ChipNetwork, values: NDArray[np.uint8]) -> Array:
    """Input kind "current": weight units [B, N], one number after the other."""
    drive, layer = chip.host_drive, chip.layers[0]
    assert drive is not None
    scale = layer.per_neuron(layer.scale)
    out = np.zeros((len(values), *layer.shape), dtype=np.int64)
    for index in np.ndindex(out.shape):
        sample, neuron = index[0], index[1:]
        total = 0.0
        if drive.weight.ndim == 2:
            for i, pixel in enumerate(values[sample].reshape(-1)):
                total += drive.weight[neuron[0], i] * float(pixel)
        else:
            for c, ky, kx in np.ndindex(drive.weight.shape[1:]):
                y, x = neuron[1] * drive.stride[0] - drive.padding[0] + ky, neuron[2] * drive.stride[1] - drive.padding[1] + kx
                if 0 <= y < values.shape[2] and 0 <= x < values.shape[3]:
                    total += drive.weight[neuron[0], c, ky, kx] * float(values[sample, c, y, x])
        out[index] = round((total + drive.bias[neuron]) / scale[neuron])
    return out.reshape(len(values), -1)


def simulate(
    chip: ChipNetwork,
    values: NDArray[np.uint8],
    *,
    steps: int | None = None,
    faults: Faults | None = None,
    neurons: Callable[[Layer], Neurons] = PlainNeurons,
) -> Result:
    """Run `values` through the chip in its global time g = 1 … T + N: layer l works at g = l … l + T - 1, then it is switched off.

    What a neuron sends at g arrives at g + 1, at the d-th layer after it at g + d. The readout is layer N + 1.
    """
    faults = faults or Faults()
    T, N, B = steps or chip.steps, len(chip.layers), len(values)
    shapes = {"input": chip.input.shape, **{layer.name: layer.shape for layer in chip.layers}}
    matrices = [faults.matrix(i, matrix_of(s, shapes[s.source], shapes[s.target])) for i, s in enumerate(chip.synapses)]
    ops = [touched(s, shapes[s.source], shapes[s.target]) for s in chip.synapses]
    sent = np.zeros((N, T + 1, B, max(layer.size for layer in chip.layers)), dtype=np.int64)  # [layer, tau] as delivered; tau 0 is silence
    recorded = sent.copy()
    u = [np.zeros((B, layer.size), dtype=np.int64) for layer in chip.layers]
    populations = [neurons(layer) for layer in chip.layers]
    flags = [np.zeros((B, layer.size), dtype=np.int64) for layer in chip.layers]
    readout = np.zeros((B, chip.readout.classes), dtype=np.int64)
    clip_count = np.zeros((B, N + 1), dtype=np.int64)
    operations = np.zeros(B, dtype=np.int64)
    drive = 64 * host_drive(chip, values) if chip.host_drive is not None else 0
    for g in range(1, T + N + 1):
        for number, layer in enumerate(chip.layers, start=1):
            tau = g - number + 1
            if not 1 <= tau <= T:
                continue
            size = layer.size
            bias = np.broadcast_to(64 * layer.bias.reshape(-1).astype(np.int64), (B, size)) + (drive if number == 1 else 0)
            synaptic = np.zeros((B, size), dtype=np.int64)
            for i, synapse in enumerate(chip.synapses):
                if synapse.target != layer.name:
                    continue
                if synapse.source == "input":
                    message = (values[:, tau - 1] if chip.input.kind == "events" else values).reshape(B, -1).astype(np.int64)
                else:
                    k = chip.index(synapse.source) + 1
                    then = g - max(1, number - k) - k + 1 - faults.late_by(i)  # the source's own time when the message was sent
                    message = sent[k - 1, then if 1 <= then <= T else 0, :, : chip.layers[k - 1].size]
                synaptic = synaptic + faults.shift(i, message @ matrices[i].T, 6 + synapse.exponent)
                operations += (message != 0) @ ops[i]
            done = populations[number - 1].step(bias, faults.current(number - 1, tau, bias + synaptic) - bias)
            flags[number - 1] |= done.low * 1 + done.high * 2
            clip_count[:, number - 1] += (done.low | done.high).sum(axis=1)
            u[number - 1] = faults.potential(number - 1, tau, done.u)
            if u[number - 1] is not done.u:
                populations[number - 1].u = u[number - 1]  # type: ignore[attr-defined]  # of E9's neurons
            sent[number - 1, tau, :, :size] = faults.delivered(number - 1, tau, done.spikes)
            recorded[number - 1, tau, :, :size] = faults.counted(number - 1, tau, done.spikes)
        tau = g - N
        if 1 <= tau <= T:
            message = sent[N - 1, tau, :, : chip.layers[-1].size]
            current = shifted(message @ chip.readout.weight.astype(np.int64).T, 6 + chip.readout.exponent) + 64 * chip.readout.bias
            charged = towards_zero(readout, chip.readout.decay) + current
            clip_count[:, N] += (np.abs(charged) > TOP).sum(axis=1)
            readout = np.clip(charged, -TOP, TOP)
            operations += (message != 0).sum(axis=1) * chip.readout.classes
    return _result(chip, T, recorded, u, flags, readout, clip_count, operations)


def _result(
    chip: ChipNetwork, T: int, recorded: Array, u: list[Array], flags: list[Array], readout: Array, clips: Array, ops: Array
) -> Result:
    B = recorded.shape[2]
    trains = [recorded[i, 1:, :, : layer.size].swapaxes(0, 1).reshape(B, T, *layer.shape) for i, layer in enumerate(chip.layers)]
    late = [trains[chip.index(s.source)][:, max(0, T - chip.delay(s)) :] for s in chip.feedback]
    updates = T * (sum(layer.size for layer in chip.layers) + chip.readout.classes)
    return Result(
        backend="emu",
        steps=T,
        digest=chip.digest(),
        weight_sum=chip.weight_sum(T),
        readout_scale=float(chip.readout.scale),
        counts=tuple(train.sum(axis=1).astype(np.int32) for train in trains),
        traces=tuple(_trace(train, chip.leak) for train in trains),
        late=tuple(train.sum(axis=1).astype(np.int32) for train in late),
        late_traces=tuple(_trace(train, chip.leak) for train in late),
        potentials=tuple(x.reshape(B, *layer.shape).astype(np.int32) for x, layer in zip(u, chip.layers)),
        readout=readout.astype(np.int32),
        clipped=tuple(x.reshape(B, *layer.shape).astype(np.uint8) for x, layer in zip(flags, chip.layers)),
        clip_count=clips,
        operations=ops,
        updates=np.full(B, updates, dtype=np.int64),
        spikes=tuple(train.astype(np.uint8) for train in trains),
    )


def _trace(train: Array, leak: float) -> NDArray[np.float64]:
    trace = np.zeros((train.shape[0], *train.shape[2:]))
    for tau in range(train.shape[1]):
        trace = trace * leak + train[:, tau]
    return trace


def assert_same(left: Result, right: Result) -> None:
    """Every spike, potential, count, trace, clip and operation is equal, bit by bit."""
    for name in ("steps", "digest", "weight_sum", "readout_scale"):
        assert getattr(left, name) == getattr(right, name), name
    for name in ("counts", "traces", "late", "late_traces", "potentials", "clipped", "spikes"):
        ours, theirs = getattr(left, name), getattr(right, name)
        if name == "spikes" and (ours is None or theirs is None):
            continue
        assert len(ours) == len(theirs), name
        for number, (a, b) in enumerate(zip(ours, theirs)):
            assert a.dtype == b.dtype, f"{name}[{number}]: {a.dtype} and {b.dtype}"
            np.testing.assert_array_equal(a, b, err_msg=f"{name}[{number}]")
    for name in ("readout", "clip_count", "operations", "updates", "messages", "cycles"):
        if getattr(left, name) is None and getattr(right, name) is None:
            continue
        assert getattr(left, name).dtype == getattr(right, name).dtype, name
        np.testing.assert_array_equal(getattr(left, name), getattr(right, name), err_msg=name)
