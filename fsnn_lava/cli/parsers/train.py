"""The options of fsnn-train."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.cli.parsers.data_options import add_data_options
from fsnn_lava.cli.parsers.parser import Parser


def train_parser() -> Parser:
    """Return the parser of fsnn-train."""
    options = Parser(
        prog="fsnn-train",
        description="Train a feedback spiking network from a recipe. Every epoch updates best.pt, last.pt, state.pt and the log.",
        epilog="To train on several processes: torchrun --standalone --nproc_per_node 2 -m fsnn_lava.cli.train RECIPE …",
    )
    options.add_argument("recipe", nargs="?", help="a recipe: a .toml file, or the name of a shipped one, such as digits")
    options.add_argument("--list", action="store_true", help="list the shipped recipes")
    options.add_argument("--init", type=Path, metavar="my.toml", help="write an editable copy of the recipe (default: digits), and exit")
    options.add_argument("--out", type=Path, metavar="DIR", help="output folder of the run (default: runs/<name of the recipe>)")
    add_data_options(options, default="as in the recipe")
    options.add_argument("--resume", action="store_true", help="continue the run in the output folder; the result is bit-identical")
    options.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", dest="changes", help="override a key of the recipe, such as seed=2"
    )
    options.add_argument("--threads", type=int, metavar="N", help="number of threads (default: all cores)")
    options.add_argument("--device", default="cpu", help="cpu (default) or cuda")
    options.add_argument("--json", action="store_true", help="print the result as JSON")
    options.add_argument("--curves", type=Path, metavar="PNG", help="plot loss, accuracy, rates and residuals; updated after every epoch")
    options.add_argument("--tensorboard", type=Path, metavar="DIR", help="write the same curves for TensorBoard")
    return options
