"""MergedFindings: what a check has found so far, as numbers that can be merged across processes and interruptions of a run."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadFile
from fsnn_lava.verify.check import Offender

Rule = Callable[[Any, Any], Any]  # (value so far, value over later samples) -> value over both


def merge_total(so_far: Any, later: Any) -> Any:
    """Add two findings: numbers and arrays are added, lists are concatenated."""
    return so_far + later


def merge_largest(so_far: Any, later: Any) -> Any:
    """Return the larger of two findings."""
    return np.maximum(so_far, later) if isinstance(so_far, np.ndarray) else max(so_far, later)


def merge_either(so_far: Any, later: Any) -> Any:
    """Combine two lists of boolean arrays, one array per layer, with an element-wise "or"."""
    return [a | b for a, b in zip(so_far, later, strict=True)]


def merge_first(number: int, key: Callable[[Any], Any] | None = None) -> Rule:
    """Return a rule that keeps the first `number` entries of a list, sorted by `key` if one is given."""

    def rule(so_far: list[Any], later: list[Any]) -> list[Any]:
        both = so_far + later
        return (both if key is None else sorted(both, key=key))[:number]

    return rule


def by_place(offender: Offender) -> tuple[int, int]:
    """Return a sort key, by sample and then by layer, so that the origin of a fault comes before its consequences."""
    return offender["sample"], offender["position"]


class MergedFindings:
    """Findings whose attributes, named in RULES, start at zero or empty; they can be handed over as JSON and merged elsewhere."""

    RULES: ClassVar[Mapping[str, Rule]]

    def hand_over(self) -> dict[str, Any]:
        """Return everything found so far, in JSON types, and reset the totals to zero."""
        found = {name: _plain(getattr(self, name)) for name in self.RULES}
        for name in self.RULES:
            setattr(self, name, _empty(getattr(self, name)))
        return found

    def take_in(self, found: Any) -> None:
        """Merge another instance's findings on later samples; raise BadFile if the data, perhaps from a file, is damaged."""
        if not isinstance(found, dict) or set(found) != set(self.RULES):
            raise BadFile(f"the totals of {type(self).__name__} must have exactly the entries {', '.join(self.RULES)}")
        for name, rule in self.RULES.items():
            own = getattr(self, name)
            try:
                setattr(self, name, rule(own, _loaded(own, found[name])))
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise BadFile(f"entry {name} in the totals of {type(self).__name__} is damaged: {error}") from error


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return base64.b64encode(np.packbits(value).tobytes()).decode() if value.dtype == bool else value.tolist()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value.item() if isinstance(value, np.generic) else value


def _empty(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return np.zeros_like(value)
    if isinstance(value, list):
        return [np.zeros_like(item) for item in value if isinstance(item, np.ndarray)]
    return type(value)(0)


def _loaded(own: Any, value: Any) -> Any:
    """Return `value`, checked and converted to the type of `own`."""
    if isinstance(own, np.ndarray):
        return _bits(own, value) if own.dtype == bool else _array(own, value)
    if isinstance(own, list):
        if not isinstance(value, list):
            raise ValueError(f"must be a list, got {type(value).__name__}")
        arrays = bool(own) and isinstance(own[0], np.ndarray)
        return [_loaded(a, b) for a, b in zip(own, value, strict=True)] if arrays else [_entry(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int if isinstance(own, int) else (int, float)):
        raise ValueError(f"must be a number, got {type(value).__name__}")
    return value


def _entry(item: Any) -> Any:
    """Check an entry of a list of totals: an offender, a number, or a list of numbers."""
    if isinstance(item, dict):
        if not isinstance(item.get("what"), str) or not isinstance(item.get("sample"), int):
            raise ValueError("an offender must have a sample and a sentence")
        return item
    numbers = item if isinstance(item, list) else [item]
    if not all(isinstance(number, (int, float)) for number in numbers):
        raise ValueError("must be numbers")
    return item


def _array(own: NDArray[Any], value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    if array.shape != own.shape or array.dtype.kind not in ("iu" if own.dtype.kind == "i" else "iuf"):
        raise ValueError(f"must be {own.dtype} of shape {own.shape}, got {array.dtype} of shape {array.shape}")
    return array.astype(own.dtype)


def _bits(own: NDArray[np.bool_], value: Any) -> NDArray[np.bool_]:
    try:
        packed = np.frombuffer(base64.b64decode(value, validate=True), np.uint8)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    if len(packed) != (own.size + 7) // 8:
        raise ValueError(f"must hold {own.size} bits, got {8 * len(packed)}")
    return np.unpackbits(packed, count=own.size).astype(bool).reshape(own.shape)
