"""Behaviour shared by all commands: an error becomes one line and an exit code (0 done, 1 check failed, 2 bad input, 3 backend missing)."""

from __future__ import annotations

import argparse
import codecs
import contextlib
import io
import os
import shlex
import signal
import sys
import warnings
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from fsnn_lava.errors import FsnnError, Interrupted, Remark

INTERRUPTED = 130
UNDER_ONE_NAME: ContextVar[bool] = ContextVar("UNDER_ONE_NAME", default=False)  # started as `fsnn run`, not as `fsnn-run`


class Terminated(KeyboardInterrupt):
    """SIGTERM was received: clean up as for Ctrl-C."""


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


def run_command(name: str, function: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Run the function of a command and turn every error that the user can act on into one line on stderr."""
    _open_streams()
    name = spelled(name)
    previous: Any = signal.signal(signal.SIGTERM, _terminate)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", Remark)
            warnings.showwarning = partial(_show_remark, name, warnings.showwarning)
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
        _discard_stdout()
        return 0
    except OSError as error:
        _discard_stdout()
        where = f" ({error.filename})" if error.filename else ""
        print(f"{name}: cannot read or write: {error.strerror or error}{where}", file=sys.stderr)
        return 2
    except ImportError as error:
        print(f"{name}: a library could not be loaded ({error}); memory may be full, or the installation damaged", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"{name}: out of memory; use a smaller --batch or --limit", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, previous)


@contextlib.contextmanager
def leaving_at_once(name: str) -> Iterator[None]:
    """While the libraries of a command are imported, end the process at Ctrl-C or SIGTERM: there is nothing to clean up yet."""

    def leave(_signal: int, _frame: FrameType | None) -> NoReturn:
        _open_streams()
        print(f"{spelled(name)}: interrupted", file=sys.stderr, flush=True)
        os._exit(INTERRUPTED)  # an exception raised inside an import can be caught there, or leave half a module behind

    previous: dict[int, Any] = {number: signal.signal(number, leave) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _show_remark(name: str, others: Callable[..., None], message: Warning | str, *where: Any, **more: Any) -> None:
    """Print a Remark as a note on stderr; leave other warnings to Python."""
    if isinstance(message, Remark):
        print(f"{name}: note: {message}", file=sys.stderr)
    else:
        others(message, *where, **more)


def _open_streams() -> None:
    """Open closed standard streams on /dev/null, so that no other file gets their descriptors; let the open ones print any text."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            try:
                os.fstat(number)  # another file already has this descriptor: leave it
            except OSError:
                os.open(os.devnull, os.O_RDWR)  # gets the lowest free descriptor, which is this one
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115 (open until the process ends)
    codecs.register_error("escape", _escape)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="escape")


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Print characters that the terminal cannot show as \\uXXXX: readable, and still valid JSON."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[i]:02x}{units[i + 1]:02x}" for i in range(0, len(units), 2)), error.end


def _discard_stdout() -> None:
    """Discard buffered output, which Python would otherwise try to print again at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def command_as_typed() -> str:
    """Return the command line as the user typed it, without the path of the program."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])


def spelled(name: str) -> str:
    """Return the name of a command as the user typed it, for every message: `fsnn-run` or `fsnn run`."""
    return name.replace("-", " ", 1) if UNDER_ONE_NAME.get() else name
