"""The comparator: is what ran still the network that was trained? Each link of the chain is judged by itself (E10, E11, E12)."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fsnn_lava.compare.comparator import Comparator, compare
    from fsnn_lava.compare.thresholds import Thresholds
    from fsnn_lava.compare.verdict import Check, Verdict

__all__ = ["Check", "Comparator", "Thresholds", "Verdict", "compare"]

_PLACES = {"Check": "verdict", "Verdict": "verdict", "Thresholds": "thresholds", "Comparator": "comparator", "compare": "comparator"}


def __getattr__(name: str) -> Any:
    """Imported when first used: a command that only parses thresholds can still say that the rest does not load."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_PLACES[name]}"), name)


class _Callable(ModuleType):
    """`fsnn_lava.compare` is this package once it is imported, and still the function of that name when it is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Verdict:
        return __getattr__("compare")(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
