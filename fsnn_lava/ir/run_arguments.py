"""Checks for the arguments of a run, which are the same for every backend."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.limits import STEPS_MAX


def checked_steps(chip: ChipNetwork, steps: int | None) -> int:
    """Return the argument `steps` of a run, by default the network's own; BadArgument if it is out of range."""
    steps = chip.steps if steps is None else steps
    if not isinstance(steps, Integral) or isinstance(steps, bool) or not 1 <= int(steps) <= STEPS_MAX:
        raise BadArgument(f"steps must be an integer between 1 and {STEPS_MAX}, got {steps!r}")
    return int(steps)


def check_chip(chip: object) -> None:
    """Raise BadArgument unless the argument `chip` of a run is an integer network."""
    if not isinstance(chip, ChipNetwork):
        found = type(chip).__name__
        raise BadArgument(f"chip must be a ChipNetwork, got {found}; make one with quantise(net), or read one with ChipNetwork.load")


def check_values_argument(chip: ChipNetwork, values: object, steps: int) -> None:
    """Raise BadArgument unless the argument `values` of a run holds raw inputs for this network and `steps`, with at least one sample."""
    kind, shape = chip.input.kind, chip.input.shape
    form = f"[B, {', '.join(map(str, (steps, *shape) if kind == 'events' else shape))}]"
    wanted = f"values must be raw uint8 {form} for this network (input kind {kind!r}"
    if not isinstance(values, np.ndarray):
        remedy = "; pass values.numpy()" if type(values).__name__ == "Tensor" else ""
        raise BadArgument(f"{wanted}), got {type(values).__name__}{remedy}")
    if values.dtype != np.uint8:
        raise BadArgument(f"{wanted}; the network does the normalisation itself), got {values.dtype}")
    if values.shape[1:] != ((steps, *shape) if kind == "events" else shape):
        raise BadArgument(f"{wanted}{f', {steps} steps' if kind == 'events' else ''}), got shape {values.shape}")
    if len(values) < 1:
        raise BadArgument(f"{wanted}) with at least one sample, got none")
