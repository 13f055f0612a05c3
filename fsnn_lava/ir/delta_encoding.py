"""DeltaEncoding: what a network needs to send changes of its rates instead of spikes (E14, E15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fsnn_lava import limits
from fsnn_lava.ir.layers import INPUT
from fsnn_lava.ir.validation import require

if TYPE_CHECKING:
    from fsnn_lava.ir.network import ChipNetwork


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaEncoding:
    """Graded messages: each is a change of a rate, an integer in units of 2**-rate_bits spikes per step (E15).

    A layer sends the change of its rate y = clip(z >> s, 0, 2**rate_bits) where it is at least the layer's dead band. z is S, the sum of
    everything received, plus 2**rate_bits times the drive in weight units; 2**s is the layer's threshold.

    Attributes:
        rate_bits: q; a rate of 1 is the integer 2**q.
        dead_bands: one per layer, the smallest change that is sent; units of 2**-q.
    """

    rate_bits: int
    dead_bands: tuple[int, ...]

    def __post_init__(self) -> None:
        allowed = limits.RATE_BITS
        object.__setattr__(self, "rate_bits", int(self.rate_bits))
        object.__setattr__(self, "dead_bands", tuple(int(band) for band in self.dead_bands))
        require(
            self.rate_bits in allowed, f"delta encoding: rate_bits must be between {allowed[0]} and {allowed[-1]}, got {self.rate_bits}"
        )
        require(
            all(1 <= band <= self.one for band in self.dead_bands),
            f"delta encoding: every dead band must be between 1 and {self.one} (2**-{self.rate_bits}), got {self.dead_bands}",
        )

    @property
    def one(self) -> int:
        """The integer that stands for a rate of 1."""
        return 1 << self.rate_bits

    def shares(self) -> tuple[float, ...]:
        """Return the dead bands in spikes per step, one per layer."""
        return tuple(band / self.one for band in self.dead_bands)


def check_delta(chip: ChipNetwork, delta: DeltaEncoding) -> None:
    """BadNetwork unless the parts of `chip` meet E15; then sums of shifted products are exact in any order of the messages."""
    number = len(chip.layers)
    require(len(delta.dead_bands) == number, f"delta encoding: there must be one dead band per layer ({number}), got {delta.dead_bands}")
    require(chip.input.kind != "events", "delta encoding: event input is not supported; use input kind 'pixels' or 'current'")
    require(chip.decay == 0, "delta encoding: leak is not supported, so every decay must be 0")
    for layer in chip.layers:
        powers = np.log2(layer.threshold)
        require(
            bool(np.all(powers == np.rint(powers))),
            f"layer {layer.name!r}: with delta encoding the threshold must be a power of two, got {layer.threshold.tolist()}",
        )
        require(
            layer.reset == "subtract" and not layer.strict,
            f"layer {layer.name!r}: delta encoding has neither a reset nor a strict threshold; use reset='subtract' and strict=False",
        )
    for synapse in chip.synapses:
        least = -limits.STATE_FRACTION_BITS if synapse.source == INPUT else 0
        require(
            synapse.exponent >= least,
            f"{synapse}: with delta encoding the exponent must be at least {least}, since a shifted sum is not a sum of shifts; "
            f"got {synapse.exponent}",
        )
    require(chip.readout.exponent >= 0, f"readout: with delta encoding the exponent must be at least 0, got {chip.readout.exponent}")


def _layer_shift(threshold: int) -> int:
    """s of E15: the threshold is 2**s weight units."""
    return int(threshold).bit_length() - 1
