"""Rounding one layer: unit and exponents are chosen so that the layer's rates on calibration data change as little as possible.

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
SEARCHED_CONNECTIONS = 4  # up to so many into a layer, both roundings of every exponent are tried
_SHORTLIST = 5


@dataclass(frozen=True, kw_only=True, eq=False)
class RoundedLayer:
    """Integers for one layer; `scale` is the physical value of a weight unit, () or [C]."""

    weights: tuple[IntArray, ...]
    exponents: tuple[int, ...]
    threshold: IntArray
    bias: IntArray
    scale: FloatArray


def round_layer(problem: LayerProblem, *, bits: int, per_channel: bool) -> RoundedLayer:
    """The candidate whose rates on the calibration data are closest to the float layer's (the layer's defect in E12)."""
    candidates = [
        (_expected_error(problem, rounded), rounded)
        for relative in _relative_exponents(problem.connections)
        for rounded in _candidates(problem, relative, bits, per_channel)
    ]
    candidates.sort(key=lambda pair: pair[0])
    wanted = problem.current() / problem.vth
    return min((rounded for _, rounded in candidates[:_SHORTLIST]), key=lambda rounded: rounding_defect(problem, rounded, wanted))


def rounding_defect(problem: LayerProblem, rounded: RoundedLayer, wanted: FloatArray) -> float:
    """Mean squared error of the rates, plus a hundredth of that of current / threshold, which also counts saturated neurons."""
    got = _rounded_current(problem, rounded) / _per_neuron(rounded.threshold, problem.shape)
    clipped = np.clip(got, 0.0, 1.0) - np.clip(wanted, 0.0, 1.0)
    return float(np.mean(clipped**2) + 0.01 * np.mean((got - wanted) ** 2))


def _rounded_current(problem: LayerProblem, rounded: RoundedLayer) -> FloatArray:
    """[B, *shape] current in weight units: the integers applied to the calibration messages."""
    total = torch.zeros(())
    for connection, messages, weight, exponent in zip(
        problem.connections, problem.messages, rounded.weights, rounded.exponents, strict=True
    ):
        total = total + connection.with_weight(torch.from_numpy(weight * 2.0**exponent)).apply(messages)
    host = 0.0 if problem.host_current is None else np.rint(problem.host_current / _per_neuron(rounded.scale, problem.shape))
    return total.numpy() + rounded.bias + host


def _per_neuron(value: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """() or [C] broadcast to [*shape]."""
    return np.broadcast_to(value.reshape(value.shape + (1,) * (len(shape) - value.ndim)), shape)


def largest_integer(bits: int) -> int:
    """The largest integer that weights are rounded to: 2**(bits - 1) - 1."""
    return 2 ** (bits - 1) - 1


def _relative_exponents(connections: tuple[FoldedConnection, ...]) -> list[tuple[int, ...]]:
    """Exponents relative to the first connection's with which all use their integer range, rounded down and up (of many: to nearest)."""
    sizes = [float(c.weight.abs().max()) for c in connections]
    if len(sizes) < 2 or sizes[0] == 0.0:
        return [(0,) * len(sizes)]
    choices = []
    for size in sizes[1:]:
        ratio = log2(size / sizes[0]) if size > 0.0 else 0.0
        choices.append(sorted({floor(ratio), ceil(ratio)}) if len(sizes) <= SEARCHED_CONNECTIONS else [round(ratio)])
    return [(0, *exponents) for exponents in product(*choices)]


def _candidates(problem: LayerProblem, relative: tuple[int, ...], bits: int, per_channel: bool) -> list[RoundedLayer]:
    top, step_max = largest_integer(bits), problem.step_max()
    if not problem.connections:
        return [_in_window(problem, np.full(problem.shape[:1] if per_channel else (), problem.vth / 2048), (), top, step_max)]
    whole = np.max([_largest(c, per_channel) / (top * 2.0**e) for c, e in zip(problem.connections, relative, strict=True)], axis=0)
    whole = _without_zeros(np.asarray(whole), problem.vth)
    units = [whole * share for share in SHARES]
    if per_channel:
        errors = np.array([_expected_error_per_channel(problem, _rounded(problem, unit, relative, top)) for unit in units])
        best = np.take_along_axis(np.array(units), errors.argmin(axis=0)[None], axis=0)[0]
        units = [whole, best]
    return [_in_window(problem, unit, relative, top, step_max) for unit in units]


def _in_window(problem: LayerProblem, unit: FloatArray, relative: tuple[int, ...], top: int, step_max: float) -> RoundedLayer:
    """The layer rounded with `unit` and `relative`; all exponents are shifted together so that threshold and headroom fit."""
    shift = _exponent_shift(problem, unit, step_max)
    return _rounded(problem, unit * 2.0**-shift, tuple(e + shift for e in relative), top)


def _largest(connection: FoldedConnection, per_channel: bool) -> FloatArray:
    size = connection.weight.abs().transpose(0, connection.target_axis).flatten(1).amax(1).numpy()
    return size if per_channel else np.asarray(size.max())


def _without_zeros(unit: FloatArray, vth: float) -> FloatArray:
    """A channel without weights gets the unit of the others."""
    used = unit[unit > 0]
    return np.where(unit > 0, unit, np.median(used) if used.size else vth / 2048)


def _exponent_shift(problem: LayerProblem, unit: FloatArray, step_max: float) -> int:
    """Exponent of the first connection: as close to 0 as the threshold window and the headroom of a run allow."""
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


def _expected_error(problem: LayerProblem, rounded: RoundedLayer) -> float:
    return float(np.mean(_expected_error_per_channel(problem, rounded)))


def _expected_error_per_channel(problem: LayerProblem, rounded: RoundedLayer) -> FloatArray:
    """[C] expected squared error of current / vth if messages are independent, with the mean and variance of the calibration data."""
    total = np.zeros(problem.shape[0])
    for connection, messages, weight, exponent in zip(
        problem.connections, problem.messages, rounded.weights, rounded.exponents, strict=True
    ):
        step = np.broadcast_to(rounded.scale * 2.0**exponent, problem.shape[:1])
        off = torch.from_numpy(weight).double() - connection.weight / torch.from_numpy(step.copy()).view(
            [-1 if i == connection.target_axis else 1 for i in range(connection.weight.dim())]
        )
        off = off.transpose(0, connection.target_axis)  # [C, sources, ...]
        samples = messages.flatten(1) if connection.kind == "dense" else messages.transpose(0, 1).flatten(1).T
        mean, variance = samples.mean(0), samples.var(0, unbiased=False)
        each = off.flatten(2) if off.dim() > 2 else off.unsqueeze(2)
        bias = (each * _per_source(connection, mean)).sum((1, 2))
        noise = (each**2 * _per_source(connection, variance)).sum((1, 2))
        total += (bias**2 + noise).numpy() * (step / problem.vth) ** 2
    return total


def _per_source(connection: FoldedConnection, values: torch.Tensor) -> torch.Tensor:
    """[C_in] (dense: one per source neuron) as [1 or C, sources of a target channel, 1]."""
    operator = connection.operator
    if not isinstance(operator, Convolution) or operator.groups == 1:
        return values.view(1, -1, 1)
    return values.view(operator.groups, -1, 1).repeat_interleave(operator.channels // operator.groups, 0)
