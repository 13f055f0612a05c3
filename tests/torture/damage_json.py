"""Ways to damage JSON, in a file of its own and inside a part of results, drawn by a seed."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable
from random import Random
from typing import Any

import h5py
import numpy as np

_TEXTS = (
    b"[" * 100_000,
    b"{" * 9,
    b"9" * 5000,
    b"NaN",
    b"-Infinity",
    b"1e999",
    b'"\\ud800"',
    b"null",
    b"\xff\xfe",
    b"[]",
    b"{}",
    b"7",
    b" ",
)
_VALUES: list[Callable[[Any, Random], Any]] = [
    lambda old, random: random.choice((0, -1, 1, 2**31, 2**53 + 1, 2**63, -(2**63), 10**30, 10**4000)),
    lambda old, random: random.choice((math.nan, math.inf, -math.inf, 1e308, -0.0, 0.5)),
    lambda old, random: random.choice((None, True, False, "", "x" * 70_000, "\ud800", "\x00\n\x1b[31m", [], {}, [[]], {"": {}})),
    lambda old, random: [old] * random.choice((0, 2, 3000)),
    lambda old, random: {"a": old},
    lambda old, random: -old if isinstance(old, (int, float)) else str(old),
    lambda old, random: old[: len(old) // 2] if isinstance(old, (str, list)) else [],
    lambda old, random: _nested(3000),
]


def json_text(content: bytes, random: Random) -> bytes:
    """A piece of the text becomes another, or all of it does."""
    new = random.choice(_TEXTS)
    if random.random() < 0.3:
        return new
    start = random.randrange(len(content) + 1)
    return content[:start] + new + content[start + random.randrange(20) :]


def json_tree(content: bytes, random: Random) -> bytes:
    """One value of the tree becomes another, goes, or gets a neighbour; what comes out is JSON."""
    try:
        tree = [json.loads(content)]
    except (ValueError, RecursionError, MemoryError):
        return content  # an earlier fault made it unreadable already, or too large for this process
    owner, key = _place(tree, random)
    choice = random.random()
    if choice < 0.15:
        del owner[key]
    elif choice < 0.25 and isinstance(owner, dict):
        owner[random.choice(("", "samples", "x" * 5000, "\ud800"))] = owner[key]
    else:
        owner[key] = random.choice(_VALUES)(owner[key], random)
    try:
        return json.dumps(tree[0] if tree else None).encode()
    except (ValueError, RecursionError, MemoryError):  # too deep, or too many digits for this Python
        return content


def _place(tree: Any, random: Random) -> tuple[Any, Any]:
    """A table or list anywhere in the tree, and a key of it; deeper ones more often."""
    key = random.choice(list(tree)) if isinstance(tree, dict) else random.randrange(len(tree))
    if isinstance(tree[key], (dict, list)) and tree[key] and random.random() < 0.85:
        return _place(tree[key], random)
    return tree, key


def _nested(depth: int) -> Any:
    value: Any = 0
    for _ in range(depth):
        value = [value]
    return value


def found(content: bytes, random: Random) -> bytes:
    """What the comparison found says something else, in a part whose checksums fit."""
    memory = io.BytesIO(content)
    try:
        with h5py.File(memory, "r+") as file:
            item = file["found"]
            if item.size > 2**20:  # an earlier fault made it huge already
                return content
            old = item[()].tobytes()
            new = random.choice((json_tree, json_tree, json_tree, json_text))(old, random)
            del file["found"]
            file.create_dataset("found", data=np.frombuffer(new, np.uint8), compression="gzip", fletcher32=True)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError):
        return content  # an earlier fault made it unreadable already
    return memory.getvalue()
