"""The float simulation, step by step, in spikes (E1, E2) or in changes of rates (E14). It is never differentiated."""

from __future__ import annotations

import torch

from fsnn_lava.nn.delta_simulation import simulate_changes
from fsnn_lava.nn.dense_simulation import Observer, simulate_densely
from fsnn_lava.nn.dynamics import Dynamics
from fsnn_lava.nn.event_simulation import simulate_by_events
from fsnn_lava.nn.neurons import SigmaDelta
from fsnn_lava.nn.trace import Trace


@torch.no_grad()
def simulate(dynamics: Dynamics, steps: int, *, events: bool = True, observe: Observer | None = None, returned: bool = False) -> Trace:
    """Run the float simulation for `steps` steps from rest.

    Float32 on the CPU runs spike by spike if that is faster, as judged by the first samples of the batch; everything else runs with dense
    products. Both give the same spikes, up to the order in which floats are added.

    Args:
        dynamics: the network and the batch.
        steps: T.
        events: if False, always run with dense products.
        observe: called after every step with (step, weighted sums of spikes); runs with dense products.
        returned: store W times the rates in the trace, if the simulation of a single layer knows it at no extra cost.
    """
    if isinstance(dynamics.neuron, SigmaDelta):
        return simulate_changes(dynamics, dynamics.neuron, steps, observe=observe)
    values = dynamics.values
    if events and observe is None and len(values) > 0 and values.device.type == "cpu" and values.dtype == torch.float32:
        return simulate_by_events(dynamics, steps, returned=returned)
    return simulate_densely(dynamics, steps, observe=observe)
