"""The options for the user's own thresholds, shared by every command that compares."""

from __future__ import annotations

import argparse

from fsnn_lava.errors import BadArgument
from fsnn_lava.verify.thresholds import Thresholds

_RATE = "spikes per step"


def add_threshold_options(parser: argparse.ArgumentParser) -> None:
    """Add one option per field of Thresholds."""
    group = parser.add_argument_group("your own thresholds, in addition to the bounds (docs/equations.md, E10 … E12)")
    group.add_argument("--residual-max", type=float, metavar="R", help=f"largest |f(a) - a| of any neuron, {_RATE}")
    group.add_argument("--distance-max", type=float, metavar="R", help=f"largest |a - a*| of any neuron, {_RATE}")
    group.add_argument("--shift-max", type=float, metavar="R", help=f"largest shift of the equilibrium by quantisation, {_RATE}")
    group.add_argument(
        "--contraction", choices=("none", "local", "certified"), default="none", help="the weakest form of contraction that is accepted"
    )
    group.add_argument("--accuracy-min", type=float, metavar="P", help="smallest fraction of correct answers, 0 … 1")
    group.add_argument("--agreement-min", type=float, metavar="P", help="smallest fraction of answers equal to the float network's, 0 … 1")
    group.add_argument("--dead-max", type=float, metavar="P", help="largest fraction of neurons that never spike, 0 … 1")


def thresholds(args: argparse.Namespace) -> Thresholds:
    """Return the thresholds from parsed options; raise BadArgument if one is out of range."""
    try:
        return Thresholds(
            residual_max=args.residual_max,
            distance_max=args.distance_max,
            shift_max=args.shift_max,
            contraction=args.contraction,
            accuracy_min=args.accuracy_min,
            agreement_min=args.agreement_min,
            dead_max=args.dead_max,
        )
    except BadArgument as error:  # it begins with the name of the field
        raise BadArgument(f"--{str(error).replace('_', '-', 1)}") from None
