"""Select process models by tag."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lava.magma.core.run_configs import RunConfig

from fsnn_lava.errors import BackendFailed


class ByTag(RunConfig):
    """Selects the model whose tag the process names; stock processes get their fixed-point model."""

    def select(self, process: Any, proc_models: Sequence[Any]) -> Any:
        """Select the process model for Lava: the one with the tag that the process names."""
        wanted = process.proc_params.get("tag") or "fixed_pt"
        for model in proc_models:
            if wanted in getattr(model, "tags", ()):
                return model
        found = [model.__name__ for model in proc_models]
        raise BackendFailed(f"Lava process {process.name!r} has no model with tag {wanted!r}; its models are {found}")
