"""The implicit gradient of several layers (E5) without an autograd graph: every transpose is written out, batch norm's included.

Values are kept channels last, which is fastest for convolutions and for the compiled passes over channels. The products of the backward
pass are taken in the solver's precision; everything between them is not rounded.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from fsnn_lava.compiled.batch_norm import gradient_sums, sample_moments, through_batch_norm, whiten_and_clip
from fsnn_lava.compiled.slopes import rises
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.nn.channel_rows import Rows, channel_rows, from_channel_rows, stored_channels_last
from fsnn_lava.nn.dropout import masked
from fsnn_lava.nn.implicit import Report
from fsnn_lava.nn.loop_map import LoopMap
from fsnn_lava.nn.operators import Operator
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.nn.stage import Stage
from fsnn_lava.solvers.solution import Solution
from fsnn_lava.solvers.solver import Solver

WORTH_A_THREAD = 2**17  # numbers above which threads pay off


@dataclass(frozen=True)
class Link:
    """A layer after the first, at the rates of one batch: everything that its transposed Jacobian needs.

    a -> sigma(mask (weight_n (F a - mean)/deviation + bias_n)/vth), or without batch norm sigma(mask F a/vth).
    """

    operator: Operator
    pool: int
    weight: Tensor  # in the precision of the products
    source: Tensor  # the rates of the layer before it, [B, ...]
    gain: Rows  # mask sigma'/vth
    white: Rows | None  # (F a - mean)/deviation
    factor: Rows | None  # [C] weight_n/deviation

    def transpose(self, grads: Tensor) -> Tensor:
        """Return J^T grads, the gradient of the rates before this layer."""
        return _transposed(self.operator, self.weight, self._unpooled(self._before_norm(grads)[0]))

    def parameter_gradients(self, grads: Tensor) -> tuple[Tensor, tuple[Tensor | None, ...]]:
        """Return J^T grads, and the gradients of F's weight and bias and of batch norm's."""
        back, plain, along = self._before_norm(grads)
        for_bias = back.transpose(0, 1).flatten(1).sum(1) if plain is None else torch.zeros_like(plain)  # batch norm cancels a bias
        back = self._unpooled(back)
        for_weight = _weight_gradient(self.operator, self.weight.dtype, self.source, back)
        return _transposed(self.operator, self.weight, back), (for_weight, for_bias, along, plain)

    def _before_norm(self, grads: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Return the gradient of F a after pooling, and the sums that are the gradients of batch norm's bias and weight."""
        given = channel_rows(grads)
        out = np.empty_like(given)
        if self.white is None or self.factor is None:
            np.multiply(given, self.gain, out=out)
            return from_channel_rows(out, grads.shape), None, None
        samples, places, channels = given.shape
        plain, along = np.empty((2, samples, channels), given.dtype)
        _each_sample(gradient_sums, given, self.gain, self.white, plain, along)
        total_plain, total_along = plain.sum(0, np.float64), along.sum(0, np.float64)
        number, kind = samples * places, given.dtype
        means = ((total / number).astype(kind) for total in (total_plain, total_along))
        _each_sample(through_batch_norm, given, self.gain, self.white, *means, self.factor, out)
        sums = [torch.from_numpy(total.astype(kind)) for total in (total_plain, total_along)]
        return from_channel_rows(out, grads.shape), sums[0], sums[1]

    def _unpooled(self, grads: Tensor) -> Tensor:
        """Apply the transpose of average pooling, whose size divides the convolution's rows and columns."""
        if self.pool == 1:
            return grads
        return grads.repeat_interleave(self.pool, 2).repeat_interleave(self.pool, 3) / self.pool**2


def _transposed(operator: Operator, weight: Tensor, grads: Tensor) -> Tensor:
    """Return W^T grads, computed in the weight's precision."""
    return operator.transpose(weight, grads.to(weight.dtype)).to(grads.dtype)


def _weight_gradient(operator: Operator, precision: torch.dtype, values: Tensor, grads: Tensor) -> Tensor:
    """Return dL/dW, computed in this precision."""
    return operator.weight_gradient(values.to(precision), grads.to(precision)).to(grads.dtype)


def chain_link(
    stage: Stage, source: Tensor, mask: Tensor | None, vth: float, rate_max: float = 1.0, *, precision: torch.dtype | None = None
) -> tuple[Link, Tensor]:
    """Return a layer of the chain at the rates `source`, and its own rates; batch norm uses the batch and updates its statistics (E7).

    `precision` is that of the layer's transposed products; by default, they are not rounded.
    """
    linear = stage.current(source)
    values = channel_rows(linear)
    rates, gain = np.empty_like(values), np.empty_like(values)
    number = values.dtype.type
    steepness, own_mask = number(1.0 / vth), values[:, :0] if mask is None else channel_rows(mask)
    channels = values.shape[2]
    mean, scale, weight, bias = np.zeros(channels, number), *np.ones((2, channels), number), np.zeros(channels, number)
    if stage.norm is not None:
        mean, scale = _statistics(stage.norm, values)
        weight, bias = stage.norm.weight.detach().numpy(), stage.norm.bias.detach().numpy()
    ends = number(vth * rate_max), number(rate_max)
    _each_sample(whiten_and_clip, values, mean, scale, weight, bias, own_mask, mask is not None, *ends, steepness, rates, gain)
    norm = (None, None) if stage.norm is None else (values, weight * scale)
    made = Link(stage.operator, stage.pool, stage.used_weight().detach().to(precision or source.dtype), source, gain, *norm)
    return made, from_channel_rows(rates, linear.shape)


