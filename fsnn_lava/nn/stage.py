"""One layer's linear operation F with its pooling and batch norm (E7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as nnf
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.architecture import LayerSpec
from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.current import Current
from fsnn_lava.nn.initial_weight import initial_weight
from fsnn_lava.nn.operators import Convolution, Operator


class Stage(nn.Module):
    """F of one layer: linear operation, average pooling, batch norm (E7).

    `rounding`, if set, maps the stored weight to the one that is used everywhere; gradients pass through it to the stored weight.
    """

    def __init__(self, spec: LayerSpec, *, batch_norm: bool) -> None:
        super().__init__()
        self.spec, self.pool, self.operator = spec, spec.pool, spec.operator
        self.rounding: Callable[[Tensor], Tensor] | None = None
        self.linear: nn.Linear | nn.Conv2d
        if isinstance(self.operator, Convolution):
            self.linear = nn.Conv2d(spec.in_shape[0], spec.channels, spec.kernel, spec.stride, spec.padding)
        else:
            self.linear = nn.Linear(self.operator.weight_shape[1], spec.channels)
        self.norm: nn.BatchNorm1d | nn.BatchNorm2d | None = None
        if batch_norm:
            self.norm = nn.BatchNorm1d(spec.channels) if spec.kind == "dense" else nn.BatchNorm2d(spec.channels)
        with torch.no_grad():
            self.linear.weight.copy_(initial_weight(self.linear.weight.shape))
            if self.linear.bias is not None:
                self.linear.bias.zero_()

    def used_weight(self) -> Tensor:
        """The weight that is used, rounded if the network is fake-quantised."""
        stored = self.linear.weight
        return stored if self.rounding is None else self.rounding(stored)

    def current(self, values: Tensor) -> Tensor:
        """The linear part with its pooling, before batch norm."""
        out = self.operator.apply(self.used_weight(), values, self.linear.bias)
        return nnf.avg_pool2d(out, self.pool) if self.pool > 1 else out

    def normalise(self, current: Tensor, *, running: bool, coupling: SampleCoupling = WHOLE_BATCH, updates: bool = True) -> Tensor:
        """Batch norm with its running statistics, or with the mini-batch's, which then update the running ones if `updates` (E7)."""
        if self.norm is None:
            return current
        norm = self.norm
        if running:
            return nnf.batch_norm(current, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps)
        return coupling.batch_norm(norm, current, updates=updates)

    def affine(self) -> tuple[Tensor, Tensor]:
        """Weight and bias of the linear operation with batch norm's running statistics folded in (E7)."""
        weight = self.used_weight()
        bias = self.linear.bias if self.linear.bias is not None else weight.new_zeros(len(weight))
        if self.norm is None:
            return weight, bias
        running_mean, running_var = self.norm.running_mean, self.norm.running_var
        if running_mean is None or running_var is None:
            raise BadArgument("batch norm without running statistics cannot be folded; create it with track_running_stats=True")
        gain = self.norm.weight * torch.rsqrt(running_var + self.norm.eps)
        return weight * self.operator.per_target(gain), (bias - running_mean) * gain + self.norm.bias

    def folded(self) -> tuple[Operator, Tensor, Tensor]:
        """One linear operation with batch norm and pooling inside: operator, weight and bias [channels], detached."""
        weight, bias = (part.detach() for part in self.affine())
        if self.pool == 1 or not isinstance(self.operator, Convolution):
            return self.operator, weight, bias
        return self.operator.pooled(self.pool), self.operator.fold_pooling(weight, self.pool), bias

    def simulated(self, mask: Tensor | None) -> Current:
        """Values -> current with every constant computed in advance, for a simulation."""
        operator, weight, bias = self.folded()
        return Current(operator=operator, weight=weight, bias=bias, mask=mask)


class Stages(nn.ModuleList):
    """A ModuleList whose entries are known to be stages."""

    def __getitem__(self, index: int) -> Stage:  # type: ignore[override]
        return super().__getitem__(index)  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Stage]:  # type: ignore[override]
        return super().__iter__()  # type: ignore[return-value]
