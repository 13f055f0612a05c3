"""Distributed training, several processes for one network: whatever couples the samples of a batch is computed over the joint batch.

Each process has its share of every batch. Batch norm's statistics are those of all shares, dropout masks are drawn for the joint batch
and split, residuals are divided by the joint batch's scale, and gradients are summed. The step is that of one process with the joint
batch, up to the order in which floats are added. If no batch norm couples the samples of a solve, each process stops when its own
samples are solved; steps then agree to within the solver's tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.dropout import draw_masks
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.solvers.solution import lengths
from fsnn_lava.training.process_group import ProcessGroup


def distributed_coupling(group: ProcessGroup, samples: int) -> SampleCoupling:
    """Return the coupling of a joint batch of `samples`, which is divided among the processes."""
    return WHOLE_BATCH if group.size == 1 else DistributedCoupling(group, samples)


def sum_distributed_gradients(net: FSNN, group: ProcessGroup) -> None:
    """Replace every parameter's gradient by its sum over all processes, in one message."""
    if group.size == 1:
        return
    parameters = [parameter for parameter in net.parameters() if parameter.requires_grad]
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in parameters]
    total = group.total(torch.cat([grad.flatten() for grad in grads]))
    for parameter, summed in zip(parameters, total.split([grad.numel() for grad in grads]), strict=True):
        parameter.grad = summed.view_as(parameter)


@dataclass(frozen=True)
class DistributedCoupling(SampleCoupling):
    """The coupling of a forward pass over one share of a joint batch of `samples`."""

    group: ProcessGroup
    samples: int

    def draw_masks(self, shapes: Sequence[tuple[int, ...]], samples: int, dropped: float, like: Tensor) -> list[Tensor]:
        """Draw the masks for the joint batch, then split them, so that they do not depend on the number of processes."""
        mine = self.group.share(self.samples)
        return [mask[mine] for mask in draw_masks(shapes, self.samples, dropped, like)]

    def batch_norm(self, norm: nn.BatchNorm1d | nn.BatchNorm2d, current: Tensor, *, updates: bool = True) -> Tensor:
        """Apply batch norm with the statistics of all processes."""
        return distributed_batch_norm(norm, current, self.group, updates=updates)

    def scale(self, constant: Tensor) -> Tensor:
        """Return the scale of the residuals over all processes."""
        squares = constant.flatten(1).square().sum()
        total, samples = self.group.total(torch.stack([squares, squares.new_tensor(float(len(constant)))])).unbind()
        return lengths(constant, typical=(total / samples).sqrt())

    def stop(self, solved: Tensor) -> bool:
        """Return whether all samples of all processes are solved: they stop together, since every product needs all of them."""
        return not bool(self.group.total((~solved).sum()))


def distributed_batch_norm(norm: nn.BatchNorm1d | nn.BatchNorm2d, values: Tensor, group: ProcessGroup, *, updates: bool = True) -> Tensor:
    """Apply batch norm to [B, C] or [B, C, H, W] with the statistics of all processes (E7); update the running ones if `updates`."""
    out, mean, variance, count = _JointNorm.apply(values, norm.weight, norm.bias, norm.eps, group)
    if updates and norm.running_mean is not None and norm.running_var is not None and norm.num_batches_tracked is not None:
        momentum = 0.1 if norm.momentum is None else norm.momentum
        with torch.no_grad():
            norm.running_mean.lerp_(mean, momentum)
            norm.running_var.lerp_(variance * (count / (count - 1.0)), momentum)
            norm.num_batches_tracked += 1
    return out


class _JointNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: Tensor, weight: Tensor, bias: Tensor, eps: float, group: ProcessGroup) -> tuple[Tensor, ...]:  # type: ignore[override]
        axes = [axis for axis in range(values.dim()) if axis != 1]
        row = (1, -1, *[1] * (values.dim() - 2))
        number = values.new_tensor([float(values.numel() // values.shape[1])])
        sums = group.total(torch.cat([values.sum(axes), number]))
        mean, count = sums[:-1] / sums[-1], sums[-1]
        centred = values - mean.view(row)
        variance = group.total(centred.square().sum(axes)) / count
        scale = torch.rsqrt(variance + eps)
        whitened = centred.mul_(scale.view(row))
        ctx.save_for_backward(whitened, weight, scale, count)
        ctx.axes, ctx.row, ctx.group = axes, row, group
        ctx.mark_non_differentiable(mean, variance, count)
        return whitened * weight.view(row) + bias.view(row), mean, variance, count

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        whitened, weight, scale, count = ctx.saved_tensors
        grad, row = grads[0], ctx.row
        for_bias, for_weight = grad.sum(ctx.axes), (grad * whitened).sum(ctx.axes)
        over_all = ctx.group.total(torch.stack([for_bias, for_weight])) / count
        back = grad - over_all[0].view(row) - whitened * over_all[1].view(row)
        return back * (weight * scale).view(row), for_weight, for_bias, None, None
