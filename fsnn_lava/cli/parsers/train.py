"""The options of fsnn-train."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.parsers.data_options import add_data_options
from fsnn_lava.cli.parsers.parser import Parser


def parser() -> Parser:
    """The parser of fsnn-train."""
    options = Parser(
        prog="fsnn-train",
        description="Train a feedback spiking network from a recipe. Every epoch writes best.pt, last.pt, state.pt and a line of the log.",
        epilog="On several processes: torchrun --standalone --nproc_per_node 2 -m fsnn_lava.cli.train RECIPE …",
    )
    options.add_argument("recipe", nargs="?", help="a recipe: a .toml file, or the name of a shipped one, for example digits")
    options.add_argument("--list", action="store_true", help="list the shipped recipes")
    options.add_argument("--init", type=Path, metavar="my.toml", help="write a copy of the recipe (default: digits) to change, and stop")
    options.add_argument("--out", type=Path, metavar="DIR", help="folder of the run (default: runs/<name of the recipe>)")
    add_data_options(options, default="the recipe's")
    options.add_argument("--resume", action="store_true", help="continue the run in the folder; the result is bit-identical")
    options.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="changes", help="change a key of the recipe, for example seed=2"
    )
    options.add_argument("--threads", type=int, metavar="N", help="threads to compute with (default: all cores)")
    options.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    options.add_argument("--curves", type=Path, metavar="PNG", help="plot loss, accuracy, rates and residuals; updated after every epoch")
    options.add_argument("--tensorboard", type=Path, metavar="DIR", help="write the same curves for TensorBoard")
    return options
