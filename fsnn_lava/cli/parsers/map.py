"""The options of fsnn-map."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.parsers.parser import Parser
from fsnn_lava.placement.board import board_names


def map_parser() -> Parser:
    """Return the parser of fsnn-map."""
    options = Parser(prog="fsnn-map", description="Place a network on a board; the board itself is not needed.")
    options.add_argument("network", help="net.h5, written by fsnn-export, or the name of a shipped network")
    options.add_argument("--board", default="oheo-gulch", help=f"{', '.join(board_names())}, or a .toml file (default: %(default)s)")
    options.add_argument(
        "--readout", choices=("auto", "chip", "host"), default="auto", help="where to compute the readout (default: %(default)s)"
    )
    options.add_argument("--results", type=Path, help="results.h5 of a run of this network: also estimate what a sample costs on the chip")
    options.add_argument("--cores", action="store_true", help="also list every core")
    options.add_argument("--svg", type=Path, help="write a picture of the core map")
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    return options
