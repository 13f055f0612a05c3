"""The float simulation of neurons that send changes of their rates (E14), with dense products."""

from __future__ import annotations

from collections import deque
from dataclasses import replace

import torch
from torch import Tensor

from fsnn_lava.nn.dense_simulation import Observer
from fsnn_lava.nn.drive import Drive, SequenceDrive
from fsnn_lava.nn.dynamics import Dynamics
from fsnn_lava.nn.neurons import LIF, SigmaDelta
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.nn.trace import Trace


@torch.no_grad()
def simulate_changes(dynamics: Dynamics, neuron: SigmaDelta, steps: int, *, observe: Observer | None = None) -> Trace:
    """Simulate `steps` steps from rest. The trace has the rates last sent, message counts, and vth times the rate reached as potentials.

    A change of exactly the dead band is sent; with a dead band of 0, every change other than 0 is.
    """
    dynamics = replace(dynamics, drives=tuple(_so_far(drive, steps, neuron) for drive in dynamics.drives))
    sent = [dynamics.values.new_zeros(dynamics.samples, *shape) for shape in dynamics.shapes]
    counts = [torch.zeros_like(rates) for rates in sent]
    reached = list(sent)
    past = [deque[Tensor](maxlen=memory) for memory in dynamics.memories]  # rates last sent by each layer, the newest last
    for t in range(steps):
        for layer, vth in enumerate(dynamics.vths):
            current = torch.zeros_like(sent[layer])
            for part in dynamics.arriving_currents(layer, t, past):
                current = current + part
            reached[layer] = rate_of(current, vth, neuron.rate_max)
            change = (reached[layer] - sent[layer]).abs()
            sends = (change >= neuron.dead_band) & (change > 0)
            sent[layer] = torch.where(sends, reached[layer], sent[layer])
            counts[layer] += sends
            past[layer].append(sent[layer])
        if observe is not None:
            observe(t, tuple(rates * neuron.weight_sum(t + 1) for rates in sent))
    return Trace(tuple(sent), tuple(counts), tuple(rates * vth for rates, vth in zip(reached, dynamics.vths, strict=True)))


def _so_far(drive: Drive | None, steps: int, neuron: LIF) -> Drive | None:
    """Return the drive of the average of all frames so far, each with its weight in x* (E3); a constant drive stays as it is."""
    if not isinstance(drive, SequenceDrive):
        return drive
    weights = drive.values.new_tensor(neuron.weights(steps)).view(1, steps, *[1] * (drive.values.dim() - 2))
    return replace(drive, values=torch.cumsum(drive.values[:, :steps] * weights, dim=1))
