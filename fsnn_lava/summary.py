"""The Summary that `print` and a notebook show for an object: a title, a table and a few notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

Cell = str | int | float


@dataclass(frozen=True, kw_only=True)
class Summary:
    """A table under a title. Numbers are right-aligned; a row shorter than `columns` is filled with empty cells."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the summary as plain text; each column is as wide as its widest cell."""
        table = [[*map(_cell_text, row), *[""] * (len(self.columns) - len(row))] for row in (self.columns, *self.rows)]
        numeric = [self._is_numeric(column) for column in range(len(self.columns))]
        widths = [max(len(row[column]) for row in table) for column in range(len(self.columns))]
        lines = [_line(row, widths, numeric) for row in table]
        return "\n".join([self.title, *lines, *(f"  {note}" for note in self.notes)])

    def to_html(self) -> str:
        """Return the summary as an HTML table; all text in it is escaped."""
        head = "".join(f"<th>{escape(column)}</th>" for column in self.columns)
        body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in self.rows)
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        return f"<table><caption>{escape(self.title)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}"

    def _is_numeric(self, column: int) -> bool:
        cells = [row[column] for row in self.rows if column < len(row) and row[column] != ""]
        return bool(cells) and all(not isinstance(cell, str) for cell in cells)


def _cell_text(cell: Cell) -> str:
    """Format 1234567 as 1,234,567 and floats with four digits; leave text unchanged."""
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:.4g}"


def shape_text(shape: Sequence[int]) -> str:
    """Format a shape for a summary: (16, 4, 4) becomes 16x4x4."""
    return "x".join(map(str, shape))


def _line(row: Sequence[str], widths: Sequence[int], numeric: Sequence[bool]) -> str:
    cells = [cell.rjust(width) if right else cell.ljust(width) for cell, width, right in zip(row, widths, numeric, strict=True)]
    return ("  " + "  ".join(cells)).rstrip()


def _html_cell(cell: Cell) -> str:
    align = "left" if isinstance(cell, str) else "right"
    return f'<td style="text-align: {align}">{escape(_cell_text(cell))}</td>'
