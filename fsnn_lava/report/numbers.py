"""The numbers of a check as HTML: single values as a list, rows as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from fsnn_lava.verify.verdict import plain_values

_LONG = 48  # characters: a longer value gets its own line


def numbers_html(numbers: Mapping[str, Any]) -> str:
    """All numbers of a check, escaped."""
    values: dict[str, Any] = plain_values(numbers)
    single = {key: value for key, value in values.items() if not _rows(value)}
    tables = [_table(_title(key), value) for key, value in values.items() if _rows(value)]
    return facts_html([(_title(key), number_text(value)) for key, value in single.items()]) + "".join(tables)


def facts_html(facts: Sequence[tuple[str, str]]) -> str:
    """A list of names and values."""
    if not facts:
        return ""
    return '<dl class="facts">' + "".join(_fact(*fact) for fact in sorted(facts, key=lambda fact: len(fact[1]) > _LONG)) + "</dl>"


def _fact(name: str, value: str) -> str:
    long = ' class="long"' if len(value) > _LONG else ""
    return f"<div{long}><dt>{escape(name)}</dt><dd>{escape(value)}</dd></div>"


def table_html(name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table in a box that scrolls, also with the keyboard; `name` is what a screen reader calls it."""
    head = "".join(f'<th scope="col">{escape(str(c))}</th>' for c in columns)
    body = "".join("<tr>" + "".join(f"<td>{escape(number_text(v))}</td>" for v in row) + "</tr>" for row in rows)
    box = f'<div class="scroll" tabindex="0" role="group" aria-label="Table: {escape(name)}">'
    return f"{box}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def number_text(value: Any) -> str:
    """One value as short text."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return " … ".join(number_text(v) for v in value) if len(value) == 2 else ", ".join(number_text(v) for v in value) or "none"
    return str(value)


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
