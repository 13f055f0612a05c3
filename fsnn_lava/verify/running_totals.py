"""Tally: what a check has seen, in numbers that add up. Parts of a run, from other processes or before an interruption, make the whole."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadFile

Rule = Callable[[Any, Any], Any]  # (what was seen so far, what was seen of later samples) -> of both


def total(so_far: Any, later: Any) -> Any:
    """Numbers and arrays are added, lists joined."""
    return so_far + later


def largest(so_far: Any, later: Any) -> Any:
    return np.maximum(so_far, later) if isinstance(so_far, np.ndarray) else max(so_far, later)


def either(so_far: Any, later: Any) -> Any:
    """Of lists of arrays, one per layer: what is set in one of them."""
    return [a | b for a, b in zip(so_far, later, strict=True)]


def first(number: int, key: Callable[[Any], Any] | None = None) -> Rule:
    """The first `number` of a list, sorted by `key` if there is one."""

    def rule(so_far: list[Any], later: list[Any]) -> list[Any]:
        both = so_far + later
        return (both if key is None else sorted(both, key=key))[:number]

    return rule


class Tally:
    """What RULES names starts at zero or empty, can be handed over in types that JSON has, and is taken in by another of its kind."""

    RULES: ClassVar[Mapping[str, Rule]]

    def hand_over(self) -> dict[str, Any]:
        """Everything seen; afterwards nothing was seen."""
        seen = {name: _plain(getattr(self, name)) for name in self.RULES}
        for name in self.RULES:
            setattr(self, name, _empty(getattr(self, name)))
        return seen

    def take_in(self, seen: Any) -> None:
        """Add what another has seen of later samples. It may come from a file: BadFile if it cannot be what was handed over."""
        if not isinstance(seen, dict) or set(seen) != set(self.RULES):
            raise BadFile(f"what {type(self).__name__} saw must be {', '.join(self.RULES)}")
        for name, rule in self.RULES.items():
            own = getattr(self, name)
            try:
                setattr(self, name, rule(own, _loaded(own, seen[name])))
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise BadFile(f"what {type(self).__name__} saw as {name} is not what it can see: {error}") from error


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
    """`value` in the type that `own` has."""
    if isinstance(own, np.ndarray):
        return _bits(own, value) if own.dtype == bool else _array(own, value)
    if isinstance(own, list):
        if not isinstance(value, list):
            raise ValueError(f"a list was expected, not {type(value).__name__}")
        arrays = bool(own) and isinstance(own[0], np.ndarray)
        return [_loaded(a, b) for a, b in zip(own, value, strict=True)] if arrays else [_entry(item) for item in value]
    if isinstance(value, bool) or not isinstance(value, int if isinstance(own, int) else (int, float)):
        raise ValueError(f"a number was expected, not {type(value).__name__}")
    return value


def _entry(item: Any) -> Any:
    """An offender, a number, or some numbers: all that lists of a tally hold."""
    if isinstance(item, dict):
        if not isinstance(item.get("what"), str) or not isinstance(item.get("sample"), int):
            raise ValueError("an offender has a sample and a sentence")
        return item
    numbers = item if isinstance(item, list) else [item]
    if not all(isinstance(number, (int, float)) for number in numbers):
        raise ValueError("numbers were expected")
    return item


def _array(own: NDArray[Any], value: Any) -> NDArray[Any]:
    array = np.asarray(value)
    if array.shape != own.shape or array.dtype.kind not in ("iu" if own.dtype.kind == "i" else "iuf"):
        raise ValueError(f"{own.dtype} {own.shape} was expected, not {array.dtype} {array.shape}")
    return array.astype(own.dtype)


def _bits(own: NDArray[np.bool_], value: Any) -> NDArray[np.bool_]:
    try:
        packed = np.frombuffer(base64.b64decode(value, validate=True), np.uint8)
    except binascii.Error as error:
        raise ValueError(str(error)) from error
    if len(packed) != (own.size + 7) // 8:
        raise ValueError(f"{own.size} bits were expected, not {8 * len(packed)}")
    return np.unpackbits(packed, count=own.size).astype(bool).reshape(own.shape)
