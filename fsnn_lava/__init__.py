"""Feedback spiking neural networks from PyTorch to Loihi 2, proved at every hop to be the same network."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fsnn_lava import lava_compat
from fsnn_lava.version import __version__

if TYPE_CHECKING:
    from fsnn_lava.errors import FsnnError
    from fsnn_lava.ir.network import ChipNetwork
    from fsnn_lava.ir.result import Result
    from fsnn_lava.nn.fsnn import FSNN
    from fsnn_lava.nn.neurons import IF, LIF
    from fsnn_lava.nn.normalisation import Normalisation
    from fsnn_lava.placement.placement import place
    from fsnn_lava.quantisation.quantise import quantise
    from fsnn_lava.running.run import run
    from fsnn_lava.solvers.solver import Solver
    from fsnn_lava.verify.comparator import compare

__all__ = [
    "FSNN",
    "IF",
    "LIF",
    "ChipNetwork",
    "FsnnError",
    "Normalisation",
    "Result",
    "Solver",
    "__version__",
    "compare",
    "place",
    "quantise",
    "run",
]

_MODULES = {
    "FSNN": "nn.fsnn",
    "IF": "nn.neurons",
    "LIF": "nn.neurons",
    "ChipNetwork": "ir.network",
    "FsnnError": "errors",
    "Normalisation": "nn.normalisation",
    "Result": "ir.result",
    "Solver": "solvers.solver",
    "compare": "verify.comparator",
    "place": "placement.placement",
    "quantise": "quantisation.quantise",
    "run": "running.run",
}


lava_compat.install()  # before anybody imports Lava; imports neither Lava nor numpy itself


def __getattr__(name: str) -> object:
    """Public names are imported when they are first used: `import fsnn_lava` is fast and needs neither Lava nor a board."""
    if name not in _MODULES:
        raise AttributeError(f"module 'fsnn_lava' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"fsnn_lava.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
