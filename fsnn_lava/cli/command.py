"""What every command does alike: errors become one sentence and an exit code (0 done, 1 failed check, 2 bad input, 3 no backend)."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import io
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from fsnn_lava.errors import FsnnError, Interrupted

INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    """A wrong argument is one line on stderr and exit code 2, as all bad input is."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: clean up as for Ctrl-C."""


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


def run_command(name: str, function: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Run a command's function; afterwards every error the user can act on has become one line on stderr."""
    _open_streams()
    previous: Any = signal.signal(signal.SIGTERM, _terminate)
    try:
        code = function(args)
        sys.stdout.flush()
        return code
    except FsnnError as error:
        sentence = " ".join(str(error).split())
        print(f"{name}: {sentence}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt as error:
        print(f"{name}: {error if isinstance(error, Interrupted) else 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_stdout()
        return 0
    except OSError as error:
        _give_up_stdout()
        where = f" ({error.filename})" if error.filename else ""
        print(f"{name}: cannot read or write: {error.strerror or error}{where}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"{name}: a library cannot be loaded ({error}): too little memory, or a damaged installation", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"{name}: out of memory: use a smaller --batch or --limit", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, previous)


def _open_streams() -> None:
    """Closed standard streams lead nowhere (left closed, the next file to be opened would get what is printed); open ones take any text."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)  # a file has got it already: it keeps it
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # gets the lowest number that is free: this one
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115 (for as long as the process lives)
    codecs.register_error("escape", _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="escape")


def _escape(error: UnicodeError) -> tuple[str, int]:
    """What the terminal's letters lack is printed as \\uXXXX: readable, and still JSON where JSON is printed."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)), error.end


def _give_up_stdout() -> None:
    """What is still to be printed is not: Python would try again at its end, and fail again."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_line() -> str:
    """What the user typed, for the record: without the folder the program lies in."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
