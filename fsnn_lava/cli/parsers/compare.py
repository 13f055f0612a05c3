"""The options of fsnn-compare."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.parsers.parser import Parser
from fsnn_lava.cli.parsers.threshold_options import add_threshold_options


def compare_parser() -> Parser:
    """Return the parser of fsnn-compare."""
    options = Parser(
        prog="fsnn-compare",
        description="Check the results of a finished run, link by link. With two runs, also put them side by side.",
    )
    options.add_argument("results", type=Path, help="results.h5, written by fsnn-run")
    options.add_argument("other", type=Path, nargs="?", help="a second results.h5, to compare with the first sample by sample")
    options.add_argument(
        "--model",
        type=Path,
        metavar="model.pt",
        help="the float network, a file or the name of a shipped one: also check its spikes, the equilibrium's shift and the agreement",
    )
    options.add_argument("--report", type=Path, metavar="report.html", help="write an HTML report with figures")
    options.add_argument("--figures", type=Path, metavar="DIR", help="with --report: also write every figure as PNG and its data as CSV")
    options.add_argument("--limit", type=int, metavar="N", help="compare only the first N samples")
    options.add_argument(
        "--equilibria", type=int, metavar="N", help="solve for a* of the first N samples (default: of some samples spread over the run)"
    )
    options.add_argument("--json", action="store_true", help="print the verdict as JSON")
    add_threshold_options(options)
    return options
