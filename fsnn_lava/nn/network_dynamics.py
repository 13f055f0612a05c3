"""An FSNN in the form that a simulation needs: every current of a run, computed for one batch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from fsnn_lava.nn.current import Current
from fsnn_lava.nn.drive import ConstantDrive, Drive, SequenceDrive
from fsnn_lava.nn.dropout import Masks, masked
from fsnn_lava.nn.dynamics import Dynamics, Wire, own_delay
from fsnn_lava.nn.graph import INPUT

if TYPE_CHECKING:
    from fsnn_lava.nn.fsnn import FSNN

Entries = tuple[Tensor | None, ...]  # by stage: F x without batch norm, of those that start at the input


@torch.no_grad()
def network_dynamics(net: FSNN, values: Tensor, weights: tuple[Tensor, ...], masks: Masks, entries: Entries | None = None) -> Dynamics:
    """Return the dynamics of a network for one batch. `weights` are the feedback's; `entries` may be passed if they are already known."""
    graph = net.graph
    return Dynamics(
        shapes=graph.shapes,
        drives=tuple(_drive(net, values, position, masks, entries) for position in range(len(graph.layers))),
        wires=tuple(sorted(_wires(net, weights, masks), key=lambda wire: wire.target)),
        neuron=net.neuron,
        vths=net.vths,
    )


def _wires(net: FSNN, weights: tuple[Tensor, ...], masks: Masks) -> list[Wire]:
    """Return the wires of the network, forward ones first."""
    graph, wires = net.graph, []
    for stage, mask in zip(net.stages, masks.stages, strict=True):
        source, target = graph.ends(stage.connection)
        if source >= 0:
            wires.append(Wire(source, target, own_delay(source, target, net.schedule), stage.simulated(mask)))
    for connection, feedback, weight, mask in zip(graph.feedback, net.feedbacks, weights, masks.feedbacks, strict=True):
        source, target = graph.ends(connection)
        current = Current(operator=feedback.operator, weight=weight.detach(), mask=mask)
        wires.append(Wire(source, target, own_delay(source, target, net.schedule), current))
    return wires


def _drive(net: FSNN, values: Tensor, position: int, masks: Masks, entries: Entries | None) -> Drive | None:
    """Return what enters a layer from the input, or None if nothing does."""
    chosen = [index for index in net.graph.stages_into[position] if net.stages[index].connection.source == INPUT]
    if not chosen:
        return None
    if values.dim() == len(net.architecture.input_shape) + 2:
        return SequenceDrive(values, tuple(net.stages[index].simulated(masks.stages[index]) for index in chosen))
    total: Tensor | None = None
    for index in chosen:
        stage, known = net.stages[index], None if entries is None else entries[index]
        current = masked(masks.stages[index], stage.normalise(stage.current(values) if known is None else known, running=True))
        total = current if total is None else total + current
    return None if total is None else ConstantDrive(total)
