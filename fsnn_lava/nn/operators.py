"""Linear operators between layers, described by their geometry: dense, convolution, transposed convolution. Weights are passed in.

This is the only place that defines what each kind does: apply, transpose, weight gradient, a bound on its norm, and folding of pooling.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from math import prod
from typing import ClassVar, Literal

import numpy as np
import torch.nn.functional as nnf
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.grad import conv2d_weight

from fsnn_lava.nn.operator_norm import convolution_operator_norm_bound, matrix_operator_norm

Shape = tuple[int, ...]
Pair = tuple[int, int]
Kind = Literal["dense", "conv", "transposed"]


@dataclass(frozen=True, kw_only=True)
class Operator(ABC):
    """The linear operator W, from values [B, *in_shape] to [B, *out_shape]."""

    in_shape: Shape
    channels: int  # of the target; for a dense operator, its neurons

    kind: ClassVar[Kind]
    target_axis: ClassVar[int] = 0  # the axis of the weight that counts target channels

    @property
    @abstractmethod
    def out_shape(self) -> Shape:
        """Shape of the operator's output."""

    @property
    @abstractmethod
    def weight_shape(self) -> Shape:
        """Shape of the operator's weight."""

    @abstractmethod
    def apply(self, weight: Tensor, values: Tensor, bias: Tensor | None = None) -> Tensor:
        """Apply the operator: return W values + bias, [B, *out_shape], for values [B, *in_shape] and bias [channels]."""

    @abstractmethod
    def transpose(self, weight: Tensor, values: Tensor) -> Tensor:
        """Apply the transposed operator: return W^T values, [B, *in_shape], for values [B, *out_shape]."""

    @abstractmethod
    def weight_gradient(self, values: Tensor, grads: Tensor) -> Tensor:
        """Return dL/dW for L = <grads, W values>, summed over the samples."""

    @abstractmethod
    def norm_bound(self, weight: NDArray[np.float64]) -> float:
        """Return a guaranteed upper bound on the operator's norm, zero padding included (E6)."""

    def per_target(self, values: Tensor) -> Tensor:
        """Reshape per-channel values, [channels], so that they broadcast against the operator's weight."""
        return values.view([-1 if axis == self.target_axis else 1 for axis in range(len(self.weight_shape))])

    def per_source(self, values: Tensor) -> Tensor:
        """Return one value per source channel (or neuron, for a source (N,)) in a shape that broadcasts against the operator's weight."""
        return values.view([-1 if axis == 1 - self.target_axis else 1 for axis in range(len(self.weight_shape))])


