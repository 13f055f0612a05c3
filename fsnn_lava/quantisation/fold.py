"""Folding: the float network with nothing left in it but weights, biases and thresholds, exactly, in float64 (E7, E8).

Batch norm goes into weight and bias, average pooling into the convolution before it, the input's normalisation into the first
layer (raw values in, one bias per neuron), alpha W^/||W^|| into one feedback weight.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from fsnn_lava.errors import BadNetwork
from fsnn_lava.nn.fsnn import FSNN, Stage
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.notation import Shape
from fsnn_lava.quantisation.folded_network import Connection, FoldedLayer, FoldedNetwork

RAW = Normalisation(divisor=1.0)  # values are taken as they are


@torch.no_grad()
def fold(net: FSNN) -> FoldedNetwork:
    """The same network on raw values: equal drive, rate map, simulation and logits up to float64 rounding."""
    exact = copy.deepcopy(net).double().eval()
    _check_finite(exact)
    normalisation = exact.normalisation if exact.normalisation is not None else RAW
    layers = [fold_stage(stage) for stage in _stages(exact)]
    layers[0] = fold_normalisation(layers[0], normalisation, exact.architecture.input_shape)
    return FoldedNetwork(
        input_shape=exact.architecture.input_shape,
        normalisation=normalisation,
        layers=tuple(layers),
        feedback=_fold_feedback(exact),
        readout_weight=exact.readout.weight.detach().clone(),
        readout_bias=exact.readout.bias.detach().clone(),
        vth=exact.vth,
        neuron=exact.neuron,
        steps=exact.steps,
        class_names=exact.class_names,
        architecture=exact.architecture.text,
    )


def _stages(net: FSNN) -> Iterator[Stage]:
    for stage in net.stages:
        if isinstance(stage, Stage):
            yield stage


def _check_finite(net: FSNN) -> None:
    for name, tensor in net.state_dict().items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BadNetwork(f"{name}: {int((~torch.isfinite(tensor)).sum())} of {tensor.numel()} values are not finite")


def fold_stage(stage: Stage) -> FoldedLayer:
    """Batch norm (E7) and pooling folded; the bias is the same over a channel, but already one per neuron."""
    weight, bias = (part.detach().clone() for part in stage.affine())
    spec = stage.spec
    if spec.kind == "dense":
        return FoldedLayer(shape=spec.out_shape, connection=Connection(kind="dense", weight=weight, in_shape=spec.in_shape), bias=bias)
    connection = Connection(kind="conv", weight=weight, in_shape=spec.in_shape, stride=(spec.stride,) * 2, padding=(spec.padding,) * 2)
    full = bias.view(-1, 1, 1).expand(spec.out_shape).contiguous()
    return FoldedLayer(shape=spec.out_shape, connection=fold_pooling(connection, stage.pool), bias=full)


def fold_pooling(connection: Connection, pool: int) -> Connection:
    """One convolution that does the convolution and then averages pool x pool: kernel k + s (pool - 1), stride s pool."""
    if pool == 1:
        return connection
    weight, (down, right) = connection.weight, connection.stride
    rows, columns = weight.shape[2] + down * (pool - 1), weight.shape[3] + right * (pool - 1)
    wide = weight.new_zeros(*weight.shape[:2], rows, columns)
    for i in range(pool):
        for j in range(pool):
            wide[:, :, i * down : i * down + weight.shape[2], j * right : j * right + weight.shape[3]] += weight
    return replace(connection, weight=wide / pool**2, stride=(down * pool, right * pool))


def fold_normalisation(layer: FoldedLayer, normalisation: Normalisation, input_shape: Shape) -> FoldedLayer:
    """F x + b = F~ p + b~ for x = (p / divisor - mean) / std; where zero padding is seen, b~ differs (E8)."""
    channels = input_shape[0]
    mean, std = (_per_channel(values, channels) for values in (normalisation.mean, normalisation.std))
    weight = layer.connection.weight
    gain = 1.0 / (normalisation.divisor * std)
    if layer.connection.kind == "dense":
        per_input = gain.repeat_interleave(weight.shape[1] // channels)
        scaled = weight * per_input
    else:
        scaled = weight * gain.view(1, -1, 1, 1)
    offset = (-mean / std).view(channels, *[1] * (len(input_shape) - 1)).expand(input_shape)
    bias = layer.bias + layer.connection.apply(offset.unsqueeze(0))[0]
    return replace(layer, connection=replace(layer.connection, weight=scaled), bias=bias)


def _per_channel(values: tuple[float, ...], channels: int) -> Tensor:
    if len(values) not in (1, channels):
        raise BadNetwork(f"the normalisation has {len(values)} entries, the input {channels} channels")
    return torch.tensor(values, dtype=torch.float64).expand(channels)


def _fold_feedback(net: FSNN) -> Connection | None:
    if net.feedback is None:
        return None
    spec = net.feedback.spec
    weight = net.feedback.weight().detach().clone()
    if spec.kind == "dense":
        return Connection(kind="dense", weight=weight, in_shape=spec.in_shape)
    return Connection(
        kind=spec.kind,
        weight=weight,
        in_shape=spec.in_shape,
        stride=(spec.stride,) * 2,
        padding=(spec.padding,) * 2,
        output_padding=spec.output_padding,
    )
