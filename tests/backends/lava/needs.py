"""Skips a whole file where Lava cannot run, and says why."""

from __future__ import annotations

import pytest

from fsnn_lava.backends.availability import missing_for_backend


def needs_lava() -> None:
    missing = missing_for_backend("sim")
    if missing:
        pytest.skip(f"Lava cannot run here; missing: {'; '.join(missing)}", allow_module_level=True)
