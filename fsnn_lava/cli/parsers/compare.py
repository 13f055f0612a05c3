"""The options of fsnn-compare."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.command import Parser
from fsnn_lava.cli.parsers.threshold_options import add_threshold_options


def parser() -> Parser:
    options = Parser(prog="fsnn-compare", description="Judge a finished run: every link of the chain separately.")
    options.add_argument("results", type=Path, help="results.h5, written by fsnn-run")
    options.add_argument(
        "--model",
        type=Path,
        metavar="model.pt",
        help="the float network, a file or a shipped name: adds the checks of its spikes and of the shift, and the agreement",
    )
    options.add_argument("--report", type=Path, metavar="report.html", help="write a page with figures")
    options.add_argument("--figures", type=Path, metavar="DIR", help="with --report: every figure as PNG, its data as CSV")
    options.add_argument("--limit", type=int, metavar="N", help="compare only the first N samples")
    options.add_argument("--equilibria", type=int, metavar="N", help="samples to solve a* for, from the first (default: some, spread over the run)")
    options.add_argument("--json", action="store_true", help="print the verdict as JSON")
    add_threshold_options(options)
    return options
