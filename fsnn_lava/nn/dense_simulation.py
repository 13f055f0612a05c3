"""The float network in time, one matrix product or convolution per connection and step (E1, E2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

from fsnn_lava.nn.dynamics import Dynamics
from fsnn_lava.nn.neurons import fire
from fsnn_lava.nn.trace import Trace

Observer = Callable[[int, tuple[Tensor, ...]], None]  # step from 0, weighted sums of spikes of every layer


@torch.no_grad()
def simulate_densely(dynamics: Dynamics, steps: int, *, observe: Observer | None = None) -> Trace:
    """Run `steps` steps from rest; `observe` is called after every step."""
    leak, vth = dynamics.neuron.leak, dynamics.vth
    layers = len(dynamics.forward) + 1
    potentials: list[Tensor] = []
    sums: list[Tensor] = []
    counts: list[Tensor] = []
    arriving: deque[Tensor] = deque(maxlen=dynamics.delay)  # spikes of the last layer that are on their way to the first
    for t in range(steps):
        spikes = torch.empty(0)
        for layer in range(layers):
            current = dynamics.drive.at(t) if layer == 0 else dynamics.forward[layer - 1](spikes)
            if t == 0:
                potentials.append(current.clone())
            else:
                potential = potentials[layer]
                potential.add_(current) if leak == 1.0 else torch.add(current, potential, alpha=leak, out=potential)
                if layer == 0 and dynamics.feedback is not None and len(arriving) == dynamics.delay:
                    potential.add_(dynamics.feedback(arriving[0]))
            spikes = fire(potentials[layer], vth=vth)
            if t == 0:
                sums.append(spikes.clone())
                counts.append(sums[layer] if leak == 1.0 else spikes.clone())
            else:
                _accumulate(sums[layer], counts[layer], spikes, leak)
        arriving.append(spikes)
        if observe is not None:
            observe(t, tuple(sums))
    total = dynamics.neuron.weight_sum(steps)
    return Trace(tuple(s / total for s in sums), tuple(counts), tuple(potentials))


def _accumulate(total: Tensor, count: Tensor, spikes: Tensor, leak: float) -> None:
    if leak == 1.0:
        total.add_(spikes)  # without a leak `total` and `count` are the same tensor
    else:
        total.mul_(leak).add_(spikes)
        count.add_(spikes)
