"""Fold the linear path between two layers of neurons into one convolution or matrix, batch norm and pooling included (E7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import cast

import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.chain import NORM, NOTHING, Link
from fsnn_lava.nn.modules import pooling_module_side
from fsnn_lava.nn.operators import Convolution, Dense, Operator, Pair, Shape

Affine = nn.Linear | nn.Conv2d


@dataclass(frozen=True, eq=False)
class Path:
    """The part of a path folded so far: values [B, *source] are averaged over pool x pool, then pass through `operator` if there is one."""

    source: Shape
    shape: Shape  # shape of the result
    pool: int = 1
    operator: Operator | None = None
    weight: Tensor | None = None
    bias: Tensor | None = None

    def module(self) -> Affine:
        """Return the linear path as one torch module in float64, with a bias."""
        operator, weight, bias = self.operator, self.weight, self.bias
        if weight is None or bias is None:
            raise AssertionError("a path without a linear module")
        made: Affine
        if isinstance(operator, Convolution):
            options = (operator.kernel, operator.stride, operator.padding, operator.dilation, operator.groups)
            made = nn.Conv2d(operator.in_shape[0], operator.channels, *options, dtype=torch.float64)
        else:
            made = nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        with torch.no_grad():
            made.weight.copy_(weight)
            cast(Tensor, made.bias).copy_(bias)
        return made.requires_grad_(False)


@torch.no_grad()
def fold_path(path: Sequence[Link], source: Shape, *, where: str) -> Path:
    """Fold the linear modules of a path from values of shape `source` into one; `where` names the module that follows them."""
    folded = Path(source, source)
    for link in path:
        folded = _extended(folded, link)
    if folded.operator is None:
        raise BadArgument(f"{where}: it has no nn.Linear or nn.Conv2d before it; every layer of neurons needs one")
    return folded


def _extended(path: Path, link: Link) -> Path:
    module = link.module
    if isinstance(module, NOTHING):
        return path
    if isinstance(module, nn.Flatten):
        if module.start_dim != 1 or module.end_dim != -1:
            raise BadArgument(f"{link}: it must flatten everything but the batch: nn.Flatten()")
        return replace(path, shape=(prod(path.shape),))
    if isinstance(module, nn.AvgPool2d):
        return _pooled(path, module, link)
    if isinstance(module, NORM):
        return _normalised(path, module, link)
    if isinstance(module, nn.Conv2d):
        return _convolved(path, module, link)
    if isinstance(module, nn.Linear):
        return _multiplied(path, module, link)
    raise BadArgument(f"{link} is not a linear module")


def _convolved(path: Path, module: nn.Conv2d, link: Link) -> Path:
    if path.operator is not None:
        raise BadArgument(f"{link}: it follows another linear layer directly; put nn.ReLU or a spiking neuron between them, or merge them")
    if module.padding_mode != "zeros" or isinstance(module.padding, str):
        raise BadArgument(f"{link}: a convolution must use zero padding given as numbers, got {module.padding_mode!r}, {module.padding!r}")
    if len(path.shape) != 3 or path.shape[0] != module.in_channels:
        raise BadArgument(f"{link}: it takes {module.in_channels} channels, but its input has shape {path.shape}")
    pool, weight = path.pool, module.weight.double()
    kernel, stride, padding, dilation = (cast(Pair, getattr(module, key)) for key in ("kernel_size", "stride", "padding", "dilation"))
    if pool > 1 and dilation != (1, 1):
        raise BadArgument(f"{link}: a dilated convolution cannot follow average pooling; put the pooling before the activation")
    operator = Convolution(
        in_shape=path.source,
        channels=module.out_channels,
        kernel=(pool * kernel[0], pool * kernel[1]),
        stride=(pool * stride[0], pool * stride[1]),
        padding=(pool * padding[0], pool * padding[1]),
        groups=module.groups,
        dilation=dilation,
    )
    if min(operator.out_shape) < 1:
        raise BadArgument(f"{link}: there is no output for an input of shape {path.shape}")
    return replace(path, operator=operator, weight=_spread(weight, pool), bias=_bias(module), shape=operator.out_shape)


def _multiplied(path: Path, module: nn.Linear, link: Link) -> Path:
    if path.shape != (module.in_features,):
        fix = "put nn.Flatten() before it" if prod(path.shape) == module.in_features else "check input_shape"
        raise BadArgument(f"{link}: it takes {module.in_features} values, but its input has shape {path.shape}: {fix}")
    weight, bias = module.weight.double(), _bias(module)
    operator = Dense(in_shape=path.source, channels=module.out_features)
    shape = operator.out_shape
    if isinstance(path.operator, Dense) and path.weight is not None and path.bias is not None:
        return replace(path, operator=operator, weight=weight @ path.weight, bias=weight @ path.bias + bias, shape=shape)
    if path.operator is not None:
        raise BadArgument(f"{link}: it follows a convolution directly; put nn.ReLU or a spiking neuron between them")
    if path.pool > 1:
        averaged = (path.source[0], path.source[1] // path.pool, path.source[2] // path.pool)
        weight = _spread(weight.view(-1, *averaged), path.pool).flatten(1)
    return replace(path, operator=operator, weight=weight, bias=bias, shape=shape)


def _spread(weight: Tensor, pool: int) -> Tensor:
    """Turn weights [..., h, w] for pooled averages into weights [..., pool h, pool w] for the values themselves."""
    return weight.repeat_interleave(pool, -2).repeat_interleave(pool, -1) / pool**2


def _pooled(path: Path, module: nn.AvgPool2d, link: Link) -> Path:
    size = pooling_module_side(module, str(link))
    if len(path.shape) != 3 or min(path.shape[1:]) < size:
        raise BadArgument(f"{link}: its input must be (C, H, W) of at least {size} x {size}, got {path.shape}")
    shape = (path.shape[0], path.shape[1] // size, path.shape[2] // size)
    if isinstance(path.operator, Convolution) and path.weight is not None:
        wide = path.operator.pooled(size)
        return replace(path, operator=wide, weight=path.operator.fold_pooling(path.weight, size), shape=wide.out_shape)
    if path.shape[1] % size or path.shape[2] % size:
        raise BadArgument(f"{link}: {size} does not divide {path.shape[1]} x {path.shape[2]}: pad or crop first")
    return replace(path, pool=path.pool * size, shape=shape)


def _normalised(path: Path, module: nn.BatchNorm1d | nn.BatchNorm2d, link: Link) -> Path:
    if path.operator is None or path.weight is None or path.bias is None:
        raise BadArgument(f"{link}: batch norm can only be folded into a linear layer right before it; move it there")
    if module.running_mean is None or module.running_var is None:
        raise BadArgument(f"{link}: batch norm without running statistics cannot be folded; create it with track_running_stats=True")
    if module.num_features != path.operator.channels or module.num_features != path.shape[0]:
        raise BadArgument(f"{link}: it has {module.num_features} channels, but its input has shape {path.shape}")
    gain = torch.rsqrt(module.running_var.double() + module.eps)
    shift = torch.zeros_like(gain)
    if module.affine:
        gain, shift = gain * module.weight.double(), module.bias.double()
    weight = path.weight * path.operator.per_target(gain)
    return replace(path, weight=weight, bias=(path.bias - module.running_mean.double()) * gain + shift)


def _bias(module: Affine) -> Tensor:
    return module.weight.new_zeros(module.weight.shape[0]).double() if module.bias is None else module.bias.double()
