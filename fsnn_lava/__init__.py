"""Take feedback spiking neural networks from PyTorch to Loihi 2, checking at every step that the network stays the same."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from fsnn_lava import lava_compat
from fsnn_lava.version import __version__ as __version__

if TYPE_CHECKING:  # to a type checker, `X as X` is a public name; _MODULES below loads it, and a test checks that the two agree
    from fsnn_lava import plot as plot
    from fsnn_lava.data.dataset import Dataset as Dataset
    from fsnn_lava.data.loading import load_data as load_data
    from fsnn_lava.errors import BackendFailed as BackendFailed
    from fsnn_lava.errors import BackendMissing as BackendMissing
    from fsnn_lava.errors import BadArchitecture as BadArchitecture
    from fsnn_lava.errors import BadArgument as BadArgument
    from fsnn_lava.errors import BadData as BadData
    from fsnn_lava.errors import BadFile as BadFile
    from fsnn_lava.errors import BadNetwork as BadNetwork
    from fsnn_lava.errors import CheckFailed as CheckFailed
    from fsnn_lava.errors import Diverged as Diverged
    from fsnn_lava.errors import FsnnError as FsnnError
    from fsnn_lava.errors import Interrupted as Interrupted
    from fsnn_lava.errors import PackageMissing as PackageMissing
    from fsnn_lava.errors import Remark as Remark
    from fsnn_lava.importing.from_nir import from_nir as from_nir
    from fsnn_lava.importing.from_torch import from_torch as from_torch
    from fsnn_lava.importing.ide_fsnn import from_ide_fsnn as from_ide_fsnn
    from fsnn_lava.ir.network import ChipNetwork as ChipNetwork
    from fsnn_lava.ir.result import Result as Result
    from fsnn_lava.models.find import find as find
    from fsnn_lava.nn.fsnn import FSNN as FSNN
    from fsnn_lava.nn.graph import Connection as Connection
    from fsnn_lava.nn.graph import Graph as Graph
    from fsnn_lava.nn.graph import Neurons as Neurons
    from fsnn_lava.nn.loop_map import Equilibrium as Equilibrium
    from fsnn_lava.nn.modules import from_modules as from_modules
    from fsnn_lava.nn.neurons import IF as IF
    from fsnn_lava.nn.neurons import LIF as LIF
    from fsnn_lava.nn.neurons import SigmaDelta as SigmaDelta
    from fsnn_lava.nn.normalisation import Normalisation as Normalisation
    from fsnn_lava.nn.trace import Trace as Trace
    from fsnn_lava.placement.placement import Placement as Placement
    from fsnn_lava.placement.placement import place as place
    from fsnn_lava.quantisation.quantise import quantise as quantise
    from fsnn_lava.running.run import run as run
    from fsnn_lava.solvers.solver import Solver as Solver
    from fsnn_lava.verify.accurate import Accurate as Accurate
    from fsnn_lava.verify.check import Check as Check
    from fsnn_lava.verify.comparator import compare as compare
    from fsnn_lava.verify.settled import Settled as Settled
    from fsnn_lava.verify.thresholds import Thresholds as Thresholds
    from fsnn_lava.verify.verdict import Verdict as Verdict

_MODULES = {
    "Accurate": "verify.accurate",
    "BackendFailed": "errors",
    "BackendMissing": "errors",
    "BadArchitecture": "errors",
    "BadArgument": "errors",
    "BadData": "errors",
    "BadFile": "errors",
    "BadNetwork": "errors",
    "Check": "verify.check",
    "CheckFailed": "errors",
    "ChipNetwork": "ir.network",
    "compare": "verify.comparator",
    "Connection": "nn.graph",
    "Dataset": "data.dataset",
    "Diverged": "errors",
    "Equilibrium": "nn.loop_map",
    "find": "models.find",
    "from_ide_fsnn": "importing.ide_fsnn",
    "from_modules": "nn.modules",
    "from_nir": "importing.from_nir",
    "from_torch": "importing.from_torch",
    "FSNN": "nn.fsnn",
    "FsnnError": "errors",
    "Graph": "nn.graph",
    "IF": "nn.neurons",
    "Interrupted": "errors",
    "LIF": "nn.neurons",
    "load_data": "data.loading",
    "Neurons": "nn.graph",
    "Normalisation": "nn.normalisation",
    "PackageMissing": "errors",
    "place": "placement.placement",
    "Placement": "placement.placement",
    "quantise": "quantisation.quantise",
    "Remark": "errors",
    "Result": "ir.result",
    "run": "running.run",
    "Settled": "verify.settled",
    "SigmaDelta": "nn.neurons",
    "Solver": "solvers.solver",
    "Thresholds": "verify.thresholds",
    "Trace": "nn.trace",
    "Verdict": "verify.verdict",
}

_FOLDERS = ("plot",)

__all__ = [*_MODULES, *_FOLDERS, "__version__"]


lava_compat.install_import_hook()  # must run before anything imports Lava; it imports neither Lava nor numpy itself


if not TYPE_CHECKING:  # a type checker that saw it would accept misspelt names

    def __getattr__(name: str) -> object:
        """Import public names on first use, so that `import fsnn_lava` is fast and needs neither Lava nor a board."""
        if name in _FOLDERS:
            return importlib.import_module(f"fsnn_lava.{name}")
        if name not in _MODULES:
            raise AttributeError(f"module 'fsnn_lava' has no attribute {name!r}")
        value: object = getattr(importlib.import_module(f"fsnn_lava.{_MODULES[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted(__all__)
