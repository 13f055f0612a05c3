"""The paper's notation for a feedback network, extended to several loops and skips, parsed into a network graph and printed from one.

    96C3s-256C3-384C3s-384C3-256C3 (F96C3u)
    |     |                         feedback from the last layer to the first: F<n> dense, F<n>C<k> convolution, …u transposed x2
    |     256 channels, kernel 3
    96 channels, kernel 3, stride 2;  <n> alone is a dense layer, P<k> averages k x k of the convolution before it

    16C3s-16C3@1.5-16C3 (F16C3, F3>2:16C3, R2:16C3g16, S1>3, S0>2:16C1s)
               |                |          |           |     skip from the input (0) to layer 2
               |                |          |           identity skip from layer 1 to layer 3
               |                |          recurrence: layer 2 onto itself, here depthwise (16 groups)
               threshold        feedback from layer 3 to layer 2

Layers are numbered from 1. After a convolution: s<n> stride (s: 2), u<n> transposed (u: 2), p<n> padding, d<n> dilation, g<n> groups;
@<x> is the threshold of a layer. Odd kernels have "same" padding unless p says otherwise; even ones need p.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import cast

from fsnn_lava.errors import BadArchitecture
from fsnn_lava.nn.graph import INPUT, Connection, Graph, Neurons
from fsnn_lava.nn.layer_shape import SIZE_MAX, layer_shape
from fsnn_lava.nn.operators import Pair, Shape

_ITEM = re.compile(r"(?P<channels>\d+)C(?P<kernel>\d+)|P(?P<pool>\d+)|(?P<dense>\d+)")
_SUFFIX = re.compile(r"(?P<letter>[a-z])(?P<number>\d*)|@(?P<vth>\d+(?:\.\d*)?|\.\d+)")
_EXTRA = re.compile(r"F(?:(?P<source>\d+)>(?P<target>\d+)(?::|$))?|R(?P<own>\d+):|S(?P<from>\d+)>(?P<to>\d+):?")
_MEANINGS = {"s": "stride", "u": "transposed", "p": "padding", "d": "dilation", "g": "groups", "@": "threshold"}


@dataclass(frozen=True)
class _Item:
    """A piece of the text, with the column (from 1) at which it starts."""

    text: str
    column: int

    def fail(self, message: str, offset: int = 0, hint: str = "") -> BadArchitecture:
        return BadArchitecture(f"{message} in {self.text!r} at column {self.column + offset}{hint}")


@dataclass(frozen=True)
class _Operation:
    """The meaning of an item: a dense connection of `channels` neurons, a convolution, or pooling alone."""

    item: _Item
    kind: str  # "dense", "conv", "transposed", "pool"
    channels: int = 0
    kernel: int = 1
    stride: int | None = None
    padding: int | None = None
    dilation: int = 1
    groups: int = 1
    vth: float | None = None

    def connection(self, source: str, target: str) -> Connection:
        if self.kind == "dense":
            return Connection(source=source, target=target)
        if self.kind == "pool":
            return Connection(source=source, target=target, kind="pool", kernel=self.kernel)
        common = Connection(source=source, target=target, kind="conv", dilation=self.dilation, groups=self.groups)
        if self.kind == "transposed":
            if self.dilation > 1 or self.groups > 1:
                raise self.item.fail("a transposed convolution (u) supports neither dilation (d) nor groups (g)")
            common = replace(common, kind="transposed")
        try:
            return replace(common, kernel=self.kernel, stride=self.stride, padding=self.padding)
        except BadArchitecture as error:
            raise self.item.fail(str(error)) from error


@dataclass(frozen=True)
class _Layer:
    """A layer on the path from the input, with the connection into it."""

    neurons: Neurons
    connection: Connection


def parse_notation(text: str, *, input_shape: Shape) -> Graph:
    """Parse a network's notation into a graph with layers l1, l2, …; BadArchitecture names the column of a mistake."""
    shape = layer_shape(input_shape, "the input")
    path, extras = _split(text)
    layers: list[_Layer] = []
    for item in path:
        _append(layers, item, shape)
    neurons, connections = [layer.neurons for layer in layers], [layer.connection for layer in layers]
    return Graph(shape, neurons, connections + [_extra(item, neurons, shape) for item in extras])


def _split(text: str) -> tuple[list[_Item], list[_Item]]:
    match = re.fullmatch(r"\s*(?P<path>[^()\s]*)\s*(?:\((?P<extras>[^()]*)\))?\s*", text)
    if match is None or (match["extras"] is not None and not re.match(r"\s*[FRS]", match["extras"])):
        raise BadArchitecture(
            f"{text!r} must read like '64C5s (F64C5)': layers joined by '-', then in parentheses, separated by commas, feedback (F64C5, or "
            "F3>1:64C5 from layer 3 to layer 1), recurrence (R2:64C5) and skips (S1>3)"
        )
    items, column = [], match.start("path") + 1
    for piece in match["path"].split("-"):
        items.append(_Item(piece, column))
        if not piece:
            raise BadArchitecture(f"a layer is missing in {text!r} at column {column}")
        column += len(piece) + 1
    extras = []
    for piece in re.finditer(r"[^,]+", match["extras"] or ""):
        stripped = piece.group().strip()
        extras.append(_Item(stripped, match.start("extras") + 1 + piece.start() + piece.group().index(stripped)))
    return items, extras


