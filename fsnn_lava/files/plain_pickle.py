"""Read a pickle as plain data: its opcodes are interpreted on a stack of inert values, so nothing is imported or called.

Supports the opcodes of protocols 2 to 4 that arrays, tensors, lists, dicts, numbers and strings need.
"""

from __future__ import annotations

import math
import pickletools
from dataclasses import dataclass
from typing import Any

import numpy as np

AXES_MAX = 32
_MARK = object()
_CONSTANTS = {"EMPTY_TUPLE": (), "NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_VALUES = {"BININT", "BININT1", "BININT2", "LONG1", "BINFLOAT"}
_TEXTS = {"BINSTRING", "SHORT_BINSTRING", "BINUNICODE", "SHORT_BINUNICODE"}
_BYTES = {"BINBYTES", "SHORT_BINBYTES"}
_IGNORED = {"PROTO", "FRAME"}
_RECONSTRUCT = {"numpy.core.multiarray _reconstruct", "numpy._core.multiarray _reconstruct"}


class NotPlain(ValueError):
    """The pickle contains more than data, or is damaged."""


@dataclass(frozen=True)
class Name:
    """A name that unpickling would import."""

    path: str


@dataclass
class Call:
    """A call that unpickling would make, and the state it would set on the result."""

    function: Name
    arguments: tuple[Any, ...]
    state: Any = None


@dataclass(frozen=True)
class Elsewhere:
    """Data outside the pickle, referenced by a label (a persistent id)."""

    label: Any


def read_plain_pickle(data: bytes) -> Any:
    """Return the value in a pickle, arrays and tensors as `Call` (see `pickled_array`), Python 2 strings as one character per byte."""
    machine = _Machine()
    try:
        for opcode, argument, _ in pickletools.genops(data):
            if opcode.name == "STOP":
                return machine.pop()
            machine.step(opcode.name, argument)
    except NotPlain:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise NotPlain(f"the pickle is damaged ({error})") from error
    raise NotPlain("the pickle has no end")


class _Machine:
    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def pop(self) -> Any:
        value = self.stack.pop()
        if value is _MARK:
            raise NotPlain("the pickle is damaged (a value is missing)")
        return value

    def pop_to_mark(self) -> list[Any]:
        start = len(self.stack) - 1
        while self.stack[start] is not _MARK:
            start -= 1
            if start < 0:
                raise NotPlain("the pickle is damaged (a mark is missing)")
        items = self.stack[start + 1 :]
        del self.stack[start:]
        return items

    def step(self, name: str, argument: Any) -> None:
        if name in _VALUES or name in _TEXTS or name in _BYTES:
            self.stack.append(argument)
        elif name in _CONSTANTS:
            self.stack.append(_CONSTANTS[name])
        elif name not in _IGNORED:
            action = getattr(self, f"do_{name.lower()}", None)
            if action is None:
                raise NotPlain(f"the pickle contains the opcode {name}, which plain data never contains")
            action(argument)

    def do_mark(self, _: None) -> None:
        self.stack.append(_MARK)

    def do_empty_dict(self, _: None) -> None:
        self.stack.append({})

    def do_empty_list(self, _: None) -> None:
        self.stack.append([])

    def do_binput(self, slot: int) -> None:
        self.memo[slot] = self.stack[-1]

    do_long_binput = do_binput

    def do_memoize(self, _: None) -> None:
        self.memo[len(self.memo)] = self.stack[-1]

    def do_binget(self, slot: int) -> None:
        self.stack.append(self.memo[slot])

    do_long_binget = do_binget

    def do_append(self, _: None) -> None:
        value = self.pop()
        _expect(self.stack[-1], list).append(value)

    def do_appends(self, _: None) -> None:
        items = self.pop_to_mark()
        _expect(self.stack[-1], list).extend(items)

    def do_setitem(self, _: None) -> None:
        value, key = self.pop(), self.pop()
        _expect(self.stack[-1], dict)[_plain_key(key)] = value

    def do_setitems(self, _: None) -> None:
        items = self.pop_to_mark()
        _expect(self.stack[-1], dict).update(zip(map(_plain_key, items[::2]), items[1::2], strict=True))

    def do_tuple(self, _: None) -> None:
        self.stack.append(tuple(self.pop_to_mark()))

    def do_tuple1(self, _: None) -> None:
        self._tuple(1)

    def do_tuple2(self, _: None) -> None:
        self._tuple(2)

    def do_tuple3(self, _: None) -> None:
        self._tuple(3)

    def _tuple(self, size: int) -> None:
        items = [self.pop() for _ in range(size)]
        self.stack.append(tuple(reversed(items)))

    def do_global(self, path: str) -> None:
        self.stack.append(Name(path))

    def do_stack_global(self, _: None) -> None:
        name, module = self.pop(), self.pop()
        self.stack.append(Name(f"{_expect(module, str)} {_expect(name, str)}"))

    def do_reduce(self, _: None) -> None:
        arguments, function = self.pop(), self.pop()
        self.stack.append(_value_of(Call(_expect(function, Name), _expect(arguments, tuple))))

    def do_build(self, _: None) -> None:
        state = self.pop()
        if not isinstance(self.stack[-1], dict):  # a dict's own attributes are not data
            _expect(self.stack[-1], Call).state = state

    def do_binpersid(self, _: None) -> None:
        self.stack.append(Elsewhere(self.pop()))


def _expect(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise NotPlain(f"the pickle is damaged (a {kind.__name__} is missing)")
    return value


def _plain_key(key: Any) -> Any:
    """Return a dict key if it is a string or a number: nested tuples may take exponential time to hash, and data sets do not use them."""
    if not isinstance(key, (str, bytes, int)):
        raise NotPlain("the pickle has a key that is neither a string nor a number")
    return key


def pickled_array(value: Any) -> np.ndarray:
    """Return the array of unsigned bytes that a `Call` describes; its shape is checked against its bytes."""
    call = _expect(value, Call)
    if call.function.path not in _RECONSTRUCT:
        raise NotPlain(f"expected an array, but the pickle contains {call.function.path!r}")
    if not (isinstance(call.state, tuple) and len(call.state) == 5):
        raise NotPlain("an array has no contents")
    _, shape, dtype, fortran, raw = call.state
    if not (isinstance(dtype, Call) and dtype.function.path == "numpy dtype" and dtype.arguments[:1] in (("u1",), ("|u1",))):
        raise NotPlain("an array must contain unsigned bytes")
    try:
        content = raw.encode("latin-1") if isinstance(raw, str) else _expect(raw, bytes)
    except UnicodeEncodeError as error:
        raise NotPlain("an array contains text") from error
    if not (isinstance(shape, tuple) and len(shape) <= AXES_MAX and all(isinstance(side, int) and side >= 0 for side in shape)):
        raise NotPlain("an array has an invalid shape")
    if math.prod(shape) != len(content):
        raise NotPlain(f"an array of shape {shape} has {len(content)} bytes")
    return np.frombuffer(content, np.uint8).reshape(shape, order="F" if fortran else "C")


def _value_of(call: Call) -> Call | bytes | dict[Any, Any]:
    """Decode bytes and ordered dicts, which protocol 2 writes as calls, without calling anything."""
    if call.function.path == "_codecs encode" and call.arguments[1:] == ("latin1",):
        return _expect(call.arguments[0], str).encode("latin-1")
    if call.function.path == "__builtin__ bytes" and call.arguments == ():
        return b""
    if call.function.path == "collections OrderedDict" and call.arguments == ():
        return {}
    return call
