"""Delta encoding: what a network needs to send changes of its rates instead of spikes (E14, E15)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.layers import INPUT, Layer
from fsnn_lava.ir.validation import require

if TYPE_CHECKING:
    from fsnn_lava.ir.network import ChipNetwork


Activation = Literal["clip", "relu"]


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaEncoding:
    """Graded messages: each is a change of a rate, an integer in units of 2**-rate_bits spikes per step (E15).

    A neuron sends the change of its rate y = clip(z >> s, 0, 2**rate_bits) if it is at least the layer's dead band. z is S, the sum of
    everything received, plus 2**rate_bits times the drive in weight units; 2**s is the layer's threshold. With the activation "relu",
    rates may exceed 1, up to what a message of 16 bits can hold.

    Attributes:
        rate_bits: q; a rate of 1 is the integer 2**q.
        dead_bands: one per layer, the smallest change that is sent; units of 2**-q.
        frame_decay: for event input, what the weight of a frame loses with every later frame (E3), in units of 1/4096; 0 for equal weights.
        activation: "clip" keeps rates between 0 and 1, as spikes do; with "relu" they may exceed 1.
    """

    rate_bits: int
    dead_bands: tuple[int, ...]
    frame_decay: int = 0
    activation: Activation = "clip"

    def __post_init__(self) -> None:
        allowed = limits.RATE_BITS
        object.__setattr__(self, "rate_bits", int(self.rate_bits))
        object.__setattr__(self, "dead_bands", tuple(int(band) for band in self.dead_bands))
        object.__setattr__(self, "frame_decay", int(self.frame_decay))
        require(
            self.rate_bits in allowed, f"delta encoding: rate_bits must be between {allowed[0]} and {allowed[-1]}, got {self.rate_bits}"
        )
        require(
            all(1 <= band <= self.one for band in self.dead_bands),
            f"delta encoding: every dead band must be between 1 and {self.one} (2**-{self.rate_bits}), got {self.dead_bands}",
        )

        require(
            self.activation in get_args(Activation),
            f"delta encoding: activation must be {' or '.join(map(repr, get_args(Activation)))}, got {self.activation!r}",
        )
        require(
            0 <= self.frame_decay < limits.DECAY_UNIT,
            f"delta encoding: frame_decay must be between 0 and {limits.DECAY_UNIT - 1} (1/{limits.DECAY_UNIT}), got {self.frame_decay}",
        )

    @property
    def one(self) -> int:
        """The integer that stands for a rate of 1."""
        return 1 << self.rate_bits

    @property
    def rate_max(self) -> float:
        """The largest rate, spikes per step."""
        return self.ceiling / self.one

    @property
    def ceiling(self) -> int:
        """The largest integer that can stand for a rate."""
        return self.one if self.activation == "clip" else limits.CHANGE_MAX

    def shares(self) -> tuple[float, ...]:
        """Return the dead bands in spikes per step, one per layer."""
        return tuple(band / self.one for band in self.dead_bands)

    def frame_weights(self, steps: int) -> NDArray[np.int64]:
        """Return the integer weights of the frames 1 … T of an event input, which add up to 2**12: those of E3 to within 2**-12.

        Args:
            steps: T, at most 2**12.

        Raises:
            BadArgument: there are more frames than weights can distinguish.
        """
        if steps > 1 << limits.FRAME_BITS:
            raise BadArgument(f"delta encoding takes at most {1 << limits.FRAME_BITS} frames of events, got {steps}")
        leak = 1.0 - self.frame_decay / limits.DECAY_UNIT
        shares = np.cumsum(leak ** np.arange(steps - 1, -1, -1, dtype=np.float64))
        return np.diff(np.rint(shares / shares[-1] * 2.0**limits.FRAME_BITS), prepend=0.0).astype(np.int64)


def check_delta(chip: ChipNetwork, delta: DeltaEncoding) -> None:
    """Raise BadNetwork unless `chip` fits delta encoding (E15), in which sums of shifted products are exact for any order of messages."""
    number = len(chip.layers)
    require(len(delta.dead_bands) == number, f"delta encoding: there must be one dead band per layer ({number}), got {delta.dead_bands}")
    require(chip.input.kind == "events" or delta.frame_decay == 0, "delta encoding: frame_decay must be 0 without event input")
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


def delta_frame_exponent(chip: ChipNetwork, layer: Layer) -> int:
    """Return the exponent of the sum of the frames that a layer received: the smallest among its connections from the input; 0 if none."""
    return min((synapse.exponent for synapse in chip.into(layer) if synapse.source == INPUT), default=0)
