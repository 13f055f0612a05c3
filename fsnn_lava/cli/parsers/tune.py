"""The options of fsnn-tune."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.parsers.data_options import add_data_options
from fsnn_lava.cli.parsers.parser import Parser
from fsnn_lava.limits import WEIGHT_BITS
from fsnn_lava.placement.board import board_names


def tune_parser() -> Parser:
    """Return the parser of fsnn-tune."""
    options = Parser(
        prog="fsnn-tune",
        description="Search encoding, steps or dead band, and bits for the cheapest network on a board that keeps the accuracy.",
    )
    options.add_argument("model", type=Path, help="model.pt, written by fsnn-train, or the name of a shipped model")
    options.add_argument("network", type=Path, help="file to write: .h5 or .net")
    options.add_argument("--board", default="oheo-gulch", help=f"{', '.join(board_names())}, or a .toml file (default: %(default)s)")
    options.add_argument(
        "--max-drop", type=float, default=0.1, metavar="P", help="percentage points of accuracy that may be lost (default: %(default)s)"
    )
    options.add_argument(
        "--encodings", nargs="+", choices=("rate", "delta"), default=["rate", "delta"], help="encodings to try (default: both)"
    )
    options.add_argument(
        "--bits",
        type=int,
        nargs="+",
        metavar="N",
        help=f"weight bits to try, {WEIGHT_BITS[0]} to {WEIGHT_BITS[-1]} (default: 8 6 5 4, or the bits that the model was trained for)",
    )
    options.add_argument(
        "--emulated", action="store_true", help="also consider what the board cannot run yet: delta encoding, units per channel"
    )
    options.add_argument("--samples", type=int, metavar="N", help="number of training samples to evaluate on (default: all, at most 10000)")
    options.add_argument(
        "--seed", type=int, default=0, help="seed for choosing these samples, unless training held some out (default: %(default)s)"
    )
    options.add_argument("--processes", type=int, metavar="N", help="number of processes (default: one per core)")
    options.add_argument("--resume", action="store_true", help="continue an interrupted search")
    options.add_argument("--figure", type=Path, metavar="front.png", help="draw the trade-offs (.png, .svg or .pdf)")
    add_data_options(options, purpose="data set to tune on: ", default="what the model was trained on")
    options.add_argument("--json", action="store_true", help="print all trials as JSON")
    return options
