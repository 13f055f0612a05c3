"""Which model runs a process, and a root logger that stays as it was."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lava.magma.core.run_configs import RunConfig

from fsnn_lava.errors import BackendFailed


class ByTag(RunConfig):
    """Our processes name the tag of their model; stock ones get their fixed-point model."""

    def select(self, process: Any, proc_models: Sequence[Any]) -> Any:
        wanted = process.proc_params.get("tag") or "fixed_pt"
        for model in proc_models:
            if wanted in getattr(model, "tags", ()):
                return model
        found = [model.__name__ for model in proc_models]
        raise BackendFailed(f"Lava process {process.name!r} has no model with tag {wanted!r}, only {found}")


@contextmanager
def quiet_logging() -> Iterator[None]:
    """Every Lava process adds a handler to the root logger when it is made; afterwards they are gone again."""
    root = logging.getLogger()
    before = list(root.handlers)
    try:
        yield
    finally:
        root.handlers[:] = before
