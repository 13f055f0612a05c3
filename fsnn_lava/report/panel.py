"""Panel: one section of a report: pictures, the numbers they are drawn from, and a sentence that says what to see."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from matplotlib.figure import Figure


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A drawing; `name` is its file name without the ending, `label` a short heading where a panel has several."""

    name: str
    figure: Figure
    alt: str
    label: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Table:
    """What a panel shows, as numbers: one CSV file."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def csv(self) -> str:
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([[_cell(value) for value in row] for row in self.rows])
        return text.getvalue()


def _cell(value: Any) -> Any:
    return f"{value:.9g}" if isinstance(value, float) else value


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One section. Where it cannot be drawn, `missing` says why and nothing else is there."""

    key: str  # its place in the page and its file name
    title: str
    caption: str = ""
    pictures: tuple[Picture, ...] = ()
    data: Table | None = None
    arrange: Literal["stack", "grid", "tabs"] = "stack"
    wide: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    image: str = ""  # a data: address of a small picture beside the facts
    rows: Table | None = None  # a small table below
    missing: str = ""
