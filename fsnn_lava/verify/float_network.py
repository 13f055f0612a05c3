"""The float network to compare a batch with: folded once, with its equilibrium, spikes and answers in float64."""

from __future__ import annotations

import copy

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.nn.dynamics import Schedule
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.neurons import SigmaDelta
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import FoldedNetwork, in_spikes
from fsnn_lava.verify.equilibrium import TOLERANCE, Equilibria

ANSWER_TOLERANCE = 1e-4  # for rates that are only used for an answer


class FloatNetwork:
    """A folded float network with the layers of `chip`."""

    def __init__(self, model: FSNN, chip: ChipNetwork) -> None:
        self.chip = chip
        self.model = copy.deepcopy(model).eval()
        self.folded: FoldedNetwork = fold(model) if chip.delta is not None else in_spikes(fold(model))
        if chip.delta is None:
            self.model.neuron = self.folded.neuron
        self.schedule: Schedule = getattr(model, "schedule", "pipelined")
        ours, theirs = [layer.shape for layer in chip.layers], [tuple(layer.shape) for layer in self.folded.layers]
        if ours != theirs or tuple(self.folded.input_shape) != chip.input.shape:
            raise BadArgument(f"the model has layers {theirs}, but the network in the results has {ours}: they do not belong together")

    def average(self, values: NDArray[np.uint8]) -> Tensor:
        """Return x*, the raw values averaged with the chip's own weights (E3): its leak is the float one rounded to 1/4096."""
        raw = torch.from_numpy(values.astype(np.float64))
        if self.chip.input.kind != "events":
            return raw
        steps = values.shape[1]
        shares = self.chip.leak ** np.arange(steps - 1, -1, -1, dtype=np.float64) / self.chip.weight_sum(steps)
        return torch.einsum("t,bt...->b...", torch.from_numpy(shares), raw)

    @torch.no_grad()
    def solve(self, values: NDArray[np.uint8]) -> Equilibria:
        """Solve for a* of the float network, for every sample."""
        average = self.average(values)
        found = self.folded.solve(average, tol=TOLERANCE)
        after = self.apply(found.rates, self.folded.drive(average))
        gaps = [(a - b).abs().flatten(1).amax(1) for a, b in zip(after, found.rates, strict=True)]
        return Equilibria(tuple(rate.numpy() for rate in found.rates), torch.stack(gaps).amax(0).numpy())

    @torch.no_grad()
    def answers(self, values: NDArray[np.uint8], steps: int) -> NDArray[np.int64]:
        """Return the answers of the float network after `steps` steps of spikes, in the schedule it was trained with, [B].

        With delta encoding, which has no spikes, the answers are those at equilibrium; for `SigmaDelta` neurons, those after the steps they
        were trained with, or after all frames of an event input.
        """
        if isinstance(self.model.neuron, SigmaDelta):
            return self.model(torch.from_numpy(values), steps if self.chip.input.kind == "events" else None).argmax(1).numpy()
        if self.chip.delta is not None:
            return self.folded.logits(self.folded.solve(self.average(values), tol=ANSWER_TOLERANCE).rates[-1]).argmax(1).numpy()
        return self.model(torch.from_numpy(values), steps).argmax(1).numpy()

    def apply(self, rates: tuple[Tensor, ...], drive: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Return f(a), computing every layer from the given rates (E13)."""
        currents = self.folded.currents(rates, drive)
        return tuple(
            rate_of(current, layer.vth, self.folded.neuron.rate_max) for current, layer in zip(currents, self.folded.layers, strict=True)
        )
