"""Run the source and the imported network on the same inputs, and compare every spike of every layer."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fsnn_lava.errors import CheckFailed
from fsnn_lava.importing.chain import Link
from fsnn_lava.importing.sources.framework import Framework
from fsnn_lava.nn.dense_simulation import simulate_densely
from fsnn_lava.nn.dropout import Masks
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.network_dynamics import network_dynamics


@dataclass(frozen=True, kw_only=True)
class Divergence:
    """The first spike that differs: in the earliest step, then in the first layer, sample and neuron.

    Attributes:
        source_potential: the framework's potential after the step; None if it keeps none that can be read.
        potential: our potential before the reset, on the scale of `vth`.
    """

    step: int
    layer: str
    sample: int
    neuron: tuple[int, ...]
    source_spike: float
    spike: float
    source_potential: float | None
    potential: float
    vth: float

    def __str__(self) -> str:
        kept = "" if self.source_potential is None else f", potential {self.source_potential:.9g} after the step"
        neuron = self.neuron[0] if len(self.neuron) == 1 else self.neuron
        return (
            f"layer {self.layer!r}, neuron {neuron}, sample {self.sample}, step {self.step}: the source sends {self.source_spike:g}{kept}; "
            f"the imported network sends {self.spike:g}, potential {self.potential:.9g} at a threshold of {self.vth:.9g}"
        )


@dataclass(frozen=True, kw_only=True)
class Proof:
    """The comparison of two runs; `divergence` is None if every spike is equal."""

    samples: int
    steps: int
    spikes: tuple[int, ...]  # of the source, by layer
    layers: tuple[str, ...]
    divergence: Divergence | None

    def __str__(self) -> str:
        if self.divergence is not None:
            return f"spikes differ first in {self.divergence}"
        silent = [name for name, number in zip(self.layers, self.spikes, strict=True) if not number]
        rest = f"; none in {', '.join(silent)}" if silent else ""
        return f"equal spikes in float64: {sum(self.spikes)} of them in {self.samples} samples and {self.steps} steps{rest}"

    def checked(self) -> Proof:
        """Return self if every spike matches; raise CheckFailed otherwise."""
        if self.divergence is not None:
            raise CheckFailed(f"the imported network differs from the source: {self}")
        return self


@torch.no_grad()
def prove(chain: Sequence[Link], framework: Framework, net: FSNN, values: Tensor, *, steps: int) -> Proof:
    """Compare the spikes of the source with those of the imported network, in float64.

    Args:
        chain: the modules of the source.
        framework: the framework of its neurons.
        net: the imported network.
        values: [B, *input_shape], or [B, T, *input_shape] for a sequence; normalised.
        steps: T.
    """
    sequence = values if values.dim() == len(net.architecture.input_shape) + 2 else values.unsqueeze(1).expand(-1, steps, *values.shape[1:])
    currents, theirs = source_run(chain, framework, sequence[:, :steps].transpose(0, 1).double())
    own = copy.deepcopy(net).double().eval()
    ours = own_run(own, values.double(), steps)
    found = _first(theirs, ours)
    names = tuple(layer.name for layer in net.graph.layers)
    divergence = None
    if found is not None:
        divergence = _divergence(found, chain, framework, own, values.double(), currents, theirs, ours)
    return Proof(
        samples=len(values), steps=steps, spikes=tuple(int(one.ne(0).sum()) for one in theirs), layers=names, divergence=divergence
    )


def source_run(chain: Sequence[Link], framework: Framework, values: Tensor) -> tuple[list[Tensor], list[Tensor]]:
    """Return the currents and spikes [T, B, *shape] of every layer of the source; each layer runs all steps before the next."""
    currents, spikes = [], []
    for link in chain:
        module = framework.prepared(link.module)
        if framework.is_neuron(link.module):
            currents.append(values)
            values = framework.run(module, values).spikes
            spikes.append(values)
        else:
            values = framework.apply(module, values)
    return currents, spikes


def own_run(net: FSNN, values: Tensor, steps: int) -> list[Tensor]:
    """Return the spikes [T, B, *shape] of every layer of our network, from the sums that the simulation reports after every step."""
    sums: list[tuple[Tensor, ...]] = []

    def observe(_step: int, totals: tuple[Tensor, ...]) -> None:
        sums.append(tuple(total.clone() for total in totals))

    dynamics = network_dynamics(net, values, net.feedback_weights(), Masks.none(len(net.stages), len(net.feedbacks)))
    simulate_densely(dynamics, steps, observe=observe)
    leak = net.neuron.leak
    stacked = [torch.stack(layer) for layer in zip(*sums, strict=True)]
    return [(total - leak * torch.cat([torch.zeros_like(total[:1]), total[:-1]])).round() for total in stacked]


@dataclass(frozen=True)
class _Place:
    step: int
    layer: int
    sample: int
    neuron: tuple[int, ...]


def _first(theirs: Sequence[Tensor], ours: Sequence[Tensor]) -> _Place | None:
    found = []
    for layer, (one, other) in enumerate(zip(theirs, ours, strict=True)):
        different = (one != other.view_as(one)).nonzero()
        if len(different):
            step, sample, *neuron = different[0].tolist()
            found.append(_Place(step, layer, sample, tuple(neuron)))
    return min(found, key=lambda place: (place.step, place.layer)) if found else None


def _divergence(
    place: _Place,
    chain: Sequence[Link],
    framework: Framework,
    net: FSNN,
    values: Tensor,
    currents: Sequence[Tensor],
    theirs: Sequence[Tensor],
    ours: Sequence[Tensor],
) -> Divergence:
    """Return both states where the spikes differ: each network is run again up to that step, for that sample."""
    neurons = [link.module for link in chain if framework.is_neuron(link.module)]
    part = currents[place.layer][: place.step + 1, place.sample : place.sample + 1]
    kept = framework.run(framework.prepared(neurons[place.layer]), part).potential
    at = (place.step, place.sample, *place.neuron)
    spike = float(ours[place.layer].view_as(theirs[place.layer])[at])
    vth = net.vths[place.layer]
    trace = net.simulate(values[place.sample : place.sample + 1], steps=place.step + 1)
    return Divergence(
        step=place.step,
        layer=net.graph.layers[place.layer].name,
        sample=place.sample,
        neuron=place.neuron,
        source_spike=float(theirs[place.layer][at]),
        spike=spike,
        source_potential=None if kept is None else float(kept[(0, *place.neuron)]),
        potential=float(trace.potentials[place.layer].view_as(part[0])[(0, *place.neuron)]) + vth * spike,
        vth=vth,
    )
