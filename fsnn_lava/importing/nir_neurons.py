"""Work out what the neurons of an NIR graph do in one time step: NIR defines differential equations, and frameworks differ in time unit.

This file is the table in docs/importing.md. It was measured: the tests write NIR files with each framework and compare all spikes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.neuron_facts import NeuronFacts
from fsnn_lava.importing.nir_file import NirNode

Writer = Literal["norse", "sinabs", "snntorch", "spikingjelly"]
Reset = Literal["subtract", "zero"]
NEURONS = ("IF", "LIF")


@dataclass(frozen=True)
class Membrane:
    """What a neuron does in one step: it keeps `leak` of its potential and adds `gain` times its input."""

    leak: float
    gain: float


@dataclass(frozen=True)
class Habits:
    """How a framework writes its neurons to NIR files.

    Attributes:
        membrane: function of tau (infinite for IF) and r.
        strict: it fires at u > threshold, not at u >= threshold.
        late: a reset by subtraction takes effect after the leak of the next step.
        soft: it can write networks that reset by subtraction.
        framework: whether `title` names a framework; otherwise it names a time step.
    """

    title: str
    membrane: Callable[[float, float], Membrane]
    strict: bool = True
    late: bool = False
    soft: bool = True
    framework: bool = True

    @property
    def reading(self) -> str:
        """How a file is read, as a phrase for messages."""
        return f"as {self.title} writes it" if self.framework else f"with {self.title}"


def euler(dt: float) -> Callable[[float, float], Membrane]:
    """Discretise NIR's own equations, tau v' = -v + r I and v' = r I, in steps of dt (forward Euler)."""

    def membrane(tau: float, r: float) -> Membrane:
        return Membrane(1.0, dt * r) if math.isinf(tau) else Membrane(1.0 - dt / tau, dt * r / tau)

    return membrane


def _snntorch(tau: float, r: float) -> Membrane:
    """Time steps of 1e-4; a neuron without a leak has infinite tau and r."""
    return Membrane(1.0, 1.0) if math.isinf(tau) else euler(1e-4)(tau, r)


def _norse(tau: float, r: float) -> Membrane:
    """tau is written as dt / tau_mem_inv with dt = 1e-3, although 1 / tau_mem_inv is meant; IF integrates its input itself."""
    return Membrane(1.0, r) if math.isinf(tau) else euler(1e-3)(tau / 1e-3, r)


def _sinabs(tau: float, r: float) -> Membrane:
    """A step is the unit of time; LIF nodes do not say whether their input is normalised."""
    if not math.isinf(tau):
        raise BadArgument("sinabs writes LIF nodes that do not say whether norm_input scales their input: import the module itself")
    return Membrane(1.0, r)


WRITERS: Mapping[Writer, Habits] = {
    "norse": Habits("norse", _norse),
    "sinabs": Habits("sinabs", _sinabs, strict=False),
    "snntorch": Habits("snnTorch", _snntorch, late=True),
    "spikingjelly": Habits("SpikingJelly", euler(1e-4), strict=False, soft=False),
}


def neuron_facts(node: NirNode, habits: Habits, reset: Reset | None) -> NeuronFacts:
    """Return what the neurons of an IF or LIF node do; `reset` overrides what the file says, and NIR itself resets to v_reset."""
    if np.any(node.numbers.get("v_leak", np.zeros(1)) != 0.0):
        raise BadArgument(f"{node}: v_leak must be 0, since the neurons of an FSNN rest at 0; add it to the bias of the layer")
    tau = _shared(node, "tau") if node.kind == "LIF" else math.inf
    r, theta = _shared(node, "r"), _shared(node, "v_threshold")
    if not tau > 0.0 or not r > 0.0 or not 0.0 < theta < math.inf:
        raise BadArgument(f"{node}: tau, r and v_threshold must be positive, got {tau:g}, {r:g} and {theta:g}")
    try:
        membrane = habits.membrane(tau, r)
    except BadArgument as error:
        raise BadArgument(f"{node}: {error}") from error
    if not 0.0 < membrane.leak <= 1.0 or not 0.0 < membrane.gain < math.inf:
        raise BadArgument(
            f"{node}: {habits.reading}, it would keep {membrane.leak:g} of its potential per step, which must lie in (0, 1]: was the file "
            "written by another framework, or with another time step?"
        )
    threshold = theta / membrane.gain
    subtracts = (reset or node.notes.get("reset")) == "subtract"
    if subtracts and np.any(node.numbers.get("v_reset", np.zeros(1)) != 0.0):
        raise BadArgument(f"{node}: a spike subtracts the threshold and v_reset is not 0; only one of the two can be meant")
    return NeuronFacts(
        threshold=threshold,
        strict=habits.strict,
        leak=membrane.leak,
        reset="subtract" if subtracts else "zero",
        removed=(threshold if habits.late else membrane.leak * threshold) if subtracts else 0.0,
        delay=0,
        gain=membrane.gain,
    )


def _shared(node: NirNode, name: str) -> float:
    """Return a parameter that all neurons of the node share."""
    if name not in node.numbers or node.numbers[name].size == 0:
        raise BadArgument(f"{node}: {name!r} is missing")
    values = node.numbers[name].reshape(-1)
    if np.any(values != values[0]):
        raise BadArgument(f"{node}: {name} differs between its neurons ({values.min():g} … {values.max():g}); all neurons must share it")
    return float(values[0])
