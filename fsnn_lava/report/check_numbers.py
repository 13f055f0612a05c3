"""Format the numbers of a check as HTML: single values as a list, rows as a table."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from fsnn_lava.report.number_text import number_text
from fsnn_lava.report.tables import facts_html, table_html
from fsnn_lava.verify.verdict import plain_values


def check_numbers_html(numbers: Mapping[str, Any]) -> str:
    """Return all numbers of a check as HTML, escaped."""
    values: dict[str, Any] = plain_values(numbers)
    single = {key: value for key, value in values.items() if not _rows(value)}
    tables = [_table(_title(key), value) for key, value in values.items() if _rows(value)]
    return facts_html([(_title(key), number_text(value)) for key, value in single.items()]) + "".join(tables)


def _title(key: str) -> str:
    return key.replace("_", " ")


def _rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, (dict, list)) for row in value)


def _table(title: str, rows: list[Any]) -> str:
    if all(isinstance(row, dict) for row in rows):
        columns = list(dict.fromkeys(key for row in rows for key in row))
        cells = [[row.get(c) for c in columns] for row in rows]
        return f"<h4>{escape(title)}</h4>" + table_html(title, [_title(c) for c in columns], cells)
    width = max(len(row) for row in rows)
    cells = [[i + 1, *row] for i, row in enumerate(rows)]
    return f"<h4>{escape(title)}</h4>" + table_html(title, ["no.", *map(str, range(1, width + 1))], cells)
