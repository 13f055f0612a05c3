"""What every test shares: examples are drawn the same way each time, and no test is judged by the clock."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")
