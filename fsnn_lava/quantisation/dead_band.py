"""How large the dead bands of delta encoding may be, and how many steps a run then takes, measured on calibration data (E14).

The error of a dead band is how far it keeps the rates from the equilibrium a*, as a root mean square over all neurons. By default, dead
bands are as large as possible while the rates are no further from a* than those of the spikes they replace.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import Drive, RateMap
from fsnn_lava.quantisation.folded_network import FoldedNetwork

BANDS = (0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.01, 0.005)  # dead bands to choose from, spikes per step
TURNS = 12  # passes around the longest loop, after which a network that settles has settled
SETTLED = 1.05  # a run ends when its error is within 5 % of its last value

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Chosen:
    """The chosen dead bands, one per layer in spikes per step, and T."""

    bands: tuple[float, ...]
    steps: int


def checked_bands(wanted: ArrayLike | None, layers: int) -> tuple[float, ...] | None:
    """Return one dead band per layer from the user's value, which is one number or one for each layer."""
    if wanted is None:
        return None
    given = np.asarray(wanted, dtype=np.float64).reshape(-1)
    if len(given) not in (1, layers) or not bool(np.all((given > 0.0) & (given <= 1.0))):
        raise BadArgument(
            f"dead_band must be a number above 0 and at most 1 (spikes per step), or one for each of {layers} layers, got {wanted}"
        )
    return tuple(float(band) for band in np.broadcast_to(given, (layers,)))


class DeadBandSearch:
    """Runs a network in float with any dead bands on a few samples, and measures the distance to a*."""

    def __init__(self, chip: ChipNetwork, values: NDArray[np.uint8]) -> None:
        self.chip, self.rate_map = chip, RateMap(chip)
        self.drive, self.values = self.rate_map.drive(values), values
        self.equilibrium = self.rate_map.solve_drive(self.drive, tol=1e-5, max_steps=200).rates
        self.longest = max([chip.delay(synapse) for synapse in chip.feedback], default=0)
        self.least = 1 + self.longest  # steps after which every connection has been used
        self.last = self.least + TURNS * max(1, self.longest)
        if chip.input.kind == "events":
            self.least = self.last = values.shape[1]  # a run takes as many steps as there are frames

    def error(self, rates: Sequence[Floats]) -> float:
        """Return the root mean square of the distance to a*, over all neurons and samples."""
        squares = [np.square(rate - exact).sum() for rate, exact in zip(rates, self.equilibrium, strict=True)]
        return float(np.sqrt(sum(squares) / sum(exact.size for exact in self.equilibrium)))

    def errors(self, bands: Sequence[float], steps: int) -> list[float]:
        """Return the error after each of `steps` steps from rest (E14, in float64)."""
        told = [np.zeros((len(self.drive[0]), *layer.shape)) for layer in self.chip.layers]
        drives = self._drives()
        past = [[rate] for rate in told]  # rates of each layer, from step 0 on
        found = []
        for step in range(1, steps + 1):
            for position, band in enumerate(bands):
                rate = self._rate(position, step, past, drives[min(step, len(drives)) - 1])
                told[position] = np.where(np.abs(rate - told[position]) >= band, rate, told[position])
                past[position].append(told[position])
            found.append(self.error(told))
        return found

    def _drives(self) -> list[Drive]:
        """Return the drive of every layer after each step: constant, or that of the frames so far."""
        if self.chip.input.kind != "events":
            return [self.drive]
        late = np.arange(self.values.shape[1]).reshape(1, -1, *(1,) * (self.values.ndim - 2))
        return [self.rate_map.drive(np.where(late < step, self.values, 0)) for step in range(1, self.values.shape[1] + 1)]

    def _rate(self, position: int, step: int, past: list[list[Floats]], drive: Drive) -> Floats:
        layer = self.chip.layers[position]
        total = drive[position]
        for synapse in self.chip.into(layer):
            then = step - self.chip.delay(synapse)
            if synapse.source != "input" and then > 0:
                total = total + self.rate_map.apply_synapse(synapse, past[self.chip.index(synapse.source)][then])
        return np.clip(total / layer.per_neuron(layer.threshold), 0.0, self.rate_map.rate_max)

    def steps_of(self, bands: Sequence[float]) -> int:
        """Return T: the first step at which the error is within 5 % of that after TURNS turns."""
        errors = self.errors(bands, self.last)
        return next(t for t, error in enumerate(errors, start=1) if t >= self.least and error <= SETTLED * errors[-1])

    def choose(self, error_max: float, steps_max: int) -> Chosen:
        """Choose the largest dead bands with an error of at most `error_max` within `steps_max` steps, then raise each separately."""
        layers = len(self.chip.layers)
        steps_max = max(self.least, min(steps_max, self.last))
        bands = self._largest(error_max, steps_max)
        chosen = [bands] * layers
        for position in range(layers if layers > 1 else 0):
            for band in reversed([b for b in BANDS if b > bands]):
                if not self._reaches([*chosen[:position], band, *chosen[position + 1 :]], error_max, steps_max):
                    break
                chosen[position] = band
        errors = self.errors(chosen, steps_max)
        reached = [t for t, error in enumerate(errors, start=1) if t >= self.least and error <= error_max]
        return Chosen(tuple(chosen), reached[0] if reached else steps_max)

    def _largest(self, error_max: float, steps: int) -> float:
        """Return the largest of BANDS, the same for all layers, that reaches `error_max`, or the smallest if none does.

        It is found by bisection, since a larger band nearly always has a larger error.
        """
        low, high = 0, len(BANDS) - 1
        while low < high:
            middle = (low + high) // 2
            if self._reaches((BANDS[middle],) * len(self.chip.layers), error_max, steps):
                high = middle
            else:
                low = middle + 1
        return BANDS[low]

    def _reaches(self, bands: Sequence[float], error_max: float, steps: int) -> bool:
        return min(self.errors(bands, steps)[self.least - 1 :]) <= error_max


@torch.no_grad()
def rate_coding_error(folded: FoldedNetwork, values: NDArray[np.uint8]) -> float:
    """Return the error that dead bands are compared with: that of the folded network's spikes after its own number of steps."""
    samples = torch.from_numpy(values)
    exact = folded.solve(samples, tol=1e-5, max_steps=200).rates
    rates = folded.simulate(samples).rates
    squares = [float(((a - b) ** 2).sum()) for a, b in zip(rates, exact, strict=True)]
    return float(np.sqrt(sum(squares) / sum(a.numel() for a in exact)))
