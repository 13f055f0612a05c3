"""Probe a neuron to find out what it does: only its spikes are read, never its source, parameters or state.

Every question is about a threshold: the smallest input in one step that makes the neuron fire in that step, after a given history.
Bisection finds it to the last bit of a float64, for all questions at once, since each column of a batch is a separate neuron.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fsnn_lava.errors import BadNetwork
from fsnn_lava.importing.neuron_facts import NeuronFacts, Reset, fact_is_close

Neuron = Callable[[Tensor], Tensor]  # currents [T, B] in float64 -> spikes [T, B], from rest; the B neurons do not interact

WAIT = 6  # steps within which a strong input must cause a spike
EXPONENTS = range(-40, 41)  # thresholds lie between these powers of two
HALVINGS = 80
REACH = 16.0  # inputs lie within +- this many thresholds
SILENCE = 50  # steps without an input
DIGITS = 12
ROUNDER = 4  # a float must have this many digits fewer than its neighbour to be taken as the threshold


@dataclass(frozen=True)
class _Question:
    """Which input in step `slot` is just large enough to make it fire, after these inputs? All in units of the threshold."""

    history: tuple[float, ...]

    @property
    def slot(self) -> int:
        return len(self.history)


AT_REST = tuple(_Question((0.0,) * steps) for steps in range(3))
LEAKED = (_Question((0.5,)), _Question((0.5, 0.0)))
INHIBITED = _Question((-2.0,))
JUMPS = (1.25, 1.75, 3.5)  # how far above rest a neuron fires before its reset is measured
AFTER_A_SPIKE = tuple(_Question((jump,)) for jump in JUMPS)
STEPS = max(question.slot for question in (*AT_REST, *LEAKED)) + 1


def probe(neuron: Neuron, *, stated_threshold: float | None = None) -> NeuronFacts:
    """Probe a neuron to measure what it does.

    Args:
        neuron: runs currents [T, B] from rest and returns spikes [T, B].
        stated_threshold: the threshold that its module states, from which the gain of its input is found; it is not trusted otherwise.

    Raises:
        BadNetwork: no input makes it fire, or it does not return exactly one number per input.
    """
    delay, scale = _first_spike(neuron)
    low, high = _smallest_input(neuron, AT_REST[:1], delay, scale)
    threshold = float(high[0])
    _, found = _smallest_input(neuron, (*AT_REST, *LEAKED, INHIBITED, *AFTER_A_SPIKE), delay, threshold)
    inputs = (found / threshold).tolist()
    rest, leaked, inhibited, after = inputs[:3], inputs[3:5], inputs[5], inputs[6:]
    leak = _rounded(2.0 * (1.0 - leaked[0]))
    reset, removed = _reset(leak, after)
    return NeuronFacts(
        threshold=_rounded(threshold),
        strict=_strict(float(low[0]), threshold),
        leak=leak,
        reset=reset,
        removed=_rounded(removed * _rounded(threshold)),
        delay=delay,
        gain=None if stated_threshold is None else _rounded(stated_threshold / threshold),
        oddities=(*_state_oddities(leak, rest, leaked[1], inhibited, after), *_output_oddities(neuron, threshold)),
    )


def _run(neuron: Neuron, currents: Tensor) -> Tensor:
    with torch.no_grad():
        spikes = neuron(currents)
    if not isinstance(spikes, Tensor) or spikes.shape != currents.shape:
        got = list(spikes.shape) if isinstance(spikes, Tensor) else type(spikes).__name__
        raise BadNetwork(f"a probed neuron must return one spike for each input {list(currents.shape)}, got {got}")
    return spikes


def _first_spike(neuron: Neuron) -> tuple[int, float]:
    """Return how many steps a strong impulse takes to cause a spike, and an impulse at most twice as large as the smallest that does."""
    sizes = torch.tensor([2.0**exponent for exponent in EXPONENTS], dtype=torch.float64)
    currents = torch.zeros(WAIT, len(sizes), dtype=torch.float64)
    currents[0] = sizes
    fired = _run(neuron, currents) > 0
    if not bool(fired[:, -1].any()):
        raise BadNetwork(f"an input of {float(sizes[-1]):g} does not make the neuron fire within {WAIT} steps, so it cannot be measured")
    delay = int(fired[:, -1].nonzero()[0])
    return delay, float(sizes[fired[delay]][0])


def _smallest_input(neuron: Neuron, questions: Sequence[_Question], delay: int, scale: float) -> tuple[Tensor, Tensor]:
    """Return, per question, the largest input that causes no spike and the smallest that does, adjacent in float64; NaN if none does."""
    columns = torch.arange(len(questions))
    slots = torch.tensor([question.slot for question in questions])
    currents = torch.zeros(STEPS + delay, len(questions), dtype=torch.float64)
    for column, question in enumerate(questions):
        currents[: question.slot, column] = scale * torch.tensor(question.history, dtype=torch.float64)

    def fires(inputs: Tensor) -> Tensor:
        currents[slots, columns] = inputs
        return _run(neuron, currents)[slots + delay, columns] > 0

    low = torch.full((len(questions),), -REACH * scale, dtype=torch.float64)
    high = -low
    never = ~fires(high)
    for _ in range(HALVINGS):
        middle = low + (high - low) / 2
        fired = fires(middle)
        low, high = torch.where(fired, low, middle), torch.where(fired, middle, high)
    nothing = torch.full_like(low, torch.nan)
    return torch.where(never, nothing, low), torch.where(never, nothing, high)


def _strict(silent: float, firing: float) -> bool | None:
    """Return which of two adjacent floats is the threshold: the one with clearly fewer digits."""
    more = len(repr(firing)) - len(repr(silent))
    return None if abs(more) < ROUNDER else more > 0


def _reset(leak: float, after: Sequence[float]) -> tuple[Reset, float]:
    """Return what a spike removes from the next potential, in thresholds, given the inputs that fire right after spikes from various
    potentials.
    """
    removed = [leak * jump + after - 1.0 for jump, after in zip(JUMPS, after, strict=True)]
    if all(fact_is_close(one, removed[0], 1.0) for one in removed):
        return ("none", 0.0) if leak > 0.0 and fact_is_close(removed[0], 0.0, 1.0) else ("subtract", removed[0])
    return ("zero", 0.0) if all(fact_is_close(one, 1.0, 1.0) for one in after) else ("other", 0.0)


def _state_oddities(leak: float, rest: Sequence[float], leaked_twice: float, inhibited: float, after: Sequence[float]) -> list[str]:
    found = []
    if any(math.isnan(one) for one in after):
        found.append("cannot fire in the step after a spike")
    if not all(fact_is_close(one, 1.0, 1.0) for one in rest):
        found.append("does not start at rest")
    if not fact_is_close(2.0 * (1.0 - leaked_twice), leak**2, 1.0):
        found.append("has a second state, such as a synaptic current (its response does not decay geometrically)")
    if not fact_is_close(inhibited, 1.0 + 2.0 * leak, 1.0):
        found.append("limits how far inhibition lowers u")
    return found


def _output_oddities(neuron: Neuron, threshold: float) -> list[str]:
    currents = torch.zeros(SILENCE, 2, dtype=torch.float64)
    currents[0, 1] = REACH * threshold
    spikes = _run(neuron, currents)
    found = ["fires without an input"] if bool((spikes[:, 0] != 0).any()) else []
    values = sorted(set(spikes[:, 1].tolist()) - {0.0, 1.0})
    return [*found, f"sends spikes of size {values[0]:g}"] if values else found


def _rounded(value: float) -> float:
    """Drop the last digits, which are rounding errors of the bisection."""
    return float(f"{value:.{DIGITS}g}")
