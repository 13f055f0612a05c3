"""Neurons in float: integrate-and-fire neurons with reset (E1), the weights of their rates (E3), and neurons that send changes (E14)."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from numbers import Real
from typing import Literal, get_args

from torch import Tensor

from fsnn_lava.errors import BadArgument

Activation = Literal["clip", "relu"]


@dataclass(frozen=True)
class LIF:
    """Leaky integrate-and-fire neurons, reset by subtraction (E1).

    Args:
        leak: share of the potential that remains after each step (lambda of E1), in (0, 1]. The default is what the paper uses for small
            images; for CIFAR it uses 0.99. A leaky neuron forgets, so steps beyond about 1 / (1 - leak) add nothing: use `IF` for long
            runs.

    Raises:
        BadArgument: `leak` is out of range.

    Examples:
        >>> fl.LIF(0.9).weight_sum(2)
        1.9
    """

    leak: float = 0.95

    def __post_init__(self) -> None:
        if not 0.0 < self.leak <= 1.0:
            raise BadArgument(f"leak must lie in (0, 1], got {self.leak}")

    @property
    def rate_max(self) -> float:
        """The largest rate, spikes per step."""
        return 1.0

    def weight_sum(self, steps: int) -> float:
        """Return the sum of leak**(T - tau) over tau = 1 … T, by which rates are divided (E3).

        Args:
            steps: T.
        """
        return float(steps) if self.leak == 1.0 else (1.0 - self.leak**steps) / (1.0 - self.leak)

    def weights(self, steps: int) -> list[float]:
        """Return the weight of every step in a rate: leak**(T - tau) for tau = 1 … T, divided by their sum (E3).

        Args:
            steps: T.
        """
        total = self.weight_sum(steps)
        return [self.leak ** (steps - tau) / total for tau in range(1, steps + 1)]


@dataclass(frozen=True)
class IF(LIF):
    """Integrate-and-fire neurons: the potential does not leak. A rate is the number of spikes divided by the steps.

    Args:
        leak: always 1; use `LIF` for neurons that leak.

    Raises:
        BadArgument: `leak` is not 1.
    """

    leak: float = 1.0

    def __post_init__(self) -> None:
        if self.leak != 1.0:
            raise BadArgument(f"an IF neuron has no leak; use LIF({self.leak})")


@dataclass(frozen=True)
class SigmaDelta(IF):
    """Neurons that send changes of their rate instead of spikes (E14): the network runs, and is trained, as with delta encoding.

    Use it to fine-tune a network for `encoding="delta"` with the dead band and the few steps that it will run with, or to train without
    the upper clip. A network that is only exported with delta encoding does not need it.

    Args:
        leak: always 1; it has no effect.
        dead_band: the smallest change that is sent, spikes per step, in [0, 1], for all layers; 0 sends every change.
        activation: "clip" keeps rates between 0 and 1, as spikes do. With "relu" they may exceed 1, which takes one of Lava's neurons
            instead of two, but such a network cannot run in spikes.

    Raises:
        BadArgument: an argument is out of range.

    Examples:
        >>> fl.SigmaDelta(dead_band=0.1, activation="relu").rate_max
        inf
    """

    dead_band: float = 0.0
    activation: Activation = "clip"

    def __post_init__(self) -> None:
        if self.leak != 1.0:
            raise BadArgument(f"a sigma-delta neuron has no leak, got {self.leak}")
        if not isinstance(self.dead_band, Real) or not 0.0 <= self.dead_band <= 1.0:
            raise BadArgument(f"dead_band must lie in [0, 1] (spikes per step), got {self.dead_band!r}")
        if self.activation not in get_args(Activation):
            raise BadArgument(f"activation must be {' or '.join(map(repr, get_args(Activation)))}, got {self.activation!r}")

    @property
    def rate_max(self) -> float:
        """The largest rate: 1, or infinity with the activation "relu"."""
        return 1.0 if self.activation == "clip" else inf


def fire(potential: Tensor, *, vth: float) -> Tensor:
    """Return the spikes (0 or 1) of neurons with this potential, and reset it by subtraction in place (E1)."""
    spikes = potential.ge(vth).to(potential.dtype)
    potential.sub_(spikes, alpha=vth)
    return spikes
