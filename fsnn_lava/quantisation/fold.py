"""Folding: the float network reduced to weights, biases and thresholds, exact in float64 (E7, E8).

Batch norm is folded into weight and bias, average pooling into the convolution before it, the input's normalisation into the first
layer (which then takes raw values and has one bias per neuron), alpha W^/||W^|| into one feedback weight.
"""

from __future__ import annotations

import copy
from dataclasses import replace

import torch
from torch import Tensor

from fsnn_lava.errors import BadNetwork
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Dense, Shape
from fsnn_lava.nn.stage import Stage
from fsnn_lava.quantisation.folded_network import FoldedConnection, FoldedLayer, FoldedNetwork

RAW = Normalisation(divisor=1.0)  # leaves values unchanged


@torch.no_grad()
def fold(net: FSNN) -> FoldedNetwork:
    """The same network on raw values: equal drive, rate map, simulation and logits up to float64 rounding."""
    exact = copy.deepcopy(net).double().eval()
    _check_finite(exact)
    normalisation = exact.normalisation if exact.normalisation is not None else RAW
    layers = [fold_stage(stage) for stage in exact.stages]
    layers[0] = fold_normalisation(layers[0], normalisation, exact.architecture.input_shape)
    return FoldedNetwork(
        input_shape=exact.architecture.input_shape,
        normalisation=normalisation,
        layers=tuple(layers),
        feedback=_fold_feedback(exact),
        readout_weight=exact.readout.used_weight().detach().clone(),
        readout_bias=exact.readout.bias.detach().clone(),
        vth=exact.vth,
        neuron=exact.neuron,
        steps=exact.steps,
        class_names=exact.class_names,
        architecture=exact.architecture.text,
    )


def _check_finite(net: FSNN) -> None:
    for name, tensor in net.state_dict().items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BadNetwork(f"{name}: {int((~torch.isfinite(tensor)).sum())} of {tensor.numel()} values are not finite")


def fold_stage(stage: Stage) -> FoldedLayer:
    """Batch norm (E7) and pooling folded; the bias is constant over a channel, but stored per neuron."""
    operator, weight, bias = stage.folded()
    shape = stage.spec.out_shape
    whole = bias.view(-1, *[1] * (len(shape) - 1)).expand(shape)
    connection = FoldedConnection(operator=operator, weight=weight.clone())
    return FoldedLayer(shape=shape, connection=connection, bias=whole.clone(memory_format=torch.contiguous_format))


def fold_normalisation(layer: FoldedLayer, normalisation: Normalisation, input_shape: Shape) -> FoldedLayer:
    """F x + b = F~ p + b~ for x = (p / divisor - mean) / std; b~ differs where the kernel meets zero padding (E8)."""
    channels = input_shape[0]
    mean, std = (_per_channel(values, channels) for values in (normalisation.mean, normalisation.std))
    weight = layer.connection.weight
    gain = 1.0 / (normalisation.divisor * std)
    if isinstance(layer.connection.operator, Dense):
        per_input = gain.repeat_interleave(weight.shape[1] // channels)
        scaled = weight * per_input
    else:
        scaled = weight * gain.view(1, -1, 1, 1)
    offset = (-mean / std).view(channels, *[1] * (len(input_shape) - 1)).expand(input_shape)
    bias = layer.bias + layer.connection.apply(offset.unsqueeze(0))[0]
    return replace(layer, connection=replace(layer.connection, weight=scaled), bias=bias)


def _per_channel(values: tuple[float, ...], channels: int) -> Tensor:
    if len(values) not in (1, channels):
        raise BadNetwork(f"the normalisation must have 1 or {channels} entries (channels of the input), got {len(values)}")
    return torch.tensor(values, dtype=torch.float64).expand(channels)


def _fold_feedback(net: FSNN) -> FoldedConnection | None:
    if net.feedback is None:
        return None
    return FoldedConnection(operator=net.feedback.operator, weight=net.feedback.weight().detach().clone())
