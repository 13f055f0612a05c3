"""Evaluation of a network on samples it was not trained on: accuracy, firing rates and residual."""

from __future__ import annotations

import dataclasses

import torch
from torch import Tensor

from fsnn_lava.data import Split
from fsnn_lava.nn.fan_out import fan_out, operations_by_fan_out
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.training.process_group import ProcessGroup
from fsnn_lava.training.task import Classes, Task

CLASSES = Classes()
BATCH = 250  # samples per batch


@dataclasses.dataclass(frozen=True)
class Evaluation:
    """Metrics of a network on a set of samples."""

    accuracy: float  # the task's score; for classes, the share of samples whose largest logit is that of their label
    firing_rates: list[float]  # spikes per step and neuron, one per layer
    equilibrium_residual: float  # mean over samples of max |f(a[T]) - a[T]| where feedback starts
    operations: float  # synaptic operations per sample, in all steps: spikes times outgoing synapses (E17)


@torch.no_grad()
def evaluate_network(net: FSNN, samples: Split, group: ProcessGroup | None = None, *, task: Task = CLASSES) -> Evaluation:
    """Evaluate accuracy and rates over all samples, and the residual over the first BATCH. The network is left in evaluation mode.

    The processes of `group` share the batches; all of them get the same figures.
    """
    group = group or ProcessGroup()
    net.eval()
    synapses, targets = fan_out(net), task.targets(samples)
    sums = torch.zeros(2 + len(net.graph.layers), dtype=torch.float64)  # right answers, operations, then spikes per neuron of each layer
    for first in range(group.rank * BATCH, len(samples), group.size * BATCH):
        chosen = slice(first, first + BATCH)
        logits = net(torch.from_numpy(samples.batch(chosen)).to(group.device))
        sums[0] += task.score(logits.cpu(), targets[chosen])
        if net.last_trace is not None:
            counts = net.last_trace.counts
            sums[1] += float(operations_by_fan_out(counts, synapses).double().sum())
            sums[2:] += torch.tensor([float(count.double().flatten(1).mean(1).sum()) for count in counts])
    score, operations, *spikes = group.total(sums.to(group.device)).tolist()
    rates = [count / (net.steps * len(samples)) for count in spikes]
    residual = equilibrium_residual(net, torch.from_numpy(samples.batch(slice(0, BATCH))).to(group.device))
    return Evaluation(max(0.0, score / len(samples)), rates, residual, operations / len(samples))


@torch.no_grad()
def equilibrium_residual(net: FSNN, images: Tensor) -> float:
    """Return the mean over samples of the largest |f(a[T]) - a[T]| where feedback starts: the distance from the equilibrium (E4)."""
    return float(net.residual(net.simulate(images).rates, net.average(net.normalise(images), net.steps)).mean())
