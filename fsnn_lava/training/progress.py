"""The progress of a training run on stderr: a bar or plain lines."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

from tqdm import tqdm

from fsnn_lava.errors import FsnnError

Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class TrainingProgress:
    """Shows progress on stderr: a bar on a terminal, plain lines otherwise; nothing if `quiet`. `watchers` get every finished epoch."""

    quiet: bool = False
    watchers: tuple[Callable[[Sequence[dict[str, Any]]], None], ...] = ()

    def batches(self, batches: Iterable[Item], *, total: int, title: str) -> Iterator[Item]:
        """Yield the batches, with a progress bar on a terminal, which disappears afterwards."""
        shown = not self.quiet and sys.stderr.isatty()
        yield from tqdm(batches, total=total, desc=title, leave=False, disable=not shown, file=sys.stderr)

    def say(self, line: str) -> None:
        """Print one line of progress."""
        if not self.quiet:
            print(line, file=sys.stderr, flush=True)

    def show(self, records: Sequence[dict[str, Any]]) -> None:
        """Pass the epochs so far to the watchers; an error in a watcher is printed, but does not end the run."""
        for watcher in self.watchers:
            try:
                watcher(records)
            except FsnnError as error:
                self.say(f"note: {error}")
