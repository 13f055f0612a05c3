"""The gains between the layers of a float network (E13), and the spectral radius of gains, which is the certificate."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fsnn_lava.nn.fsnn import FSNN


@torch.no_grad()
def network_gains(net: FSNN) -> NDArray[np.float64]:
    """Return the gains M [N, N]: M[l, k] is the sum of ||W|| / vth of layer l over all connections from layer k, batch norm folded in."""
    graph = net.graph
    matrix = np.zeros((len(graph.layers),) * 2)
    parts = [(stage.connection, *stage.folded()[:2]) for stage in net.stages]
    fed_back = zip(graph.feedback, net.feedbacks, net.feedback_weights(), strict=True)
    parts += [(connection, feedback.operator, weight) for connection, feedback, weight in fed_back]
    for connection, operator, weight in parts:
        source, target = graph.ends(connection)
        if source >= 0:
            matrix[target, source] += operator.norm_bound(weight.detach().cpu().double().numpy()) / net.vths[target]
    return matrix


def spectral_radius(gains: NDArray[np.float64]) -> float:
    """Return the spectral radius of a network's gains: below 1, the equilibrium is unique and is reached from every start (E6, E11)."""
    return float(np.abs(np.linalg.eigvals(gains)).max())
