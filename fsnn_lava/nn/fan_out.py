"""The fan-out of every neuron, its number of outgoing synapses: what each of its spikes costs in synaptic operations (E17)."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor

from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.operators import Dense, Operator


def fan_out(net: FSNN) -> tuple[Tensor, ...]:
    """Return the fan-out of every neuron, [*shape] per layer: its outgoing synapses, feedback and readout included.

    Pooling counts as part of the convolution before it, as it does on the chip.
    """
    like = net.readout.weight
    counts = [like.new_zeros(layer.out_shape) for layer in net.architecture.layers]
    for stage in net.stages:
        source, _ = net.graph.ends(stage.connection)
        if source >= 0 and isinstance(stage.operator, Dense) and stage.linear is None:
            counts[source] += 1  # an identity
        elif source >= 0:
            counts[source] += synapses_per_source(stage.folded()[0], like)
    for connection, feedback in zip(net.graph.feedback, net.feedbacks, strict=True):
        source, _ = net.graph.ends(connection)
        counts[source] += synapses_per_source(feedback.operator, like)
    counts[-1] += len(like)  # the readout has one synapse to every class
    return tuple(counts)


@torch.no_grad()
def synapses_per_source(operator: Operator, like: Tensor) -> Tensor:
    """Return the fan-out of every source neuron, [*in_shape]: the transposed operator with all weights 1, applied to ones.

    It differs between neurons because of borders and strides.
    """
    return operator.transpose(like.new_ones(operator.weight_shape), like.new_ones(1, *operator.out_shape))[0]


def operations_by_fan_out(rates: Iterable[Tensor], counts: Iterable[Tensor]) -> Tensor:
    """Return the synaptic operations per step, [B]: every layer's rates [B, *shape] times its fan-out [*shape] (E17)."""
    return torch.stack([(rate * count).flatten(1).sum(1) for rate, count in zip(rates, counts, strict=True)]).sum(0)
