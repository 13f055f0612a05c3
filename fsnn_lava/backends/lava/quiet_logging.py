"""Keep Lava's handlers out of the root logger."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet_logging() -> Iterator[None]:
    """Remove the handlers that Lava processes add to the root logger when they are created inside the block."""
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        yield
    finally:
        root.handlers[:] = before
