"""Feedback spiking neural networks from PyTorch to Loihi 2, proved at every hop to be the same network."""

from __future__ import annotations

import importlib
from typing import Any

from fsnn_lava import lava_compat

__version__ = "0.1.0"

_PUBLIC = {
    "FSNN": "fsnn_lava.network",
    "IF": "fsnn_lava.neurons",
    "LIF": "fsnn_lava.neurons",
    "Solver": "fsnn_lava.equilibrium",
    "Normalisation": "fsnn_lava.normalisation",
    "ChipNetwork": "fsnn_lava.chip.network",
    "quantise": "fsnn_lava.chip.quantise",
    "run": "fsnn_lava.run",
    "Result": "fsnn_lava.result",
    "compare": "fsnn_lava.compare",
    "place": "fsnn_lava.chip.placement",
    "FsnnError": "fsnn_lava.errors",
}

__all__ = ["__version__", *_PUBLIC]


lava_compat.install()  # before anybody imports Lava; imports neither Lava nor numpy itself


def __getattr__(name: str) -> Any:
    """Public names are imported when they are first used: `import fsnn_lava` is fast and needs neither Lava nor a board."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'fsnn_lava' has no attribute {name!r}")
    return getattr(importlib.import_module(_PUBLIC[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
