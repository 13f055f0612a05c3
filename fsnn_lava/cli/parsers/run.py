"""The options of fsnn-run."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.backends.availability import BACKENDS, GRAPHS
from fsnn_lava.cli.parsers.data_options import add_data_options
from fsnn_lava.cli.parsers.parser import Parser
from fsnn_lava.cli.parsers.threshold_options import add_threshold_options

DEFAULT = "digits"


def run_parser() -> Parser:
    """Return the parser of fsnn-run."""
    options = Parser(prog="fsnn-run", description="Run a network on samples and check the results.")
    options.add_argument("network", nargs="?", default=DEFAULT, help="net.h5, or the name of a shipped network (default: %(default)s)")
    options.add_argument(
        "--backend", choices=tuple(BACKENDS), default="sim", help="where to run (default: %(default)s); there is no fallback"
    )
    add_data_options(options, default="what the network was trained on")
    options.add_argument("--steps", type=int, metavar="T", help="steps per sample (default: as exported)")
    options.add_argument("--limit", type=int, metavar="N", help="run only the first N test samples")
    options.add_argument("--batch", type=int, metavar="B", help="samples per batch (default: as many as fit in memory)")
    options.add_argument(
        "--graph", choices=GRAPHS, default="batched", help="with --backend sim: use our own processes, or only Lava's stock processes"
    )
    options.add_argument("--out", type=Path, metavar="results.h5", help="write the results to this file")
    options.add_argument("--resume", action="store_true", help="with --out: continue an interrupted run from its finished batches")
    options.add_argument(
        "--detail",
        type=int,
        metavar="N",
        help="number of samples for which --out stores every neuron (default: 1000, fewer if they are large)",
    )
    options.add_argument("--spikes", action="store_true", help="also store the spike trains of the samples in --detail")
    options.add_argument(
        "--residual", action="store_true", help="also compute the residual ||f(a) - a|| after every step, and store it in --out"
    )
    options.add_argument("--report", type=Path, metavar="report.html", help="write a report of the comparison")
    options.add_argument("--figures", type=Path, metavar="DIR", help="with --report: also write every figure as PNG and its data as CSV")
    options.add_argument(
        "--model", type=Path, metavar="model.pt", help="also compare with the trained network, a file or the name of a shipped one"
    )
    options.add_argument("--no-compare", action="store_true", help="run without checking the results")
    options.add_argument(
        "--package", type=Path, metavar="DIR", help="do not run; write a folder that can be copied to a machine with a board"
    )
    options.add_argument(
        "--board", default="oheo-gulch", help="with --package: the board that the network must be able to run on (default: %(default)s)"
    )
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    add_threshold_options(options)
    return options
