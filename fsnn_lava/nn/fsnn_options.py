"""Checks of the options of an FSNN; each error message names the option."""

from __future__ import annotations

import math
from numbers import Real

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.dynamics import SCHEDULES, Schedule
from fsnn_lava.nn.neurons import LIF
from fsnn_lava.nn.normalisation import Normalisation


def check_options(
    *, neuron: LIF | None, vth: float, steps: int, schedule: Schedule, dropout: float, normalisation: Normalisation | None
) -> None:
    """BadArgument unless every option has its type and lies in its range."""
    if neuron is not None and not isinstance(neuron, LIF):
        raise BadArgument(f"neuron must be IF() or LIF(leak), for example fsnn_lava.LIF(0.95), got {neuron!r}")
    if not isinstance(vth, Real):
        raise BadArgument(f"vth must be a single number, used for all layers; got {vth!r}")
    if not (vth > 0 and math.isfinite(vth)):
        raise BadArgument(f"vth must be positive and finite, got {vth}")
    if steps < 1:
        raise BadArgument(f"steps must be at least 1, got {steps}")
    if schedule not in SCHEDULES:
        raise BadArgument(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    if not 0.0 <= dropout < 1.0:
        raise BadArgument(f"dropout must lie in [0, 1), got {dropout}")
    if normalisation is not None and not isinstance(normalisation, Normalisation):
        raise BadArgument(f"normalisation must be a Normalisation, for example fsnn_lava.Normalisation(255.0), got {normalisation!r}")
