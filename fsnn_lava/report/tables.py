"""Format tables as CSV and HTML, and lists of names and values as HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from fsnn_lava.report.number_text import number_text

_LONG = 48  # characters; a longer value gets its own line


@dataclass(frozen=True, kw_only=True)
class Table:
    """The data of a panel, which becomes one CSV file."""

    columns: tuple[str, ...]
    rows: Sequence[Sequence[Any]]

    def csv(self) -> str:
        """Return the table as CSV."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([[_cell(value) for value in row] for row in self.rows])
        return text.getvalue()


def _cell(value: Any) -> Any:
    return f"{value:.9g}" if isinstance(value, float) else value


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """Return a list of names and values as HTML."""
    if not facts:
        return ""
    return '<dl class="facts">' + "".join(_fact(*fact) for fact in sorted(facts, key=lambda fact: len(fact[1]) > _LONG)) + "</dl>"


def _fact(name: str, value: str) -> str:
    long = ' class="long"' if len(value) > _LONG else ""
    return f"<div{long}><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


def table_html(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table as HTML, in a box that can also be scrolled with the keyboard; `name` is what a screen reader calls it."""
    head = "".join(f'<th scope="col">{escape(str(c))}</th>' for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(number_text(v))}</td>" for v in row) + "</tr>" for row in rows)
    box = f'<div class="scroll" tabindex="0" role="group" aria-label="Table: {escape(name)}">'
    return f"{box}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
