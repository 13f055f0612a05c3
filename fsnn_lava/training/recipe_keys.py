"""Read a table of a TOML file into a frozen dataclass: every key must be known, and every value must have the right type and range."""

from __future__ import annotations

import dataclasses
import difflib
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import tomli_w

from fsnn_lava.errors import BadFile

Keys = TypeVar("Keys")
_LARGEST = 1e300  # excludes infinity, NaN (every comparison is false) and integers too large for a float


@dataclasses.dataclass(frozen=True)
class KeyRule:
    """What the value of a key may be. `low` and `high` are inclusive unless `open_low` / `open_high`.

    A string must be one of `choices`, if there are any, or the name of a file that ends in `ending`, or start with `prefix`, or, with
    `folders`, contain a slash. `many`: a list of such values. `pair`: one such value, or a list of two.
    """

    kind: type
    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    choices: tuple[str, ...] = ()
    ending: str = ""
    prefix: str = ""
    folders: bool = False
    many: bool = False
    pair: bool = False

    def sentence(self) -> str:
        """Return the rule in words that can follow 'must be'."""
        if self.choices:
            others = [f"a {self.ending} file"] * bool(self.ending) + [f"{self.prefix}NAME"] * bool(self.prefix)
            others += ["a folder, written with a trailing /"] * self.folders
            return "one of " + ", ".join(repr(choice) for choice in self.choices) + "".join(f", or {other}" for other in others)
        noun = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}[self.kind]
        if self.many or self.pair:
            noun = f"a list, each {noun}" if self.many else f"one number or a list of two, each {noun}"
        lower = "" if self.low == -math.inf else f" {'>' if self.open_low else '>='} {self.low:g}"
        upper = "" if self.high == math.inf else f" {'<' if self.open_high else '<='} {self.high:g}"
        return noun + (" and".join(part for part in (lower, upper) if part))

    def fits(self, value: Any) -> bool:
        """Return whether one value has the right type and lies in the range."""
        if self.kind is bool or self.kind is str:
            return isinstance(value, self.kind) and (not self.choices or value in self.choices or self._is_file(value))
        if isinstance(value, bool) or not isinstance(value, int if self.kind is int else (int, float)):
            return False
        if not -_LARGEST < value < _LARGEST:
            return False
        above = value > self.low if self.open_low else value >= self.low
        below = value < self.high if self.open_high else value <= self.high
        return above and below

    def _is_file(self, value: Any) -> bool:
        if not isinstance(value, str):
            return False
        ends, starts = self.ending and value.endswith(self.ending), self.prefix and value.startswith(self.prefix)
        return bool(ends or starts or (self.folders and "/" in value))


def key_rule(
    kind: type,
    default: Any = dataclasses.MISSING,
    *,
    low: float = -math.inf,
    high: float = math.inf,
    open_low: bool = False,
    open_high: bool = False,
    choices: tuple[str, ...] = (),
    ending: str = "",
    prefix: str = "",
    folders: bool = False,
    many: bool = False,
    pair: bool = False,
) -> Any:
    """Return a dataclass field with a KeyRule; without `default`, the key is required."""
    limits = KeyRule(kind, low, high, open_low, open_high, choices, ending, prefix, folders, many, pair)
    return dataclasses.field(default=default, metadata={"rule": limits})


def nested_keys(kind: type) -> dict[str, Any]:
    """Return the metadata of a dataclass field that is a nested table."""
    return {"table": kind}


def nested_recipe_keys(kind: type) -> dict[str, Any]:
    """Return the metadata of a dataclass field that is a tuple of nested tables."""
    return {"tables": kind}


def read_keys(kind: type[Keys], values: Mapping[str, Any], *, where: str, prefix: str = "") -> Keys:
    """Read keys into the dataclass `kind`; BadFile names the file (`where`) and the key of anything invalid."""
    fields = {field.name: field for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    for key in values:
        if key not in fields:
            raise BadFile(f"{where}: unknown key {_shown(prefix + key)}{_suggestion(key, fields, prefix)}")
    read: dict[str, Any] = {}
    for name, field in fields.items():
        if name in values:
            read[name] = _read_value(field, values[name], where=where, key=prefix + name)
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise BadFile(f"{where}: key {prefix + name!r} is missing; it must be {field.metadata['rule'].sentence()}")
    return kind(**read)


def _read_value(field: dataclasses.Field[Any], value: Any, *, where: str, key: str) -> Any:
    if "table" in field.metadata:
        if not isinstance(value, Mapping):
            raise BadFile(f"{where}: {key!r} must be a table, got {_shown(value)}; write its keys under [{key}]")
        return read_keys(field.metadata["table"], value, where=where, prefix=f"{key}.")
    if "tables" in field.metadata:
        if not isinstance(value, list) or not all(isinstance(one, Mapping) for one in value):
            raise BadFile(f"{where}: {key!r} must be a list of tables, got {_shown(value)}; write the keys of each under [[{key}]]")
        numbered = enumerate(value, start=1)
        return tuple(read_keys(field.metadata["tables"], one, where=where, prefix=f"{key} {i}: ") for i, one in numbered)
    limit: KeyRule = field.metadata["rule"]
    listed = isinstance(value, list)
    each = value if listed and (limit.many or limit.pair) else [value]
    right_form = len(each) == 2 or not listed if limit.pair else limit.many == listed
    if not right_form or not all(limit.fits(one) for one in each):
        raise BadFile(f"{where}: {key!r} must be {limit.sentence()}, got {_shown(value)}")
    typed = [limit.kind(one) for one in each]
    return tuple(typed) if listed else typed[0]


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]} …"


def _suggestion(key: str, fields: Mapping[str, Any], prefix: str) -> str:
    close = difflib.get_close_matches(key[:100], fields, n=1)
    return f"; did you mean {prefix + close[0]!r}?" if close else f"; known here: {', '.join(prefix + name for name in fields)}"


def print_keys(table: Any) -> str:
    """Return the keys of a dataclass as TOML that parses back to an equal instance; tables that are None are left out."""
    return tomli_w.dumps(_toml_values(table))


def _toml_values(table: Any) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for field in dataclasses.fields(table):
        value = getattr(table, field.name)
        if value is None:
            continue
        if "tables" in field.metadata:
            if value:
                out[field.name] = [_toml_values(one) for one in value]
        else:
            out[field.name] = _toml_values(value) if "table" in field.metadata else value
    return out
