"""Format numbers as short text."""

from __future__ import annotations

from typing import Any


def number_text(value: Any) -> str:
    """Format any value as short text."""
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


def short_number(value: float) -> str:
    """Format a number as short text: 1234567 as 1.23 M."""
    for size, letter in ((1e9, " G"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
