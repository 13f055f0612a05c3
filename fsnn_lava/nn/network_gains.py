"""The gains between the layers of a float network (E13): what the certificate is computed from."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

if TYPE_CHECKING:
    from fsnn_lava.nn.fsnn import FSNN


@torch.no_grad()
def network_gains(net: FSNN) -> NDArray[np.float64]:
    """M, [N, N]: in row l and column k the sum of ||W|| / vth of layer l over all connections from layer k, batch norm folded in."""
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
