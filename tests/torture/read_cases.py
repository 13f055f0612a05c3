"""Reads damaged files one after another and says what became of each. Runs in a process of its own: what kills it is said last.

python -m tests.torture.read_cases FIRST END     one line "case" before, one line "outcome" after every case
"""

from __future__ import annotations

import resource
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random

import torch

from fsnn_lava.errors import FsnnError
from tests.torture.damage import damaged
from tests.torture.originals import Original, originals

SECONDS = 10  # of computing that one file may take
WAIT = 120  # seconds by the clock: only a file that waits for something takes them, even on a busy machine
MEMORY = 2**30  # bytes that reading may add to the process


def main(first: int, end: int) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        made = originals(Path(folder))
        contents = [original.path.read_bytes() for original in made]
        for original in made:
            original.read(original.path)
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + MEMORY, resource.RLIM_INFINITY))
        for number in range(first, end):
            which = number % len(made)
            print(f"case {number} {made[which].name}", flush=True)
            made[which].path.write_bytes(damaged(made[which].kind, contents[which], Random(number)))
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            signal.alarm(WAIT)
            outcome = read(made[which])
            signal.setitimer(signal.ITIMER_PROF, 0)
            signal.alarm(0)
            print(f"outcome {outcome}", flush=True)


def read(original: Original) -> str:
    """ "read", "refused", or "failed" and why."""
    try:
        original.read(original.path)
    except FsnnError as error:
        sentence = str(error)
        if any(isinstance(one, MemoryError) for one in causes(error)):
            return f"failed only for want of memory: {sentence[:200]!r}"
        good = error.exit_code == 2 and 10 < len(sentence) < 2000
        return "refused" if good else f"failed exit code {error.exit_code}: {sentence[:200]!r}"
    except BaseException as error:
        where = traceback.extract_tb(error.__traceback__)
        own = next((frame for frame in reversed(where) if "fsnn_lava" in frame.filename), where[-1])
        return f"failed {type(error).__name__} in {Path(own.filename).name}:{own.lineno}: {str(error)[:150]!r}"
    return "read"


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those it was made of."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
