"""Panel: one section of a report, with pictures, the data they are drawn from, and a caption."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from matplotlib.figure import Figure

from fsnn_lava.report.tables import Table


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure; `name` is its file name without suffix, `label` is a short heading if a panel has several."""

    name: str
    figure: Figure
    alt: str
    label: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Panel:
    """One section of the report. If it cannot be drawn, `missing` says why, and everything else is empty."""

    key: str  # its anchor in the page and its file name
    title: str
    caption: str = ""
    conclusion: str = ""  # what it shows, in one sentence
    pictures: tuple[Picture, ...] = ()
    data: Table | None = None
    arrange: Literal["stack", "grid"] = "stack"
    wide: bool = False
    facts: tuple[tuple[str, str], ...] = ()
    rows: Table | None = None  # a small table below the caption
    numbers: Table | None = None  # what the pictures show, as a table that can be opened
    body: str = ""  # HTML instead of pictures, already escaped
    missing: str = ""
