"""The options of fsnn-import."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.parsers.data_options import add_data_options
from fsnn_lava.cli.parsers.parser import Parser

WRITERS = ("norse", "sinabs", "snntorch", "spikingjelly")


def import_parser() -> Parser:
    """Return the parser of fsnn-import."""
    options = Parser(
        prog="fsnn-import",
        description="Import a trained network from another framework. Files are read as data: nothing in them is executed.",
    )
    options.add_argument(
        "source",
        help="an NIR graph, a lava-dl .net file, a checkpoint of IDE-FSNN, or MODULE:FUNCTION: a Python function of yours that returns "
        "a trained torch module of snnTorch, SpikingJelly, norse or sinabs, or of ReLUs",
    )
    options.add_argument("output", type=Path, help="file to write: model.pt; net.h5 for a lava-dl network, which consists of integers")
    options.add_argument(
        "--input-shape", type=int, nargs="+", metavar="N", help="shape of a sample without batch and time, such as 1 28 28"
    )
    options.add_argument("--steps", type=int, default=30, metavar="T", help="steps per run (default %(default)s)")
    options.add_argument("--divisor", type=float, default=255, help="raw values are first divided by this number (default %(default)s)")
    options.add_argument("--mean", type=float, nargs="+", default=[0.0], help="subtracted next, one number or one per channel (default 0)")
    options.add_argument("--std", type=float, nargs="+", default=[1.0], help="divisor of the result, one or one per channel (default 1)")
    options.add_argument(
        "--leak", type=float, metavar="LEAK", help="leak of an IDE-FSNN checkpoint, which does not contain it: 0.95, 0.99, or 1 for IF"
    )
    options.add_argument("--vth", type=float, help="threshold of an IDE-FSNN checkpoint (default 2)")
    options.add_argument("--written-by", choices=WRITERS, help="framework that wrote an NIR file: each has its own time unit")
    options.add_argument("--dt", type=float, help="duration of a step in an NIR file from another program (default: as noted in the file)")
    options.add_argument(
        "--reset",
        choices=("subtract", "zero"),
        help="what a spike does to the potential, which NIR cannot express (default: as noted in the NIR file, else zero)",
    )
    options.add_argument(
        "--samples", type=int, default=256, metavar="N", help="training samples to calibrate and compare on (default %(default)s)"
    )
    add_data_options(options, purpose="data set of the samples that a torch module is calibrated and compared on: ", default="none")
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    return options