def _statistics(norm: nn.BatchNorm1d | nn.BatchNorm2d, values: Rows) -> tuple[Rows, Rows]:
    """Return the mean and 1 / standard deviation over samples and positions, [C] each, and update the running statistics."""
    samples, places, channels = values.shape
    means, squares = np.empty((2, samples, channels), values.dtype)
    _each_sample(sample_moments, values, means, squares)
    mean = means.mean(0, np.float64)
    variance = (squares.sum(0, np.float64) + places * np.square(means - mean).sum(0)) / (samples * places)
    if norm.running_mean is not None and norm.running_var is not None and norm.num_batches_tracked is not None:
        momentum = 0.1 if norm.momentum is None else norm.momentum
        unbiased = variance * (samples * places / max(samples * places - 1, 1))
        norm.running_mean.lerp_(torch.from_numpy(mean).to(norm.running_mean.dtype), momentum)
        norm.running_var.lerp_(torch.from_numpy(unbiased).to(norm.running_var.dtype), momentum)
        norm.num_batches_tracked += 1
    return mean.astype(values.dtype), (1.0 / np.sqrt(variance + norm.eps)).astype(values.dtype)


class Chain:
    """f of E4 for several layers at the rates of one batch, linearised there: v -> J_f^T v, and the gradients of its parameters."""

    def __init__(self, loop: LoopMap, own: Tensor, rates: Tensor, precision: torch.dtype) -> None:
        (feedback,), (weight,), (self.mask,) = loop.feedbacks, loop.weights, loop.masks.feedbacks
        self.operator, self.weight, self.rates = feedback.operator, weight.detach().to(precision), rates
        current = own + masked(self.mask, self.operator.apply(weight.detach(), rates))
        self.slope = rises(current, loop.vths[0] * loop.rate_max).to(current.dtype).div_(loop.vths[0])
        self.gain = masked(self.mask, self.slope)
        self.links: list[Link] = []
        values = rate_of(current, loop.vths[0], loop.rate_max)
        for stage, mask, vth in list(zip(loop.stages, loop.masks.stages, loop.vths, strict=True))[1:]:
            made, values = chain_link(stage, values, mask, vth, loop.rate_max, precision=precision)
            self.links.append(made)
        self.mapped = values  # f(rates)

    def transpose(self, grads: Tensor) -> Tensor:
        """Return J_f^T grads."""
        for one in reversed(self.links):
            grads = one.transpose(grads)
        return _transposed(self.operator, self.weight, grads * self.gain)

    def parameter_gradients(self, grads: Tensor) -> tuple[Tensor, ...]:
        """Return grads^T df/d… for the first layer's own current, the feedback's weight, and the parameters of each later layer in turn."""
        found: list[tuple[Tensor | None, ...]] = []
        for one in reversed(self.links):
            grads, own = one.parameter_gradients(grads)
            found.append(own)
        through = grads * self.slope
        for_weight = _weight_gradient(self.operator, self.weight.dtype, self.rates, masked(self.mask, through))
        return through, for_weight, *(part for own in reversed(found) for part in own)


class _Chain(torch.autograd.Function):
    @staticmethod
    def forward(  # type: ignore[override]
        ctx: Any, chain: Chain, solve: Callable[[Tensor], Solution], report: Callable[[Solution], None], value: Tensor, own: Tensor,
        weight: Tensor, *parameters: Tensor | None,
    ) -> Tensor:  # fmt: skip
        ctx.chain, ctx.solve, ctx.report = chain, solve, report
        return value.view_as(value)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        with torch.no_grad():
            solution = ctx.solve(stored_channels_last(grads[0]))
            ctx.report(solution)
            return None, None, None, None, *ctx.chain.parameter_gradients(solution.value)


@torch.no_grad()
def linearised_chain(loop: LoopMap, own: Tensor, rates: Tensor, *, precision: torch.dtype | None = None) -> Chain:
    """Return f of a chain, linearised at `rates`; `own` is the first layer's current, excluding the feedback's.

    `precision` is that of the transposed products; by default, they are not rounded.
    """
    return Chain(loop, own.detach(), stored_channels_last(rates), precision or rates.dtype)


def implicit_chain_gradient(
    chain: Chain, loop: LoopMap, own: Tensor, *, value: Tensor, solve: Callable[[Tensor], Solution], report: Callable[[Solution], None]
) -> Tensor:
    """Return `value` with the gradient of the equilibrium that the rates of `chain` approximate, for `own` and all parameters of `loop`."""
    parameters: list[Tensor | None] = []
    for stage in list(loop.stages)[1:]:
        norm = (None, None) if stage.norm is None else (stage.norm.weight, stage.norm.bias)
        parameters += [stage.used_weight(), stage.bias, *norm]
    return _Chain.apply(chain, solve, report, value, own, loop.weights[0], *parameters)


def _each_sample(function: Callable[..., None], values: Rows, *args: Any) -> None:
    """Call function(first, end, values, *args) over all samples, on several threads if there is enough work for them."""
    number = torch.get_num_threads() if values.size > WORTH_A_THREAD else 1
    over_samples(lambda first, end: function(first, end, values, *args), len(values), number=number, least=1)


def attach_chain_gradient(rates: Tensor, loop: LoopMap, solver: Solver, *, report: Report, turn: bool = False) -> Tensor:
    """Attach the gradient as `attach_gradient` does, for a chain of several layers on a CPU, without an autograd graph of the loop."""
    own = loop.own_current()
    chain = linearised_chain(loop, own, rates.detach(), precision=_product_dtype(solver, rates.dtype))
    solve = partial(solver.solve_affine, chain.transpose, independent=False, whole=True)
    return implicit_chain_gradient(chain, loop, own, value=chain.mapped if turn else chain.rates, solve=solve, report=report)


def _product_dtype(solver: Solver, dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of the products for rates of this dtype: only float32 is reduced."""
    return torch.bfloat16 if solver.precision == "bfloat16" and dtype == torch.float32 else dtype
