"""The options of fsnn-export."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.parsers.data_options import add_data_options
from fsnn_lava.cli.parsers.parser import Parser
from fsnn_lava.limits import WEIGHT_BITS
from fsnn_lava.placement.board import board_names

SUFFIXES = {"netx": (".h5", ".hdf5", ".net"), "nir": (".nir",)}


def export_parser() -> Parser:
    """Return the parser of fsnn-export."""
    options = Parser(
        prog="fsnn-export", description="Convert a trained model to an integer network, and check that it is still the same network."
    )
    options.add_argument("model", type=Path, help="model.pt, written by fsnn-train, or the name of a shipped model")
    options.add_argument("network", type=Path, help="file to write: .h5 or .net (NetX), .nir with --format nir")
    options.add_argument(
        "--bits",
        type=int,
        metavar="N",
        help=f"signed bits per weight, {WEIGHT_BITS[0]} … {WEIGHT_BITS[-1]} (default: the bits that the model was trained for, else 8)",
    )
    options.add_argument(
        "--reset", choices=("subtract", "zero"), default="subtract", help="what a spike does to the potential (default subtract)"
    )
    options.add_argument("--format", choices=tuple(SUFFIXES), help="file format (default: from the file name)")
    options.add_argument(
        "--input", choices=("pixels", "current", "events"), help="how the input enters the chip (default pixels; events for sequences)"
    )
    options.add_argument(
        "--target", choices=("loihi2",), help="choose the largest number of bits, at most --bits, with which --board runs the network"
    )
    options.add_argument(
        "--board", default="oheo-gulch", help=f"with --target: {', '.join(board_names())}, or a .toml file (default: %(default)s)"
    )
    options.add_argument("--per-channel", action="store_true", help="use a separate unit and threshold for every channel")
    options.add_argument(
        "--steps",
        type=int,
        metavar="T",
        help="steps per run (default: as trained; as many as needed with --encoding delta, unless the model was trained with it)",
    )
    options.add_argument(
        "--encoding", choices=("rate", "delta"), help="send spikes, or graded changes of the rates (default: as trained, usually rate)"
    )
    options.add_argument(
        "--dead-band",
        type=float,
        nargs="+",
        metavar="ETA",
        help="with --encoding delta: the smallest change that is sent, spikes per step; one number, or one per layer "
        "(default: as trained, or the largest that keeps the rates as close to the equilibrium as spikes would)",
    )
    add_data_options(options, purpose="data set to calibrate and test on: ", default="what the model was trained on, if found")
    options.add_argument("--limit", type=int, metavar="N", help="test samples to check on (default 500, fewer for a large network)")
    options.add_argument(
        "--max-drop", type=float, default=1.0, metavar="P", help="percentage points of accuracy that may be lost (default 1)"
    )
    options.add_argument("--force", action="store_true", help="write the file even if a check fails")
    options.add_argument("--report", type=Path, metavar="report.html", help="run the file on the emulator and write a report on the run")
    options.add_argument("--figures", type=Path, metavar="DIR", help="with --report: also write every figure as PNG and its data as CSV")
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    options.add_argument("--explain", action="store_true", help="explain the columns of the table")
    return options
