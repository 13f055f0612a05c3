"""What every command does alike: errors become one sentence and an exit code (0 done, 1 failed check, 2 bad input, 3 no backend)."""

from __future__ import annotations

import argparse
import os
import shlex
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from fsnn_lava.errors import FsnnError, Interrupted

INTERRUPTED = 130


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived: clean up as for Ctrl-C."""


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise Terminated


def run_command(name: str, function: Callable[[argparse.Namespace], int], args: argparse.Namespace) -> int:
    """Run a command's function; afterwards every error the user can act on has become one line on stderr."""
    previous: Any = signal.signal(signal.SIGTERM, _terminate)
    try:
        code = function(args)
        if sys.stdout is not None:  # it may be closed
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
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ImportError as error:
        print(f"{name}: a library cannot be loaded ({error}): too little memory, or a damaged installation", file=sys.stderr)
        return 2
    except MemoryError:
        print(f"{name}: out of memory: use a smaller --batch or --limit", file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, previous)


def command_line() -> str:
    """What the user typed, for the record: without the folder the program lies in."""
    return shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