def _operation(item: _Item, allowed: str) -> _Operation:
    """Parse an item with its suffixes; `allowed` letters may follow a convolution, and '@' also a dense layer."""
    match = _ITEM.match(item.text)
    if match is None and re.match(r"M(?:ax)?P?\d", item.text):
        raise item.fail("maximum pooling is not supported, because no sum of spikes computes it; use average pooling (P2)")
    if match is None:
        raise item.fail("a layer is written like 400, 64C5 or P2")
    for name in ("dense", "channels", "kernel", "pool"):
        if match[name] and not 0 < int(match[name]) < SIZE_MAX:
            raise item.fail(f"a size must be positive and below 2**31, got {match[name]}", match.start(name))
    if match["pool"]:
        _suffixes(item, match.end(), "")
        return _Operation(item, "pool", kernel=int(match["pool"]))
    found = _suffixes(item, match.end(), allowed if match["channels"] else "@" if "@" in allowed else "")
    vth = float(found["@"]) if "@" in found else None
    if match["dense"]:
        return _Operation(item, "dense", int(match["dense"]), vth=vth)
    sizes = {letter: int(number) for letter, number in found.items() if letter != "@"}
    made = _Operation(
        item,
        "transposed" if "u" in sizes else "conv",
        int(match["channels"]),
        kernel=int(match["kernel"]),
        stride=sizes.get("u", sizes.get("s")),
        padding=sizes.get("p"),
        dilation=sizes.get("d", 1),
        groups=sizes.get("g", 1),
        vth=vth,
    )
    if made.padding is None and made.dilation * (made.kernel - 1) % 2:
        example = f"{made.channels}C{made.kernel}p{(made.kernel - 1) // 2}"
        raise item.fail(
            f"'same' padding needs an odd kernel; give an even one explicit padding, as in {example}, got {made.kernel}",
            match.start("kernel"),
        )
    return made


def _suffixes(item: _Item, start: int, allowed: str) -> dict[str, str]:
    """Return the suffix letters and their numbers from `start` on; "s" and "u" alone mean 2."""
    found: dict[str, str] = {}
    while start < len(item.text):
        match = _SUFFIX.match(item.text, start)
        letter = "" if match is None else match["letter"] or "@"
        if match is None and "@" in allowed and item.text[start] == "@":
            raise item.fail("a threshold (@) needs a number, as in 100@1.5", start)
        if match is None or letter not in allowed or letter in found:
            known = ", ".join(f"{one} ({_MEANINGS[one]})" for one in allowed)
            raise item.fail(f"unknown suffix {item.text[start:]!r}", start, f"; known here: {known}" if known else "")
        number = match["vth"] or match["number"] or ("2" if letter in "su" else "")
        if not 0 < len(number) <= 12:
            raise item.fail(f"{_MEANINGS[letter]} ({letter}) needs a number", start)
        found[letter] = number
        start = match.end()
    if "s" in found and "u" in found:
        raise item.fail("give a stride (s) or make it transposed (u), not both")
    return found


def _append(layers: list[_Layer], item: _Item, input_shape: Shape) -> None:
    operation = _operation(item, "supdg@")
    if operation.kind == "pool":
        _pool(layers, item, operation.kernel)
        return
    shape, source = (layers[-1].neurons.out_shape, layers[-1].neurons.name) if layers else (input_shape, INPUT)
    name = f"l{len(layers) + 1}"
    if operation.kind != "dense" and len(shape) != 3:
        raise item.fail(f"a convolution needs an input of shape (C, H, W), got {shape}")
    connection = operation.connection(source, name)
    try:
        layers.append(_Layer(Neurons(name, connection.made_shape(shape, operation.channels), operation.vth), connection))
    except BadArchitecture as error:
        raise item.fail(str(error)) from error


