"""The architecture of a feedback network: its layers and its feedback, with all shapes worked out."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Literal

from fsnn_lava.nn.operators import Convolution, Dense, Operator, Shape, TransposedConvolution


@dataclass(frozen=True, kw_only=True)
class LayerSpec:
    """One layer: a linear operation F with its neurons. `pool` averages the current after the convolution (1: no pooling)."""

    kind: Literal["dense", "conv"]
    channels: int
    kernel: int = 1
    stride: int = 1
    pool: int = 1
    in_shape: Shape
    out_shape: Shape

    @property
    def padding(self) -> int:
        return self.kernel // 2

    @property
    def size(self) -> int:
        return prod(self.out_shape)

    @property
    def operator(self) -> Dense | Convolution:
        """F without its pooling."""
        if self.kind == "dense":
            return Dense(in_shape=self.in_shape, channels=self.channels)
        kernel, stride, padding = (self.kernel,) * 2, (self.stride,) * 2, (self.padding,) * 2
        return Convolution(in_shape=self.in_shape, channels=self.channels, kernel=kernel, stride=stride, padding=padding)

    @property
    def weights(self) -> int:
        return prod(self.operator.weight_shape)


@dataclass(frozen=True, kw_only=True)
class FeedbackSpec:
    """The connection W from the last layer (in_shape) onto the first (out_shape)."""

    kind: Literal["dense", "conv", "transposed"]
    channels: int
    kernel: int = 1
    in_shape: Shape
    out_shape: Shape

    @property
    def stride(self) -> int:
        return 2 if self.kind == "transposed" else 1

    @property
    def padding(self) -> int:
        return self.kernel // 2

    @property
    def output_padding(self) -> tuple[int, int]:
        """Rows and columns to add so that a transposed convolution has the first layer's height and width."""
        if self.kind != "transposed":
            return (0, 0)
        rows, columns = (out - (2 * n - 1) for n, out in zip(self.in_shape[1:], self.out_shape[1:], strict=True))
        return rows, columns

    @property
    def operator(self) -> Operator:
        if self.kind == "dense":
            return Dense(in_shape=self.in_shape, channels=self.channels)
        kernel, padding = (self.kernel,) * 2, (self.padding,) * 2
        if self.kind == "conv":
            return Convolution(in_shape=self.in_shape, channels=self.channels, kernel=kernel, padding=padding)
        return TransposedConvolution(
            in_shape=self.in_shape,
            channels=self.channels,
            kernel=kernel,
            stride=(self.stride,) * 2,
            padding=padding,
            output_padding=self.output_padding,
        )

    @property
    def weights(self) -> int:
        return prod(self.operator.weight_shape)


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """A network's layers and feedback with every shape worked out. `text` is the notation it prints as."""

    text: str
    input_shape: Shape
    classes: int
    layers: tuple[LayerSpec, ...]
    feedback: FeedbackSpec | None

    @property
    def neurons(self) -> int:
        """As the paper counts: inputs and spiking neurons."""
        return prod(self.input_shape) + sum(layer.size for layer in self.layers)

    @property
    def parameters(self) -> int:
        """As the paper counts: the weights of every connection (no biases, no batch norm)."""
        loop = self.feedback.weights if self.feedback else 0
        return sum(layer.weights for layer in self.layers) + loop + self.layers[-1].size * self.classes

    def __str__(self) -> str:
        return self.text
