"""The argument parser of every command: a wrong argument gives one line on stderr and exit code 2."""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from typing import Any, NoReturn

from fsnn_lava.cli.command import spelled
from fsnn_lava.version import __version__


class Parser(argparse.ArgumentParser):
    """Adds --version, and reports an invalid argument in one line on stderr with exit code 2, as for any bad input.

    For a misspelt option or choice, the message suggests the closest one.
    """

    def __init__(self, *, prog: str, description: str, epilog: str | None = None) -> None:
        super().__init__(prog=spelled(prog), description=description, epilog=epilog)
        self.add_argument("--version", action="version", version=f"fsnn-lava {__version__}", help="print the version and exit")

    def parse_args(self, args: Sequence[str] | None = None, namespace: Any = None) -> Any:  # type: ignore[override]
        """Parse the arguments; for an unknown one, the error suggests the closest option."""
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            self.error(f"unknown argument {unknown[0]}{did_you_mean(unknown[0].split('=')[0], list(self._option_string_actions))}")
        return found

    def error(self, message: str) -> NoReturn:
        """Exit with code 2 and one line on stderr that says what is wrong and suggests the closest choice."""
        choice = re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message)
        if choice:
            message += did_you_mean(choice[1], [name.strip(" '") for name in choice[2].split(",")])
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """Return the end of the parser's message, "; did you mean …?", if one of `known` is close to `word`, else nothing."""
    close = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {close[0]}?" if close else ""
