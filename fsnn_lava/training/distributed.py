"""A network that many processes train as one: what couples the samples of a batch is taken over the joint batch.

Each process has its share of every batch. Batch norm's statistics are those of all shares, dropout masks are drawn for the joint
batch and cut, residuals are divided by what the joint batch divides them by, and gradients are summed: the same step as one process
with the joint batch makes, up to the order in which floats are added. Where no batch norm couples the samples of a solve, each process
stops when its own are solved: then steps agree to the solver's tolerance.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor, nn

from fsnn_lava.nn.dropout import Masks
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.solvers.equilibrium import Solver, lengths
from fsnn_lava.training.world import World


def join(net: FSNN, world: World) -> None:
    """Couple `net` to those of the other processes; a world of one changes nothing."""
    if world.size == 1:
        return
    world.copy_from_first(*net.state_dict().values())
    net.solver = JointSolver(method=net.solver.method, tol=net.solver.tol, max_steps=net.solver.max_steps, world=world)
    for stage in net.stages:
        if stage.norm is not None:
            stage.norm = JointBatchNorm(stage.norm, world)  # type: ignore[arg-type]


def cut_masks(net: FSNN, world: World, samples: int) -> None:
    """The next forward pass is one share of a joint batch of `samples`: draw its dropout for all of them, and keep our part."""
    mine = world.share(samples)

    def masks(_share: int, like: Tensor) -> Masks:
        whole = FSNN._masks(net, samples, like)
        kept = [None if mask is None else mask[mine] for mask in (*whole.stages, whole.feedback)]
        return Masks(tuple(kept[:-1]), kept[-1])

    net._masks = masks  # type: ignore[method-assign,assignment]


def sum_gradients(net: FSNN, world: World) -> None:
    """Every parameter's gradient is the sum over all processes afterwards, in one message."""
    if world.size == 1:
        return
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    total = world.total(torch.cat([grad.flatten() for grad in grads]))
    for parameter, summed in zip(parameters, total.split([grad.numel() for grad in grads]), strict=True):
        parameter.grad = summed.view_as(parameter)


@dataclass(frozen=True)
class JointSolver(Solver):
    """A solver whose processes take the same steps where products need all of them, as those through batch norm do."""

    world: World = field(default_factory=World)

    def scale(self, constant: Tensor) -> Tensor:
        squares = constant.flatten(1).square().sum()
        total, samples = self.world.total(torch.stack([squares, squares.new_tensor(float(len(constant)))])).unbind()
        return lengths(constant, typical=(total / samples).sqrt())

    def stop(self, small_enough: Tensor) -> bool:
        return not bool(self.world.total((~small_enough).sum()))


class JointBatchNorm(nn.BatchNorm2d):
    """Batch norm of [B, C] or [B, C, H, W] with the statistics of everybody's samples (E7); its parameters are the original's."""

    def __init__(self, norm: nn.BatchNorm1d | nn.BatchNorm2d, world: World) -> None:
        super().__init__(norm.num_features, eps=norm.eps, momentum=norm.momentum)
        self.weight, self.bias, self.world = norm.weight, norm.bias, world
        self.running_mean, self.running_var, self.num_batches_tracked = norm.running_mean, norm.running_var, norm.num_batches_tracked

    def forward(self, values: Tensor) -> Tensor:
        if not self.training:
            return nnf.batch_norm(values, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
        out, mean, variance, count = _JointNorm.apply(values, self.weight, self.bias, self.eps, self.world)
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            momentum = 0.1 if self.momentum is None else self.momentum
            with torch.no_grad():
                self.running_mean.lerp_(mean, momentum)
                self.running_var.lerp_(variance * (count / (count - 1.0)), momentum)
                self.num_batches_tracked += 1
        return out


class _JointNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor, eps: float, world: World) -> tuple[Tensor, ...]:  # type: ignore[override]
        axes = [axis for axis in range(values.dim()) if axis != 1]
        row = (1, -1, *[1] * (values.dim() - 2))
        number = values.new_tensor([float(values.numel() // values.shape[1])])
        sums = world.total(torch.cat([values.sum(axes), number]))
        mean, count = sums[:-1] / sums[-1], sums[-1]
        centred = values - mean.view(row)
        variance = world.total(centred.square().sum(axes)) / count
        scale = torch.rsqrt(variance + eps)
        whitened = centred.mul_(scale.view(row))
        ctx.save_for_backward(whitened, weight, scale, count)
        ctx.axes, ctx.row, ctx.world = axes, row, world
        ctx.mark_non_differentiable(mean, variance, count)
        return whitened * weight.view(row) + bias.view(row), mean, variance, count

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        whitened, weight, scale, count = ctx.saved_tensors
        grad, row = grads[0], ctx.row
        for_bias, for_weight = grad.sum(ctx.axes), (grad * whitened).sum(ctx.axes)
        over_all = ctx.world.total(torch.stack([for_bias, for_weight])) / count
        back = grad - over_all[0].view(row) - whitened * over_all[1].view(row)
        return back * (weight * scale).view(row), for_weight, for_bias, None, None