@dataclass(frozen=True, kw_only=True)
class Dense(Operator):
    """A dense operator with weight [channels, prod(in_shape)]; a (C, H, W) source is flattened in that order."""

    kind: ClassVar[Kind] = "dense"

    @property
    def out_shape(self) -> Shape:
        """Shape of the dense operator's output: (channels,)."""
        return (self.channels,)

    @property
    def weight_shape(self) -> Shape:
        """Shape of the dense operator's weight."""
        return (self.channels, prod(self.in_shape))

    def apply(self, weight: Tensor, values: Tensor, bias: Tensor | None = None) -> Tensor:
        """Return the matrix product, plus the bias."""
        return nnf.linear(values.flatten(1), weight, bias)

    def transpose(self, weight: Tensor, values: Tensor) -> Tensor:
        """Return the product with the transposed matrix."""
        return (values @ weight).view(len(values), *self.in_shape)

    def weight_gradient(self, values: Tensor, grads: Tensor) -> Tensor:
        """Return the outer product of gradients and values, summed over the samples."""
        return grads.flatten(1).t() @ values.flatten(1)

    def per_source(self, values: Tensor) -> Tensor:
        """Return one value per source channel, broadcastable to the operator's weight."""
        return values.repeat_interleave(self.weight_shape[1] // len(values))[None]

    def norm_bound(self, weight: NDArray[np.float64]) -> float:
        """Return the spectral norm of the matrix."""
        return matrix_operator_norm(weight)


@dataclass(frozen=True, kw_only=True)
class Convolution(Operator):
    """A convolution with weight [channels, C_in / groups, kH, kW]: a correlation with zero padding, as in torch's conv2d."""

    kernel: Pair
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    groups: int = 1
    dilation: Pair = (1, 1)

    kind: ClassVar[Kind] = "conv"

    @property
    def extent(self) -> Pair:
        """Rows and columns from the first to the last tap, both included."""
        return self.dilation[0] * (self.kernel[0] - 1) + 1, self.dilation[1] * (self.kernel[1] - 1) + 1

    @property
    def out_shape(self) -> Shape:
        """Shape of the convolution's output."""
        sizes = zip(self.in_shape[1:], self.extent, self.stride, self.padding, strict=True)
        return (self.channels, *((n + 2 * p - k) // s + 1 for n, k, s, p in sizes))

    @property
    def weight_shape(self) -> Shape:
        """Shape of the convolution's kernel."""
        return (self.channels, self.in_shape[0] // self.groups, *self.kernel)

    def apply(self, weight: Tensor, values: Tensor, bias: Tensor | None = None) -> Tensor:
        """Apply torch's conv2d."""
        return nnf.conv2d(values, weight, bias, self.stride, self.padding, self.dilation, self.groups)

    def transpose(self, weight: Tensor, values: Tensor) -> Tensor:
        """Apply torch's conv_transpose2d, with the output padding that restores the shape of the input."""
        sizes = zip(self.in_shape[1:], self.out_shape[1:], self.extent, self.stride, self.padding, strict=True)
        rest = [n - ((out - 1) * s - 2 * p + k) for n, out, k, s, p in sizes]
        return nnf.conv_transpose2d(values, weight, None, self.stride, self.padding, rest, self.groups, self.dilation)

    def weight_gradient(self, values: Tensor, grads: Tensor) -> Tensor:
        """Return the gradient of conv2d with respect to its weight."""
        return conv2d_weight(
            values, self.weight_shape, grads, stride=self.stride, padding=self.padding, dilation=self.dilation, groups=self.groups
        )

    def per_source(self, values: Tensor) -> Tensor:
        """Return one value per source channel, broadcastable to the operator's weight."""
        by_group = values.view(self.groups, 1, -1).expand(-1, self.channels // self.groups, -1)
        return by_group.reshape(self.channels, -1, 1, 1)

    def norm_bound(self, weight: NDArray[np.float64]) -> float:
        """Return the largest bound of any group; see `convolution_operator_norm_bound`."""
        inner = (self.in_shape[0] // self.groups, *self.in_shape[1:])
        spread = np.zeros((*weight.shape[:2], *self.extent))
        spread[:, :, :: self.dilation[0], :: self.dilation[1]] = weight
        groups = np.split(spread, self.groups)
        return max(convolution_operator_norm_bound(part, in_shape=inner, stride=self.stride, padding=self.padding) for part in groups)

    def pooled(self, size: int) -> Convolution:
        """Return the operator that also averages its output over size x size windows: kernel k + s (size - 1), stride s size, undilated."""
        more = [s * (size - 1) for s in self.stride]
        kernel, stride = (self.extent[0] + more[0], self.extent[1] + more[1]), (self.stride[0] * size, self.stride[1] * size)
        return replace(self, kernel=kernel, stride=stride, dilation=(1, 1))

    def fold_pooling(self, weight: Tensor, size: int) -> Tensor:
        """Return the weight of `pooled(size)`, from the weight of this operator."""
        if size == 1:
            return weight
        (rows, columns), (down, right), gaps = self.extent, self.stride, self.dilation
        wide = weight.new_zeros(self.pooled(size).weight_shape)
        for i in range(size):
            for j in range(size):
                wide[:, :, i * down : i * down + rows : gaps[0], j * right : j * right + columns : gaps[1]] += weight
        return wide / size**2


@dataclass(frozen=True, kw_only=True)
class TransposedConvolution(Operator):
    """A transposed convolution with weight [C_in, channels, kH, kW], as in torch's conv_transpose2d."""

    kernel: Pair
    stride: Pair = (1, 1)
    padding: Pair = (0, 0)
    output_padding: Pair = (0, 0)

    kind: ClassVar[Kind] = "transposed"
    target_axis: ClassVar[int] = 1

    @property
    def out_shape(self) -> Shape:
        """Shape of the transposed convolution's output."""
        sizes = zip(self.in_shape[1:], self.kernel, self.stride, self.padding, self.output_padding, strict=True)
        return (self.channels, *((n - 1) * s - 2 * p + k + o for n, k, s, p, o in sizes))

    @property
    def weight_shape(self) -> Shape:
        """Shape of the transposed convolution's kernel."""
        return (self.in_shape[0], self.channels, *self.kernel)

    def apply(self, weight: Tensor, values: Tensor, bias: Tensor | None = None) -> Tensor:
        """Apply torch's conv_transpose2d."""
        return nnf.conv_transpose2d(values, weight, bias, self.stride, self.padding, self.output_padding)

    def transpose(self, weight: Tensor, values: Tensor) -> Tensor:
        """Apply the convolution that this operator transposes."""
        return nnf.conv2d(values, weight, None, self.stride, self.padding)

    def weight_gradient(self, values: Tensor, grads: Tensor) -> Tensor:
        """Return the weight gradient of the convolution that this operator transposes, with values and gradients exchanged."""
        return conv2d_weight(grads, self.weight_shape, values, stride=self.stride, padding=self.padding)

    def norm_bound(self, weight: NDArray[np.float64]) -> float:
        """Return the norm bound of the convolution that this operator transposes."""
        return convolution_operator_norm_bound(weight, in_shape=self.out_shape, stride=self.stride, padding=self.padding)
