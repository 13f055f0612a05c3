"""The linear operation F of a forward connection, with its pooling and batch norm (E7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as nnf
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.current import Current
from fsnn_lava.nn.graph import Connection
from fsnn_lava.nn.initial_weight import initial_weight
from fsnn_lava.nn.operators import Convolution, Dense, Operator, TransposedConvolution


class Stage(nn.Module):
    """F of one forward connection: a linear operation, average pooling and batch norm (E7).

    `rounding`, if set, maps the stored weight to the one that is used everywhere; gradients pass through it to the stored one.
    Identity and pooling have a fixed weight and no bias, and their `linear` is None.
    """

    def __init__(self, connection: Connection, operator: Operator, *, batch_norm: bool) -> None:
        super().__init__()
        self.connection, self.pool, self.operator = connection, connection.pool, operator
        self.rounding: Callable[[Tensor], Tensor] | None = None
        self.linear = None if connection.fixed else _linear_module(operator)
        if connection.fixed:
            self.register_buffer("fixed", _fixed_weight(connection, operator), persistent=False)
        self.fixed: Tensor
        self.norm: nn.BatchNorm1d | nn.BatchNorm2d | None = None
        if batch_norm if connection.batch_norm is None and not connection.fixed else connection.batch_norm:
            self.norm = nn.BatchNorm1d(operator.channels) if len(operator.out_shape) == 1 else nn.BatchNorm2d(operator.channels)
        if self.linear is not None:
            with torch.no_grad():
                self.linear.weight.copy_(initial_weight(self.linear.weight.shape))
                if self.linear.bias is not None:
                    self.linear.bias.zero_()

    @property
    def weight(self) -> Tensor:
        """The stored weight."""
        return self.fixed if self.linear is None else self.linear.weight

    @property
    def bias(self) -> Tensor | None:
        """[channels], or None."""
        return None if self.linear is None else self.linear.bias

    def used_weight(self) -> Tensor:
        """Return the weight that is used, rounded if it is trained through rounding."""
        return self.weight if self.rounding is None else self.rounding(self.weight)

    def current(self, values: Tensor) -> Tensor:
        """Apply the linear part of the stage with its pooling, before batch norm."""
        out = self.operator.apply(self.used_weight(), values, self.bias)
        return nnf.avg_pool2d(out, self.pool) if self.pool > 1 else out

    def normalise(self, current: Tensor, *, running: bool, coupling: SampleCoupling = WHOLE_BATCH, updates: bool = True) -> Tensor:
        """Apply batch norm with its running statistics, or with the mini-batch's, which then update the running ones if `updates` (E7)."""
        if self.norm is None:
            return current
        norm = self.norm
        if running:
            return nnf.batch_norm(current, norm.running_mean, norm.running_var, norm.weight, norm.bias, False, 0.0, norm.eps)
        return coupling.batch_norm(norm, current, updates=updates)

    def affine(self) -> tuple[Tensor, Tensor]:
        """Return the weight and bias of the stage's linear operation, with batch norm's running statistics folded in (E7)."""
        weight = self.used_weight()
        bias = self.bias if self.bias is not None else weight.new_zeros(self.operator.channels)
        if self.norm is None:
            return weight, bias
        running_mean, running_var = self.norm.running_mean, self.norm.running_var
        if running_mean is None or running_var is None:
            raise BadArgument("batch norm without running statistics cannot be folded; create it with track_running_stats=True")
        gain = self.norm.weight * torch.rsqrt(running_var + self.norm.eps)
        return weight * self.operator.per_target(gain), (bias - running_mean) * gain + self.norm.bias

    def folded(self) -> tuple[Operator, Tensor, Tensor]:
        """Return the stage as one linear operation, batch norm and pooling folded in: operator, weight and bias [channels], detached."""
        weight, bias = (part.detach() for part in self.affine())
        if self.pool == 1 or not isinstance(self.operator, Convolution):
            return self.operator, weight, bias
        return self.operator.pooled(self.pool), self.operator.fold_pooling(weight, self.pool), bias

    def simulated(self, mask: Tensor | None) -> Current:
        """Return the map from values to currents for a simulation, with every constant computed in advance."""
        operator, weight, bias = self.folded()
        return Current(operator=operator, weight=weight, bias=bias, mask=mask)


class Stages(nn.ModuleList):
    """A ModuleList whose entries are known to be stages."""

    def __getitem__(self, index: int) -> Stage:  # type: ignore[override]
        return super().__getitem__(index)  # type: ignore[return-value]

    def __iter__(self) -> Iterator[Stage]:  # type: ignore[override]
        return super().__iter__()  # type: ignore[return-value]


def _linear_module(operator: Operator) -> nn.Linear | nn.Conv2d | nn.ConvTranspose2d:
    """Return a new torch module with this operator's weight and a bias."""
    if isinstance(operator, Dense):
        return nn.Linear(operator.weight_shape[1], operator.channels)
    if isinstance(operator, Convolution):
        options = (operator.kernel, operator.stride, operator.padding, operator.dilation, operator.groups)
        return nn.Conv2d(operator.in_shape[0], operator.channels, *options)
    if isinstance(operator, TransposedConvolution):
        kernel, stride, padding, rest = operator.kernel, operator.stride, operator.padding, operator.output_padding
        return nn.ConvTranspose2d(operator.in_shape[0], operator.channels, kernel, stride, padding, rest)
    raise BadArgument(f"there is no torch module for a {type(operator).__name__}")


def _fixed_weight(connection: Connection, operator: Operator) -> Tensor:
    """Return the weight of an identity (a diagonal) or of average pooling, times its gain."""
    if isinstance(operator, Dense):
        return connection.gain * torch.eye(operator.channels)
    weight = torch.ones(operator.weight_shape)
    return connection.gain * weight / weight[0].numel()
