"""Whether a network fits the range of the 24-bit state (E9): the most that one step can add to a neuron, and the headroom of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import INPUT, ChipNetwork, DeltaEncoding, Layer, Synapse
from fsnn_lava.ir.synapse_operator import apply_operator


@dataclass(frozen=True)
class StepBound:
    """The least and the most that one step can add to a neuron, weight units; `sum` is the largest |weight @ message| before shifting."""

    layer: str
    lowest: float
    highest: float
    sum: int

    @property
    def fits(self) -> bool:
        """Whether no step can leave the state's range."""
        return max(-self.lowest, self.highest) <= limits.CURRENT_MAX and self.sum <= limits.SUM_MAX


def state_range_bounds(chip: ChipNetwork, *, message_max: int = limits.MESSAGE_MAX) -> tuple[StepBound, ...]:
    """Return each layer's bounds on the state after one step. Spikes are 0 or 1, input messages 0 … `message_max`; padding is included."""
    return tuple(_layer_bound(chip, layer, message_max) for layer in chip.layers)


def _layer_bound(chip: ChipNetwork, layer: Layer, message_max: int) -> StepBound:
    lowest, highest = layer.bias.astype(np.float64), layer.bias.astype(np.float64)
    largest = 0
    for synapse in chip.into(layer):
        low, high = _extremes(chip, synapse, layer, message_max)
        lowest, highest = lowest + low * 2.0**synapse.exponent, highest + high * 2.0**synapse.exponent
        largest = max(largest, int(-low.min()), int(high.max()))
    return StepBound(layer.name, float(lowest.min()), float(highest.max()), largest)


def _extremes(chip: ChipNetwork, synapse: Synapse, layer: Layer, message_max: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the smallest and largest weight @ message of each neuron, [*shape] each: only negative or only positive weights count."""
    from_input = synapse.source == INPUT
    source = chip.input.shape if from_input else chip.layer(synapse.source).shape
    everything = torch.full((1, *source), float(message_max if from_input else 1), dtype=torch.float64)
    weight = torch.from_numpy(synapse.weight.astype(np.float64))
    negative, positive = (apply_operator(synapse, part, everything)[0].numpy() for part in (weight.clamp(max=0), weight.clamp(min=0)))
    return negative, positive


def check_state_range(chip: ChipNetwork, *, message_max: int = limits.MESSAGE_MAX) -> tuple[StepBound, ...]:
    """Return the state bounds of every layer; BadNetwork if one step can overflow 24 bits in any of them."""
    bounds = state_range_bounds(chip, message_max=message_max)
    for bound in bounds:
        if not bound.fits:
            raise BadNetwork(
                f"layer {bound.layer!r}: one step can add {bound.lowest:.0f} … {bound.highest:.0f} weight units (sums up to {bound.sum}); "
                f"24 bits hold ±{limits.CURRENT_MAX} (sums up to {limits.SUM_MAX}): export with fewer bits"
            )
    return bounds


def state_headroom(chip: ChipNetwork, largest: tuple[float, ...]) -> tuple[float, ...]:
    """Return, for each layer, how many times a run's largest |potential| (physical units) fits into the state; below 1, it is clipped."""
    room = limits.STATE_MAX / 2**limits.STATE_FRACTION_BITS
    return tuple(
        room * float(layer.scale.min()) / potential if potential else float("inf")
        for layer, potential in zip(chip.layers, largest, strict=True)
    )


def sum_headroom(
    delta: DeltaEncoding, drive: tuple[NDArray[np.float64], ...], currents: tuple[NDArray[np.float64], ...]
) -> tuple[float, ...]:
    """Return, per layer with delta encoding, how many times the largest |sum| or |drive| at the equilibrium fits into the state (E15).

    `drive` and `currents` are those of every layer, in weight units.
    """
    room, found = limits.STATE_MAX / delta.one, []
    for constant, current in zip(drive, currents, strict=True):
        found.append(room / max(1.0, float(np.abs(constant).max()), float(np.abs(current - constant).max())))
    return tuple(found)
