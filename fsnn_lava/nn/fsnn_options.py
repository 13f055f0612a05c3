"""Checks for the options of an FSNN; each error message names the option."""

from __future__ import annotations

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.dynamics import SCHEDULES, Schedule
from fsnn_lava.nn.images import check_steps
from fsnn_lava.nn.neurons import LIF
from fsnn_lava.nn.normalisation import Normalisation


def check_options(*, neuron: LIF | None, steps: int, schedule: Schedule, dropout: float, normalisation: Normalisation | None) -> None:
    """Raise BadArgument unless every option has the right type and lies in its range."""
    if neuron is not None and not isinstance(neuron, LIF):
        listed = isinstance(neuron, (list, tuple))
        many = "; all layers share one leak: different ones would need a trace per target's leak (E10)" if listed else ""
        raise BadArgument(f"neuron must be IF(), LIF(leak) or SigmaDelta(), for example fsnn_lava.LIF(0.95), got {neuron!r}{many}")
    check_steps(steps)
    if schedule not in SCHEDULES:
        raise BadArgument(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    if not 0.0 <= dropout < 1.0:
        raise BadArgument(f"dropout must lie in [0, 1), got {dropout}")
    if normalisation is not None and not isinstance(normalisation, Normalisation):
        raise BadArgument(f"normalisation must be a Normalisation, for example fsnn_lava.Normalisation(255.0), got {normalisation!r}")
