"""Data sets of real images and recordings, as raw uint8 values."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fsnn_lava.data.names import NAMES as NAMES

if TYPE_CHECKING:
    from fsnn_lava.data.dataset import ArraySplit as ArraySplit
    from fsnn_lava.data.dataset import Dataset as Dataset
    from fsnn_lava.data.dataset import Split as Split
    from fsnn_lava.data.loading import load_data as load
    from fsnn_lava.data.loading import load_data as load_data

_MODULES = {"ArraySplit": "dataset", "Dataset": "dataset", "Split": "dataset", "load_data": "loading"}

__all__ = ["NAMES", "ArraySplit", "Dataset", "Split", "load", "load_data"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import public names on first use; listing the data set names needs no other module. `load` is the old name of `load_data`."""
        wanted = "load_data" if name == "load" else name
        if wanted not in _MODULES:
            raise AttributeError(f"module 'fsnn_lava.data' has no attribute {name!r}")
        value: object = getattr(importlib.import_module(f"fsnn_lava.data.{_MODULES[wanted]}"), wanted)
        globals()[name] = value
        return value
