"""How good a network is on samples it was not trained on."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from fsnn_lava.data import Split
from fsnn_lava.network import FSNN

BATCH = 250  # samples at once


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Figures of a network on a set of samples."""

    accuracy: float  # share of samples whose largest logit is their label's
    firing_rates: list[float]  # spikes per step and neuron, one per layer
    equilibrium_residual: float  # mean over samples of max |f(a[T]) - a[T]| of the last layer


@torch.no_grad()
def evaluate(net: FSNN, samples: Split) -> Evaluation:
    """Accuracy and rates over all samples, the residual over the first BATCH. The network is in evaluation mode afterwards."""
    net.eval()
    correct = 0
    spikes = torch.zeros(len(net.stages), dtype=torch.float64)
    for first in range(0, len(samples), BATCH):
        chosen = slice(first, first + BATCH)
        logits = net(torch.from_numpy(samples.batch(chosen)))
        correct += int((logits.argmax(1) == torch.from_numpy(samples.labels[chosen])).sum())
        if net.last_trace is not None:
            spikes += torch.tensor([float(count.double().flatten(1).mean(1).sum()) for count in net.last_trace.counts])
    rates = (spikes / (net.steps * len(samples))).tolist()
    return Evaluation(correct / len(samples), rates, equilibrium_residual(net, torch.from_numpy(samples.batch(slice(0, BATCH)))))


@torch.no_grad()
def equilibrium_residual(net: FSNN, images: Tensor) -> float:
    """Mean over samples of the largest |f(a[T]) - a[T]| of the last layer: how far the spikes are from the equilibrium (E4)."""
    rates = net.simulate(images).rates[-1]
    mapped = net.rate_map(net.average(net.normalise(images), net.steps))(rates)[-1]
    return float((mapped - rates).abs().flatten(1).amax(1).mean())
