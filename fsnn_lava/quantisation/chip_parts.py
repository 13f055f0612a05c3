"""The parts of a ChipNetwork: layers and synapses from their rounded parameters, and what the host computes from the float ones."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.network import INPUT, ConvSynapse, DenseSynapse, HostDrive, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.nn.operators import Convolution, Dense, TransposedConvolution
from fsnn_lava.quantisation.folded_network import FoldedConnection, FoldedNetwork
from fsnn_lava.quantisation.layer_problem import LayerProblem
from fsnn_lava.quantisation.rounding import IntArray, RoundedLayer


def chip_layer(name: str, shape: tuple[int, ...], rounded: RoundedLayer, decay: int, reset: Literal["subtract", "zero"]) -> Layer:
    """Return a layer of a ChipNetwork; raise BadNetwork if its bias or threshold is outside the chip's range."""
    largest = int(np.abs(rounded.bias).max(initial=0))
    if largest > limits.BIAS_MAX or int(rounded.threshold.max()) > limits.THRESHOLD_MAX:
        raise BadNetwork(
            f"layer {name!r}: bias {largest} and threshold {int(rounded.threshold.max())} must be at most {limits.BIAS_MAX} weight units; "
            "the weights of this layer are too small compared with its biases"
        )
    return Layer(name=name, shape=shape, threshold=rounded.threshold, bias=rounded.bias, scale=rounded.scale, decay=decay, reset=reset)


def chip_synapses(folded: FoldedNetwork, problem: LayerProblem, rounded: RoundedLayer) -> list[Synapse]:
    """Return the synapses into a layer: forward ones first, then feedback."""
    made = zip(problem.connections, rounded.weights, rounded.exponents, strict=True)
    ordered = sorted(made, key=lambda part: not folded.is_forward(part[0]))
    return [_synapse(connection, weight, exponent) for connection, weight, exponent in ordered]


def _synapse(connection: FoldedConnection, weight: IntArray, exponent: int) -> Synapse:
    source, target = connection.source, connection.target
    if exponent not in limits.EXPONENT_RANGE:
        lowest, highest = limits.EXPONENT_RANGE[0], limits.EXPONENT_RANGE[-1]
        raise BadNetwork(
            f"synapse {source!r} -> {target!r}: the exponent must be between {lowest} and {highest}, but {exponent} is needed; "
            "the weights of this layer differ too much in size"
        )
    operator = connection.operator
    if isinstance(operator, Convolution):
        return ConvSynapse(
            source=source,
            target=target,
            weight=weight,
            exponent=exponent,
            stride=operator.stride,
            padding=operator.padding,
            groups=operator.groups,
            dilation=operator.dilation,
        )
    if isinstance(operator, TransposedConvolution):
        return TransposedConvSynapse(
            source=source,
            target=target,
            weight=weight,
            exponent=exponent,
            stride=operator.stride,
            padding=operator.padding,
            output_padding=operator.output_padding,
        )
    return DenseSynapse(source=source, target=target, weight=weight, exponent=exponent)


def chip_host_drive(folded: FoldedNetwork) -> HostDrive:
    """Return what the host computes: the only connection from the input, into the first layer."""
    entries = [one for one in folded.connections if one.source == INPUT]
    operator, first = entries[0].operator, folded.layers[0]
    plain = isinstance(operator, Dense) or (isinstance(operator, Convolution) and operator.groups == 1 and operator.dilation == (1, 1))
    if len(entries) > 1 or entries[0].target != first.name or not plain:
        raise BadArgument(
            "input 'current' needs a single connection from the input, dense or a convolution without groups and dilation, into the first "
            "layer; use input 'pixels'"
        )
    weight, bias = entries[0].weight.numpy(), first.bias.numpy()
    if isinstance(operator, Convolution):
        return HostDrive(weight=weight, bias=bias, stride=operator.stride, padding=operator.padding)
    return HostDrive(weight=weight, bias=bias)
