"""One layer's linear operation F with its pooling and batch norm (E7)."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

import torch
import torch.nn.functional as nnf
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.feedback import initial_weight
from fsnn_lava.nn.notation import LayerSpec


class Stage(nn.Module):
    """F of one layer: linear operation, average pooling, batch norm (E7)."""

    def __init__(self, spec: LayerSpec, *, batch_norm: bool) -> None:
        super().__init__()
        self.spec, self.pool = spec, spec.pool
        self.linear: nn.Linear | nn.Conv2d
        if spec.kind == "dense":
            self.linear = nn.Linear(prod(spec.in_shape), spec.channels)
        else:
            self.linear = nn.Conv2d(spec.in_shape[0], spec.channels, spec.kernel, spec.stride, spec.padding)
        self.norm: nn.BatchNorm1d | nn.BatchNorm2d | None = None
        if batch_norm:
            self.norm = nn.BatchNorm1d(spec.channels) if spec.kind == "dense" else nn.BatchNorm2d(spec.channels)
        with torch.no_grad():
            self.linear.weight.copy_(initial_weight(self.linear.weight.shape))
            if self.linear.bias is not None:
                self.linear.bias.zero_()

    def current(self, values: Tensor) -> Tensor:
        """The linear part with its pooling, before batch norm."""
        out = self.linear(values.flatten(1) if self.spec.kind == "dense" else values)
        return nnf.avg_pool2d(out, self.pool) if self.pool > 1 else out

    def normalise(self, current: Tensor, *, running: bool) -> Tensor:
        """Batch norm with its running statistics, or with the mini-batch's, which then update the running ones (E7)."""
        if self.norm is None:
            return current
        norm = self.norm
        if running:
            return nnf.batch_norm(current, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps)
        return norm(current)

    def affine(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the linear operation with batch norm's running statistics folded in (E7)."""
        weight = self.linear.weight
        bias = self.linear.bias if self.linear.bias is not None else weight.new_zeros(len(weight))
        if self.norm is None:
            return weight, bias
        running_mean, running_var = self.norm.running_mean, self.norm.running_var
        if running_mean is None or running_var is None:
            raise BadArgument("batch norm without running statistics cannot be folded")
        gain = self.norm.weight * torch.rsqrt(running_var + self.norm.eps)
        return weight * gain.view(-1, *[1] * (weight.dim() - 1)), (bias - running_mean) * gain + self.norm.bias

    def pooled(self) -> tuple[Tensor, Tensor]:
        """As `affine`, with the pooling inside: a kernel of k + stride (pool - 1) that strides by stride * pool."""
        weight, bias = (part.detach() for part in self.affine())
        if self.pool == 1:
            return weight, bias
        step, reach = self.spec.stride, self.spec.stride * (self.pool - 1)
        shifts = [(i * step, j * step) for i in range(self.pool) for j in range(self.pool)]
        wide = torch.stack([nnf.pad(weight, (j, reach - j, i, reach - i)) for i, j in shifts]).mean(0)
        return wide, bias

    def connection(self) -> Callable[[Tensor], Tensor]:
        """values -> current, all constants worked out once: what the simulation steps with."""
        weight, bias = (part.detach() for part in self.affine())
        if self.spec.kind == "dense":
            return lambda values: nnf.linear(values.flatten(1), weight, bias)
        stride, padding, pool = self.spec.stride, self.spec.padding, self.pool
        if pool == 1:
            return lambda values: nnf.conv2d(values, weight, bias, stride, padding)
        return lambda values: nnf.avg_pool2d(nnf.conv2d(values, weight, bias, stride, padding), pool)
