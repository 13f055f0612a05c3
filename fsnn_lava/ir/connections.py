"""The connections of an integer network: dense, convolution and transposed convolution, both forward and feedback."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.layers import INPUT, Layer, Readout
from fsnn_lava.ir.validation import checked_exponent, checked_integers, checked_pair, require

if TYPE_CHECKING:
    from fsnn_lava.ir.network import ChipNetwork


@dataclass(frozen=True, kw_only=True, eq=False)
class Synapse:
    """A connection: current[t] = 2**exponent * (weight @ messages[t - 1]), summed in integers, then shifted (E9).

    Attributes:
        source: "input" or a layer's name.
        target: a layer's name.
        weight: int8; its axes depend on the kind of connection.
        exponent: the sum is multiplied by 2**exponent.
    """

    source: str
    target: str
    weight: NDArray[np.int8] = field(repr=False)
    exponent: int = 0

    weight_axes = 0  # set by each kind
    weight_form = ""

    def __post_init__(self) -> None:
        what = f"{self}"
        weight = checked_integers(self.weight, np.int8, -limits.WEIGHT_MAX, limits.WEIGHT_MAX, f"{what}: weight")
        require(weight.ndim == self.weight_axes, f"{what}: weight must be {self.weight_form}, got {weight.shape}")
        object.__setattr__(self, "weight", weight)
        object.__setattr__(self, "exponent", checked_exponent(self.exponent, what))
        for name in ("stride", "padding", "output_padding", "dilation"):
            if hasattr(self, name):
                object.__setattr__(self, name, checked_pair(getattr(self, name), f"{what}: {name}"))

    def __str__(self) -> str:
        return f"synapse {self.source!r} -> {self.target!r}"

    def output_shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of the current that messages of shape `source` cause.

        Args:
            source: shape of the source, (N,) or (C, H, W).

        Raises:
            BadNetwork: the messages do not fit the weights.
        """
        raise BadNetwork(f"{self}: use a DenseSynapse, ConvSynapse or TransposedConvSynapse")


@dataclass(frozen=True, kw_only=True, eq=False)
class DenseSynapse(Synapse):
    """A dense connection (E9); a (C, H, W) source is flattened in that order.

    Attributes:
        source: "input" or a layer's name.
        target: a layer's name.
        weight: int8 [N_target, N_source].
        exponent: the sum is multiplied by 2**exponent.
    """

    weight_axes = 2
    weight_form = "[N_target, N_source]"

    def output_shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        require(
            self.weight.shape[1] == int(np.prod(source)),
            f"{self}: weight has {self.weight.shape[1]} inputs, but the source has {int(np.prod(source))} neurons",
        )
        return (self.weight.shape[0],)


@dataclass(frozen=True, kw_only=True, eq=False)
class ConvSynapse(Synapse):
    """A convolution (E9): a correlation with zero padding, as in torch's conv2d.

    Attributes:
        source: "input" or a layer's name.
        target: a layer's name.
        weight: int8 [C_out, C_in / groups, kH, kW].
        exponent: the sum is multiplied by 2**exponent.
        stride: along height and width.
        padding: zeros added on both sides of height and width.
        groups: channels are split into this many groups.
        dilation: rows and columns from one tap of the kernel to the next.
    """

    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)
    groups: int = 1
    dilation: tuple[int, int] = (1, 1)

    weight_axes = 4
    weight_form = "[C_out, C_in / groups, kH, kW]"

    def output_shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        require(len(source) == 3, f"{self}: a convolution needs a (C, H, W) source, got {source}")
        out, inner, *kernel = self.weight.shape
        require(
            self.groups > 0 and inner * self.groups == source[0] and out % self.groups == 0,
            f"{self}: weight {self.weight.shape} with {self.groups} groups does not take {source[0]} channels",
        )
        require(
            min(self.stride) > 0 and min(self.padding) >= 0 and min(self.dilation) > 0,
            f"{self}: stride and dilation must be positive and padding non-negative, got {self.stride}, {self.dilation} and {self.padding}",
        )
        size = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(source[1:], kernel, self.stride, self.padding, self.dilation, strict=True)
        ]
        require(
            min(size) > 0,
            f"{self}: kernel {tuple(kernel)}, stride {self.stride}, padding {self.padding}, dilation {self.dilation} "
            f"leave no output for a source of shape {source}",
        )
        return (out, *size)


@dataclass(frozen=True, kw_only=True, eq=False)
class TransposedConvSynapse(Synapse):
    """A transposed convolution (E9), as in torch's conv_transpose2d.

    Attributes:
        source: "input" or a layer's name.
        target: a layer's name.
        weight: int8 [C_in, C_out, kH, kW].
        exponent: the sum is multiplied by 2**exponent.
        stride: along height and width of the output.
        padding: rows and columns removed on both sides of the output.
        output_padding: rows and columns added at the end of the output.
    """

    stride: tuple[int, int] = (2, 2)
    padding: tuple[int, int] = (0, 0)
    output_padding: tuple[int, int] = (0, 0)

    weight_axes = 4
    weight_form = "[C_in, C_out, kH, kW]"

    def output_shape(self, source: tuple[int, ...]) -> tuple[int, ...]:
        require(len(source) == 3, f"{self}: a transposed convolution needs a (C, H, W) source, got {source}")
        require(
            self.weight.shape[0] == source[0], f"{self}: weight has {self.weight.shape[0]} input channels, but the source has {source[0]}"
        )
        require(
            min(self.stride) > 0
            and min(self.padding) >= 0
            and all(0 <= o < s for o, s in zip(self.output_padding, self.stride, strict=True)),
            f"{self}: stride {self.stride}, padding {self.padding}, output padding {self.output_padding} are inconsistent",
        )
        size = [
            (n - 1) * s - 2 * p + k + o
            for n, k, s, p, o in zip(source[1:], self.weight.shape[2:], self.stride, self.padding, self.output_padding, strict=True)
        ]
        require(min(size) > 0, f"{self}: no output is left for a source of shape {source}")
        return (self.weight.shape[1], *size)


def synaptic_shift(synapse: Synapse | Readout) -> int:
    """Return n = 6 + exponent: a synaptic current is 2**n (weight @ messages) in units of 2**-6, floored if n < 0 (E9)."""
    return limits.STATE_FRACTION_BITS + synapse.exponent


def fan_in(synapse: Synapse | Readout) -> int:
    """Return the largest number of messages that one target neuron of a connection sums."""
    shape = synapse.weight.shape
    return int(np.prod(shape)) // (shape[1] if isinstance(synapse, TransposedConvSynapse) else shape[0])


def incoming_synapses(chip: ChipNetwork, layer: Layer) -> list[Synapse]:
    """Return the synapses from other layers (or the layer itself) into `layer`; those from the input are part of its drive."""
    return [s for s in chip.into(layer) if s.source != INPUT]
