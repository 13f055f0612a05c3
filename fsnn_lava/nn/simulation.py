"""The float network in time: spikes, step by step (E1, E2). Nothing here is ever differentiated."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from fsnn_lava.nn.neurons import LIF, fire

Connection = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Trace:
    """What a run of T steps leaves behind: one [B, ...] tensor per layer, in each layer's own time."""

    rates: tuple[Tensor, ...]  # spikes per step, weighted as E3 says
    counts: tuple[Tensor, ...]  # spikes
    potentials: tuple[Tensor, ...]  # u[T]
    residuals: list[Tensor] = field(default_factory=list)  # [B] per step, where they were asked for
    returned: Tensor | None = None  # masked W times the rates of a single layer, where the run knows it


@dataclass(frozen=True)
class Dynamics:
    """A network ready to be stepped: what each layer's current is, with every constant worked out beforehand."""

    drive: Callable[[int], Tensor]  # step from 0 -> current of the first layer from outside, bias included
    forward: Sequence[Connection]  # layer l's spikes -> current of layer l + 1, bias included
    feedback: Connection | None  # the last layer's spikes -> current of the first layer
    neuron: LIF
    vth: float
    delay: int  # steps the feedback takes: 1 sequential, N pipelined (in the layers' own time)


@torch.no_grad()
def simulate(dynamics: Dynamics, steps: int, *, observe: Callable[[int, tuple[Tensor, ...]], None] | None = None) -> Trace:
    """Run `steps` steps from rest. `observe(t, weighted sums)` is called after every step."""
    leak, vth = dynamics.neuron.leak, dynamics.vth
    layers = len(dynamics.forward) + 1
    potentials: list[Tensor] = []
    sums: list[Tensor] = []
    counts: list[Tensor] = []
    arriving: deque[Tensor] = deque(maxlen=dynamics.delay)  # the last layer's spikes that are still on their way
    for t in range(steps):
        spikes = torch.empty(0)
        for layer in range(layers):
            current = dynamics.drive(t) if layer == 0 else dynamics.forward[layer - 1](spikes)
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
        total.add_(spikes)  # the same tensor as `count`
    else:
        total.mul_(leak).add_(spikes)
        count.add_(spikes)
