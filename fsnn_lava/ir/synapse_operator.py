"""The linear operator of a synapse, its application to messages, and its gain."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse
from fsnn_lava.nn.operators import Convolution, Dense, Operator, Shape, TransposedConvolution


def synapse_operator_gain(chip: ChipNetwork, synapse: Synapse) -> float:
    """Return the gain of a synapse: an upper bound on ||diag(1 / threshold) 2**exponent weight|| for rates of its source (E6)."""
    target, source = chip.layer(synapse.target), chip.layer(synapse.source)
    threshold = np.broadcast_to(target.threshold, target.shape[:1]).astype(np.float64)
    weight = synapse.weight * 2.0**synapse.exponent
    operator = operator_of(synapse, source.shape)
    axes = tuple(axis for axis in range(weight.ndim) if axis != operator.target_axis)
    return operator.norm_bound(weight / np.expand_dims(threshold, axes))


def operator_of(synapse: Synapse, source: Shape) -> Operator:
    """Return the linear operator of a synapse whose source has this shape."""
    weight = synapse.weight.shape
    if isinstance(synapse, DenseSynapse):
        return Dense(in_shape=source, channels=weight[0])
    if isinstance(synapse, TransposedConvSynapse):
        return TransposedConvolution(
            in_shape=source,
            channels=weight[1],
            kernel=(weight[2], weight[3]),
            stride=synapse.stride,
            padding=synapse.padding,
            output_padding=synapse.output_padding,
        )
    if isinstance(synapse, ConvSynapse):
        kernel = (weight[2], weight[3])
        return Convolution(
            in_shape=source,
            channels=weight[0],
            kernel=kernel,
            stride=synapse.stride,
            padding=synapse.padding,
            groups=synapse.groups,
            dilation=synapse.dilation,
        )
    raise BadArgument(f"{synapse}: unknown kind {type(synapse).__name__}; use a DenseSynapse, ConvSynapse or TransposedConvSynapse")


def apply_operator(synapse: Synapse, weight: Tensor, messages: Tensor) -> Tensor:
    """Apply the synapse's operator to messages: [B, *target] from [B, *source].

    It is exact if both are integers and the sums stay below 2**53.
    """
    return operator_of(synapse, tuple(messages.shape[1:])).apply(weight, messages)