def _pool(layers: list[_Layer], item: _Item, size: int) -> None:
    """Add P<k> to the convolution before it, whose current is averaged before the neurons see it."""
    if not layers or layers[-1].connection.kind != "conv" or layers[-1].connection.pool > 1:
        raise item.fail("pooling needs a convolution right before it")
    layer = layers[-1]
    channels, *sizes = layer.neurons.out_shape
    if any(n % size for n in sizes):
        raise item.fail(f"{sizes[0]} x {sizes[1]} cannot be pooled by {size} without a remainder")
    shape = (channels, *(n // size for n in sizes))
    layers[-1] = _Layer(replace(layer.neurons, shape=shape), replace(layer.connection, pool=size))


def _extra(item: _Item, layers: list[Neurons], input_shape: Shape) -> Connection:
    """Parse a connection in parentheses: F for feedback, R for recurrence, S for a skip."""
    match = _EXTRA.match(item.text)
    if match is None:
        raise item.fail("the parentheses may contain F64C5 (feedback), F3>1:64C5, R2:64C5 (recurrence) and S1>3 (a skip)")
    skip = item.text.startswith("S")
    numbers = [match[name] for name in (("from", "to") if skip else ("own", "own") if match["own"] else ("source", "target"))]
    source, target = (len(layers), 1) if numbers[0] is None else (int(numbers[0]), int(numbers[1]))
    if not (0 <= source <= len(layers) and 1 <= target <= len(layers)):
        raise item.fail(f"layers are numbered 1 to {len(layers)} (and 0 is the input of a skip), got {source} and {target}")
    if skip != (source < target):
        remedy = "a skip (S)" if source < target else "feedback (F)"
        raise item.fail(f"a connection from layer {source} to layer {target} is {remedy}")
    names = INPUT if source == 0 else f"l{source}", f"l{target}"
    shapes = input_shape if source == 0 else layers[source - 1].out_shape, layers[target - 1].out_shape
    inner = _Item(item.text[match.end() :], item.column + match.end())
    if not inner.text:
        if not skip:
            raise item.fail("feedback needs an operation, such as F64C5 or F3>1:64C5")
        return _fitting(item, Connection(source=names[0], target=names[1], kind="identity"), *shapes)
    operation = _operation(inner, "supdg")
    connection = operation.connection(*names)
    name = "the first layer" if target == 1 else f"layer {target}"
    if not skip:
        _check_feedback(operation, connection, *shapes, name)
    elif operation.channels not in (0, shapes[1][0]):
        raise inner.fail(f"a skip must have {name}'s {shapes[1][0]} channels or neurons, got {operation.channels}")
    return _fitting(item, connection, *shapes)


def _fitting(item: _Item, connection: Connection, source: Shape, target: Shape) -> Connection:
    try:
        connection.operator(source, target)
    except BadArchitecture as error:
        raise item.fail(str(error)) from error
    return connection


def _check_feedback(operation: _Operation, connection: Connection, source: Shape, target: Shape, name: str) -> None:
    item = operation.item
    if operation.kind == "pool":
        raise item.fail("feedback cannot be pooling")
    if operation.kind == "dense":
        if target != (operation.channels,):
            raise item.fail(
                f"dense feedback to {operation.channels} neurons must end in a dense layer of that size, but {name} has shape {target}"
            )
        return
    if len(source) != 3 or len(target) != 3:
        raise item.fail(f"convolutional feedback needs channels at both ends, but leads from shape {source} to {name} of shape {target}")
    if operation.channels != target[0]:
        raise item.fail(f"feedback must have {name}'s {target[0]} channels, got {operation.channels}")
    made = connection.made_shape(source, operation.channels)
    stride = cast(Pair, connection.stride) if operation.kind == "transposed" else (1, 1)
    if any(not 0 <= n - out < s for out, n, s in zip(target[1:], made[1:], stride, strict=True)):
        way = "remove 'u', or change the strides" if operation.kind == "transposed" else "add 'u' for a transposed convolution"
        raise item.fail(f"feedback produces {made[1]}x{made[2]}, but {name} is {target[1]}x{target[2]} ({way})")


def print_notation(graph: Graph) -> str | None:
    """Return the notation that `parse_notation` reads as this graph, or None if there is none."""
    number = {name: position + 1 for name, position in graph.positions.items()}
    path: list[str] = []
    extras: list[str] = []
    for connection in graph.connections:
        source, target = number[connection.source], number[connection.target]
        if target == source + 1 and target == len(path) + 1:
            vth = graph.layers[target - 1].vth
            pool = f"-P{connection.pool}" if connection.pool > 1 else ""
            path.append(_printed(connection, graph) + ("" if vth is None else f"@{vth:g}") + pool)
        else:
            extras.append(_printed_extra(connection, graph, source, target))
    text = "-".join(path) + (f" ({', '.join(extras)})" if extras else "")
    try:
        return text if parse_notation(text, input_shape=graph.source_shape) == graph else None
    except BadArchitecture:
        return None


def _printed_extra(connection: Connection, graph: Graph, source: int, target: int) -> str:
    operation = "" if connection.kind == "identity" else _printed(connection, graph)
    if source < target:
        return f"S{source}>{target}" + (f":{operation}" if operation else "")
    if (source, target) == (len(graph.layers), 1):
        return f"F{operation}"
    return f"R{source}:{operation}" if source == target else f"F{source}>{target}:{operation}"


def _printed(connection: Connection, graph: Graph) -> str:
    channels = graph.shape(connection.target)[0]
    if connection.kind == "dense":
        return str(channels)
    kernel, stride, padding, dilation = (cast(Pair, getattr(connection, name))[0] for name in ("kernel", "stride", "padding", "dilation"))
    if connection.kind == "pool":
        return f"P{kernel}"
    letter = "u" if connection.kind == "transposed" else "s"
    text = f"{channels}C{kernel}"
    if letter == "u" or stride > 1:
        text += letter + ("" if stride == 2 else str(stride))
    text += "" if 2 * padding == dilation * (kernel - 1) else f"p{padding}"
    text += f"d{dilation}" if dilation > 1 else ""
    return text + (f"g{connection.groups}" if connection.groups > 1 else "")
