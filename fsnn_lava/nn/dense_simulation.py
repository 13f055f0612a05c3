"""The dense float simulation: one matrix product or convolution per connection and step (E1, E2)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
from torch import Tensor

from fsnn_lava.nn.dynamics import Dynamics
from fsnn_lava.nn.neurons import fire
from fsnn_lava.nn.trace import Trace

Observer = Callable[[int, tuple[Tensor, ...]], None]  # step (from 0), weighted sums of the spikes of every layer


@torch.no_grad()
def simulate_densely(dynamics: Dynamics, steps: int, *, observe: Observer | None = None) -> Trace:
    """Simulate `steps` steps from rest with dense products; call `observe` after every step."""
    leak, layers = dynamics.neuron.leak, len(dynamics.shapes)
    potentials: list[Tensor] = []
    sums: list[Tensor] = []
    counts: list[Tensor] = []
    past = [deque[Tensor](maxlen=memory) for memory in dynamics.memories]  # spikes of each layer, the newest last
    for t in range(steps):
        for layer in range(layers):
            arriving = dynamics.arriving_currents(layer, t, past)
            first = next(arriving, None)
            if t == 0:
                at_rest = dynamics.values.new_zeros(dynamics.samples, *dynamics.shapes[layer])
                potentials.append(at_rest if first is None else first.clone())
            else:
                _charge(potentials[layer], first, leak)
            for current in arriving:
                potentials[layer].add_(current)
            spikes = fire(potentials[layer], vth=dynamics.vths[layer])
            if t == 0:
                sums.append(spikes.clone())
                counts.append(sums[layer] if leak == 1.0 else spikes.clone())
            else:
                _accumulate(sums[layer], counts[layer], spikes, leak)
            past[layer].append(spikes)
        if observe is not None:
            observe(t, tuple(sums))
    total = dynamics.neuron.weight_sum(steps)
    return Trace(tuple(s / total for s in sums), tuple(counts), tuple(potentials))


def _charge(potential: Tensor, current: Tensor | None, leak: float) -> None:
    """Integrate the current: potential <- leak potential + current."""
    if current is None:
        potential.mul_(leak)
    elif leak == 1.0:
        potential.add_(current)
    else:
        torch.add(current, potential, alpha=leak, out=potential)


def _accumulate(total: Tensor, count: Tensor, spikes: Tensor, leak: float) -> None:
    if leak == 1.0:
        total.add_(spikes)  # without a leak `total` and `count` are the same tensor
    else:
        total.mul_(leak).add_(spikes)
        count.add_(spikes)
