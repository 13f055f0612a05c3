"""The options of fsnn-doctor."""

from __future__ import annotations

from fsnn_lava.cli.parsers.parser import Parser


def doctor_parser() -> Parser:
    """Return the parser of fsnn-doctor."""
    options = Parser(
        prog="fsnn-doctor", description="Show what is installed, which backends can run here, and what the others are missing."
    )
    options.add_argument("--json", action="store_true", help="print the output as JSON")
    options.add_argument(
        "--install-lava", action="store_true", help="install lava-nc if it is missing, and check it with a network of two neurons"
    )
    options.add_argument("--yes", action="store_true", help="with --install-lava: do not ask before installing")
    return options
