"""The options of fsnn-get."""

from __future__ import annotations

from fsnn_lava.cli.parsers.parser import Parser


def get_parser() -> Parser:
    """Return the parser of fsnn-get."""
    options = Parser(
        prog="fsnn-get",
        description="Download a trained network of this release and verify the SHA-256 of its files. The package contains net.h5 of every "
        "network and model.pt of digits. The other files have no public address yet: set FSNN_MODELS to the folder examples/models of a "
        "clone, or to its URL.",
    )
    options.add_argument("network", nargs="?", help="the name of a trained network")
    options.add_argument(
        "--list", action="store_true", help="list the trained networks and which of their files are already on this machine"
    )
    return options
