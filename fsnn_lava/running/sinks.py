"""Sinks, which receive the batches of a run: totals, the comparator, the samples of a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.result import Result


class Sink(Protocol):
    """A sink for the batches of a run, such as totals or the samples of a report."""

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None) -> None:
        """Receive the results of one batch."""


class ComparatorSink(Protocol):
    """The part of `verify.comparator.Comparator` that a run uses.

    Findings about some batches can be stored in a file (`hand_over`) and added to another comparator of the same run (`take_in`).
    """

    def add(self, result: Result, values: NDArray[np.uint8], labels: NDArray[np.int64] | None = None, *, offset: int | None = None) -> None:
        """Compare one batch whose first sample has index `offset` in the run."""

    def hand_over(self) -> Mapping[str, object]:
        """Return everything found so far, in JSON types, and empty the comparator."""
        ...

    def take_in(self, found: object) -> None:
        """Merge the findings of another comparator of this run on later samples."""
