"""Show the progress of a run: its phase, the samples done, and the time left."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median

from tqdm import tqdm

RECENT = 5  # number of batches from which the remaining time is estimated
UNITS = ((3600, "h"), (60, "min"), (1, "s"))


class TimeLeft:
    """Estimates the remaining time from the median time per sample of the last batches.

    The first batch includes starting the backend and compiling, so it is used only until there is a second one.
    """

    def __init__(self, total: int, clock: Callable[[], float] = time.monotonic) -> None:
        self.total, self.done, self.clock = total, 0, clock
        self.last = clock()
        self.paces: list[float] = []  # seconds per sample

    def advance(self, samples: int, *, kept: bool = False) -> None:
        """Record finished samples; `kept` samples were finished in an earlier run."""
        now = self.clock()
        if samples and not kept:
            self.paces.append((now - self.last) / samples)
        self.last, self.done = now, self.done + samples

    def seconds(self) -> float | None:
        """Return the remaining seconds; None before the first batch is done."""
        paces = self.paces[1:][-RECENT:] or self.paces
        return (self.total - self.done) * median(paces) if paces else None

    def text(self) -> str:
        """Return the time left as text, for example "2 min left"; after the first batch only, it is an upper bound."""
        seconds = self.seconds()
        if seconds is None:
            return ""
        size, unit = next((size, unit) for size, unit in UNITS if seconds >= 2 * size or unit == "s")
        bound = "at most " if len(self.paces) == 1 else ""
        return f"{bound}{max(1, round(seconds / size))} {unit} left" if self.done < self.total else "done"


class RunProgress:
    """Shows the phase of a run and its samples: a bar on a terminal, plain lines in a log."""

    def __init__(self, total: int, bar: tqdm | None) -> None:
        self.total, self.bar, self.left = total, bar, TimeLeft(total)

    def phase(self, name: str) -> None:
        """Show the current phase; the phases of every batch are shown on a terminal only."""
        if self.bar is not None:
            self.bar.set_description_str(f"{name:<9}")

    def advance(self, samples: int, *, kept: bool = False) -> None:
        """Count finished samples."""
        tenths = 10 * self.left.done // self.total
        self.left.advance(samples, kept=kept)
        if self.bar is not None:
            self.bar.set_postfix_str(self.left.text(), refresh=False)
            self.bar.update(samples)
        elif 10 * self.left.done // self.total > tenths and not kept:
            print(f"fsnn-run: {self.left.done} of {self.total} samples, {self.left.text()}", file=sys.stderr, flush=True)


@contextmanager
def run_progress(total: int) -> Iterator[RunProgress]:
    """Show progress over `total` samples on stderr; the bar is removed afterwards."""
    if not sys.stderr.isatty():
        yield RunProgress(total, None)
        return
    shape = "{desc} {percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} samples, {elapsed}{postfix}"
    with tqdm(total=total, leave=False, bar_format=shape, file=sys.stderr) as bar:
        yield RunProgress(total, bar)


@contextmanager
def named_phase(name: str) -> Iterator[None]:
    """Show a line on a terminal during a long task that is not counted in samples."""
    shown = sys.stderr.isatty()
    if shown:
        print(f"{name} …", end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        if shown:
            print(f"\r{' ' * (len(name) + 2)}\r", end="", file=sys.stderr, flush=True)
