"""The options of fsnn-tune."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.parsers.data_options import add_data_options
from fsnn_lava.cli.parsers.parser import Parser
from fsnn_lava.limits import WEIGHT_BITS
from fsnn_lava.placement.board import board_names


def parser() -> Parser:
    """The parser of fsnn-tune."""
    options = Parser(
        prog="fsnn-tune",
        description="Search encoding, steps or dead band, and bits for the cheapest network on a board that keeps the accuracy.",
    )
    options.add_argument("model", type=Path, help="model.pt, written by fsnn-train, or a shipped name")
    options.add_argument("network", type=Path, help="file to write: .h5 or .net")
    options.add_argument("--board", default="oheo-gulch", help=f"{', '.join(board_names())}, or a .toml file (default: %(default)s)")
    options.add_argument(
        "--max-drop", type=float, default=0.1, metavar="P", help="percentage points of accuracy that may be lost (default: %(default)s)"
    )
    options.add_argument("--encodings", nargs="+", choices=("rate", "delta"), default=["rate", "delta"], help="what to try (default: both)")
    options.add_argument(
        "--bits",
        type=int,
        nargs="+",
        metavar="N",
        help=f"weight bits to try, {WEIGHT_BITS[0]} to {WEIGHT_BITS[-1]} (default: 8 6 5 4, or those it was trained for)",
    )
    options.add_argument(
        "--emulated", action="store_true", help="also choose what the board cannot run yet: delta encoding, units per channel"
    )
    options.add_argument("--samples", type=int, metavar="N", help="training samples to judge by (default: all, at most 10000)")
    options.add_argument("--seed", type=int, default=0, help="which ones, unless training held some out (default: %(default)s)")
    options.add_argument("--processes", type=int, metavar="N", help="to share the work (default: one per core)")
    options.add_argument("--resume", action="store_true", help="continue a search that was interrupted")
    options.add_argument("--figure", type=Path, metavar="front.png", help="draw the trade-offs (.png, .svg or .pdf)")
    add_data_options(options, purpose="what to tune on: ", default="what it was trained on")
    options.add_argument("--json", action="store_true", help="print all trials as JSON")
    return options
