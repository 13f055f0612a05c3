"""Folding: the float network reduced to weights, biases and thresholds, exact in float64 (E7, E8).

Batch norm is folded into weight and bias, average pooling into the convolution before it, the input's normalisation into the first
layer (which then takes raw values and has one bias per neuron), and alpha W^/||W^|| into one feedback weight.
Biases of several connections into a layer add up.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass

import torch
from torch import Tensor

from fsnn_lava.errors import BadNetwork
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.graph import INPUT
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Shape
from fsnn_lava.nn.stage import Stage
from fsnn_lava.quantisation.folded_network import FoldedConnection, FoldedLayer, FoldedNetwork

RAW = Normalisation(divisor=1.0)  # leaves values unchanged


@torch.no_grad()
def fold(net: FSNN) -> FoldedNetwork:
    """Fold a network: the result takes raw values, and its drive, rate map, simulation and logits are equal up to float64 rounding."""
    exact = copy.deepcopy(net).double().eval()
    _check_finite(exact)
    normalisation = exact.normalisation if exact.normalisation is not None else RAW
    biases = [torch.zeros(shape, dtype=torch.float64) for shape in exact.graph.shapes]
    connections = []
    for stage in exact.stages:
        folded = fold_stage(stage)
        if stage.connection.source == INPUT:
            folded = fold_normalisation(folded, normalisation, exact.architecture.input_shape)
        _, target = exact.graph.ends(stage.connection)
        biases[target] = biases[target] + folded.bias
        connections.append(folded.connection)
    connections += _fold_feedback(exact)
    positions = exact.graph.positions
    return FoldedNetwork(
        input_shape=exact.architecture.input_shape,
        normalisation=normalisation,
        layers=tuple(
            FoldedLayer(name=layer.name, shape=layer.out_shape, bias=bias, vth=vth)
            for layer, bias, vth in zip(exact.graph.layers, biases, exact.vths, strict=True)
        ),
        connections=tuple(sorted(connections, key=lambda one: (positions[one.target], _turn(positions, one)))),
        readout_weight=exact.readout.used_weight().detach().clone(),
        readout_bias=exact.readout.bias.detach().clone(),
        neuron=exact.neuron,
        steps=exact.steps,
        class_names=exact.class_names,
        architecture=exact.architecture.text,
    )


def _turn(positions: dict[str, int], connection: FoldedConnection) -> int:
    """Return the sort key of a connection into a layer: those from the input come first, feedback last."""
    source = positions[connection.source]
    return 0 if source < 0 else 1 if source < positions[connection.target] else 2


@dataclass(frozen=True, eq=False)
class FoldedStage:
    """A forward connection, and what it adds to the bias of its layer, [*shape]."""

    connection: FoldedConnection
    bias: Tensor

    def current(self, values: Tensor) -> Tensor:
        """Return the current that values [B, *in_shape] cause, [B, *shape]."""
        return self.connection.apply(values) + self.bias


def _check_finite(net: FSNN) -> None:
    for name, tensor in net.state_dict().items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BadNetwork(f"{name}: {int((~torch.isfinite(tensor)).sum())} of {tensor.numel()} values are not finite")


def fold_stage(stage: Stage) -> FoldedStage:
    """Fold batch norm (E7) and pooling into a stage; its bias is constant within a channel, but already stored per neuron."""
    operator, weight, bias = stage.folded()
    shape = operator.out_shape
    whole = bias.view(-1, *[1] * (len(shape) - 1)).expand(shape)
    ends = stage.connection
    connection = FoldedConnection(source=ends.source, target=ends.target, operator=operator, weight=weight.clone())
    return FoldedStage(connection, whole.clone(memory_format=torch.contiguous_format))


def fold_normalisation(stage: FoldedStage, normalisation: Normalisation, input_shape: Shape) -> FoldedStage:
    """Fold the normalisation: F x + b = F~ p + b~ for x = (p / divisor - mean) / std; b~ differs where the kernel meets padding (E8)."""
    channels, connection = input_shape[0], stage.connection
    mean, std = (_per_channel(values, channels) for values in (normalisation.mean, normalisation.std))
    scaled = connection.weight * connection.operator.per_source(1.0 / (normalisation.divisor * std))
    offset = (-mean / std).view(channels, *[1] * (len(input_shape) - 1)).expand(input_shape)
    bias = stage.bias + connection.apply(offset.unsqueeze(0))[0]
    return FoldedStage(connection.with_weight(scaled), bias)


def _per_channel(values: tuple[float, ...], channels: int) -> Tensor:
    if len(values) not in (1, channels):
        raise BadNetwork(f"the normalisation must have 1 or {channels} entries (channels of the input), got {len(values)}")
    return torch.tensor(values, dtype=torch.float64).expand(channels)


def _fold_feedback(net: FSNN) -> list[FoldedConnection]:
    return [
        FoldedConnection(source=one.source, target=one.target, operator=feedback.operator, weight=feedback.weight().detach().clone())
        for one, feedback in zip(net.graph.feedback, net.feedbacks, strict=True)
    ]
