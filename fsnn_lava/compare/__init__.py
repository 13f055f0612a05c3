"""The comparator: is what ran still the network that was trained? Each link of the chain is judged by itself (E10, E11, E12)."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from fsnn_lava.compare.comparator import Comparator, compare
from fsnn_lava.compare.thresholds import Thresholds
from fsnn_lava.compare.verdict import Check, Verdict

__all__ = ["Check", "Comparator", "Thresholds", "Verdict", "compare"]


class _Callable(ModuleType):
    """`fsnn_lava.compare` is this package once it is imported, and still the function of that name when it is called."""

    def __call__(self, *args: Any, **kwargs: Any) -> Verdict:
        return compare(*args, **kwargs)


sys.modules[__name__].__class__ = _Callable
