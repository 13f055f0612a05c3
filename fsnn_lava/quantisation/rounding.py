"""Rounding of one layer: unit and exponents are chosen so that the layer's rates on calibration data change as little as possible.

All synapses into a layer share one weight unit (per layer, or per channel), and each has a power-of-two exponent:
weight ~ integer * 2**exponent * unit. Scaling a neuron's inputs, bias and threshold together changes nothing, so any unit will do.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import ceil, floor, log2
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.nn.operators import Convolution
from fsnn_lava.quantisation.folded_network import FoldedConnection
from fsnn_lava.quantisation.layer_problem import LayerProblem

FloatArray = NDArray[np.float64]
IntArray = NDArray[Any]  # int64; ChipNetwork checks the range and narrows it

THRESHOLD_WINDOW = (500.0, 4000.0)  # weight units: fine enough for bias and threshold, small enough for headroom
THRESHOLD_MIN = 64.0  # thresholds below the window, down to this one, are used only to keep a step from overflowing the state
SHARES = (
    1.0,
    0.98,
    0.95,
    0.92,
    0.88,
    0.84,
    0.8,
    0.75,
    0.7,
    0.64,
    0.58,
    0.52,
    0.46,
    0.4,
    0.34,
)  # clipping ranges to try, relative to the largest weight
HEADROOM = 4.0  # times what the potentials of a calibration run need, as far as the threshold window allows
SEARCHED_CONNECTIONS = 4  # with at most this many into a layer, both roundings of every exponent are tried
_SHORTLIST = 5
NUMBERS_AT_ONCE = 2**16  # weights whose rounding errors are summed together


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundedLayer:
    """Integers for one layer; `scale` is the physical value of a weight unit, () or [C]."""

    weights: tuple[IntArray, ...]
    exponents: tuple[int, ...]
    threshold: IntArray
    bias: IntArray
    scale: FloatArray


@dataclass(frozen=True, eq=False)
class Grid:
    """The grid that weights are rounded to: multiples of unit * 2**exponent, one exponent per connection; the unit is () or [C]."""

    unit: FloatArray
    exponents: tuple[int, ...]


def round_layer(problem: LayerProblem, *, bits: int, per_channel: bool) -> RoundedLayer:
    """Round a layer so that its rates on the calibration data are closest to the float layer's (the layer's defect in E12)."""
    top, step_max = largest_integer(bits), problem.step_max()
    expected = ExpectedError(problem, top)
    grids = [
        grid for relative in _relative_exponents(problem.connections) for grid in _grids(problem, expected, relative, top, per_channel)
    ]
    grids.sort(key=lambda grid: float(expected.per_channel(grid).mean()))
    candidates = [_in_window(problem, grid, top, step_max) for grid in grids[:_SHORTLIST]]
    wanted = problem.current() / problem.vth
    return min(candidates, key=lambda rounded: rounding_defect(problem, rounded, wanted))


def rounding_defect(problem: LayerProblem, rounded: RoundedLayer, wanted: FloatArray) -> float:
    """Return the mean squared error of the rounded rates, plus 1/100 of that of current / threshold, to count saturated neurons too."""
    got = _rounded_current(problem, rounded) / _per_neuron(rounded.threshold, problem.shape)
    clipped = np.clip(got, 0.0, problem.rate_max) - np.clip(wanted, 0.0, problem.rate_max)
    return float(np.mean(clipped**2) + 0.01 * np.mean((got - wanted) ** 2))


def _rounded_current(problem: LayerProblem, rounded: RoundedLayer) -> FloatArray:
    """Return the current in weight units, [B, *shape]: the integers applied to the calibration messages."""
    total = torch.zeros(())
    for connection, messages, weight, exponent in zip(
        problem.connections, problem.messages, rounded.weights, rounded.exponents, strict=True
    ):
        total = total + connection.with_weight(torch.from_numpy(weight * 2.0**exponent)).apply(messages)
    host = 0.0 if problem.host_current is None else np.rint(problem.host_current / _per_neuron(rounded.scale, problem.shape))
    return total.numpy() + rounded.bias + host


def _per_neuron(value: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Broadcast () or [C] to [*shape]."""
    return np.broadcast_to(value.reshape(value.shape + (1,) * (len(shape) - value.ndim)), shape)


def largest_integer(bits: int) -> int:
    """Return the largest integer that weights are rounded to: 2**(bits - 1) - 1."""
    return 2 ** (bits - 1) - 1


def _relative_exponents(connections: tuple[FoldedConnection, ...]) -> list[tuple[int, ...]]:
    """Return exponents, relative to the first, that let all connections use their full range, rounded down and up (if many, to nearest)."""
    sizes = [float(c.weight.abs().max()) for c in connections]
    if len(sizes) < 2 or sizes[0] == 0.0:
        return [(0,) * len(sizes)]
    choices = []
    for size in sizes[1:]:
        ratio = log2(size / sizes[0]) if size > 0.0 else 0.0
        choices.append(sorted({floor(ratio), ceil(ratio)}) if len(sizes) <= SEARCHED_CONNECTIONS else [round(ratio)])
    return [(0, *exponents) for exponents in product(*choices)]


def _grids(problem: LayerProblem, expected: ExpectedError, relative: tuple[int, ...], top: int, per_channel: bool) -> list[Grid]:
    """Return the grids to try: those of SHARES, or, per channel, the whole range and the best of SHARES."""
    if not problem.connections:
        return [Grid(np.full(problem.shape[:1] if per_channel else (), problem.vth / 2048), ())]
    whole = np.max([_largest(c, per_channel) / (top * 2.0**e) for c, e in zip(problem.connections, relative, strict=True)], axis=0)
    whole = _without_zeros(np.asarray(whole), problem.vth)
    grids = [Grid(whole * share, relative) for share in SHARES]
    if per_channel:
        errors = np.array([expected.per_channel(grid) for grid in grids])
        best = np.take_along_axis(np.array([grid.unit for grid in grids]), errors.argmin(axis=0)[None], axis=0)[0]
        grids = [grids[0], Grid(best, relative)]
    return grids


def _in_window(problem: LayerProblem, grid: Grid, top: int, step_max: float) -> RoundedLayer:
    """Round the layer to `grid`; all exponents are shifted together so that threshold and headroom fit."""
    shift = _exponent_shift(problem, grid.unit, step_max)
    return _rounded(problem, grid.unit * 2.0**-shift, tuple(e + shift for e in grid.exponents), top)


def _largest(connection: FoldedConnection, per_channel: bool) -> FloatArray:
    size = connection.weight.abs().transpose(0, connection.target_axis).flatten(1).amax(1).numpy()
    return size if per_channel else np.asarray(size.max())


def _without_zeros(unit: FloatArray, vth: float) -> FloatArray:
    """Give each channel without weights the median unit of the others."""
    used = unit[unit > 0]
    return np.where(unit > 0, unit, np.median(used) if used.size else vth / 2048)


def _exponent_shift(problem: LayerProblem, unit: FloatArray, step_max: float) -> int:
    """Return the exponent of the first connection: as close to 0 as the threshold window and the headroom of a run allow."""
    threshold = problem.vth / float(np.median(unit))
    shift = 0
    while threshold * 2.0**shift < THRESHOLD_WINDOW[0]:
        shift += 1
    while threshold * 2.0**shift > THRESHOLD_WINDOW[1]:
        shift -= 1
    needed = HEADROOM * problem.potential_max / float(unit.min())
    while needed * 2.0**shift > limits.THRESHOLD_MAX and threshold * 2.0 ** (shift - 1) >= THRESHOLD_WINDOW[0]:
        shift -= 1
    step = 1.05 * step_max / float(unit.min())
    while step * 2.0**shift > limits.THRESHOLD_MAX and threshold * 2.0 ** (shift - 1) >= THRESHOLD_MIN:
        shift -= 1
    return shift


def _rounded(problem: LayerProblem, unit: FloatArray, exponents: tuple[int, ...], top: int) -> RoundedLayer:
    weights = []
    for connection, exponent in zip(problem.connections, exponents, strict=True):
        step = unit * 2.0**exponent
        if step.ndim:
            step = np.expand_dims(step, tuple(i for i in range(connection.weight.dim()) if i != connection.target_axis))
        weights.append(np.clip(np.rint(connection.weight.numpy() / step), -top, top).astype(np.int64))
    return RoundedLayer(
        weights=tuple(weights),
        exponents=exponents,
        threshold=np.maximum(np.rint(problem.vth / unit), 1).astype(np.int64),
        bias=np.rint(problem.bias / _per_neuron(unit, problem.shape)).astype(np.int64),
        scale=unit,
    )


class ExpectedError:
    """The expected squared error of current / vth if messages are independent, with the mean and variance of the calibration data."""

    def __init__(self, problem: LayerProblem, top: int) -> None:
        self.channels, self.vth, self.top = problem.shape[0], problem.vth, top
        self.weights: list[FloatArray] = []  # [C, sources, taps] per connection
        self.moments: list[tuple[FloatArray, FloatArray]] = []  # mean and variance of its messages, [1 or C, sources] each
        for connection, messages in zip(problem.connections, problem.messages, strict=True):
            by_target = connection.weight.transpose(0, connection.target_axis)
            self.weights.append(by_target.reshape(self.channels, by_target.shape[1], -1).contiguous().numpy())
            samples = messages.flatten(1) if connection.kind == "dense" else messages.transpose(0, 1).flatten(1).T
            moments = samples.mean(0).numpy(), samples.var(0, unbiased=False).numpy()
            self.moments.append((_per_source(connection, moments[0]), _per_source(connection, moments[1])))

    def per_channel(self, grid: Grid) -> FloatArray:
        """Return the expected error of the weights rounded to `grid`, [C]."""
        total = np.zeros(self.channels)
        for weight, moments, exponent in zip(self.weights, self.moments, grid.exponents, strict=True):
            step = np.broadcast_to(grid.unit * 2.0**exponent, (self.channels,))
            total += self._of_connection(weight, *moments, step) * (step / self.vth) ** 2
        return total

    def _of_connection(self, weight: FloatArray, mean: FloatArray, variance: FloatArray, step: FloatArray) -> FloatArray:
        """Return the error of one connection in units of `step`, [C]; a few channels at a time, so that they stay in the cache."""
        out, together = np.empty(self.channels), max(1, NUMBERS_AT_ONCE // weight[0].size)
        for first in range(0, self.channels, together):
            rows = slice(first, first + together)
            exact = weight[rows] / step[rows, None, None]
            off = np.clip(np.rint(exact), -self.top, self.top)
            off -= exact
            own_mean, own_variance = (part[rows] if len(part) > 1 else part for part in (mean, variance))
            bias = (off.sum(2) * own_mean).sum(1)
            out[rows] = bias**2 + (np.square(off, out=off).sum(2) * own_variance).sum(1)
        return out


def _per_source(connection: FoldedConnection, values: FloatArray) -> FloatArray:
    """Return [C_in] (for a dense connection, one per source neuron) as [1 or C, sources of a target channel]."""
    operator = connection.operator
    if not isinstance(operator, Convolution) or operator.groups == 1:
        return values[None]
    return values.reshape(operator.groups, -1).repeat(operator.channels // operator.groups, 0)
