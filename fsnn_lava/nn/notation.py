"""The paper's notation for a feedback network, parsed into layers with their shapes worked out.

    96C3s-256C3-384C3s-384C3-256C3 (F96C3u)
    |     |                         feedback from the last layer to the first: F<n> dense, F<n>C<k> convolution, …u transposed x2
    |     256 channels, kernel 3
    96 channels, kernel 3, stride 2;  <n> alone is a dense layer, P<k> averages k x k of the convolution before it

Convolutions have odd kernels and "same" padding.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fsnn_lava.errors import BadArchitecture
from fsnn_lava.nn.architecture import Architecture, FeedbackSpec, LayerSpec
from fsnn_lava.nn.operators import Shape

MAX_SIZE = 2**31 - 1


@dataclass(frozen=True)
class _Item:
    """A piece of the text between dashes, with the column (from 1) at which it starts."""

    text: str
    column: int

    def fail(self, message: str, offset: int = 0) -> BadArchitecture:
        return BadArchitecture(f"{message} in {self.text!r} at column {self.column + offset}")


_ITEM = re.compile(r"(?P<channels>\d+)C(?P<kernel>\d+)|P(?P<pool>\d+)|(?P<dense>\d+)")


def parse_notation(text: str, *, input_shape: Shape, classes: int) -> Architecture:
    """`text` in the paper's notation with every shape worked out; BadArchitecture names the column of a mistake."""
    shape = tuple(int(n) for n in input_shape)
    if len(shape) not in (1, 3) or min(shape) < 1:
        raise BadArchitecture(f"the input shape must be (N,) or (C, H, W) of positive sizes, got {shape}")
    if classes < 1:
        raise BadArchitecture(f"there must be at least one class, got {classes}")
    forward, feedback = _split(text)
    layers: list[LayerSpec] = []
    for item in forward:
        _append(layers, item, layers[-1].out_shape if layers else shape)
    loop = _feedback(feedback, layers[-1].out_shape, layers[0].out_shape) if feedback else None
    printed = "-".join(_print(layer) for layer in layers) + (f" (F{_print_feedback(loop)})" if loop else "")
    return Architecture(text=printed, input_shape=shape, classes=classes, layers=tuple(layers), feedback=loop)


def _split(text: str) -> tuple[list[_Item], _Item | None]:
    match = re.fullmatch(r"\s*(?P<forward>[^()\s]*)\s*(?:\(\s*F(?P<feedback>[^()\s]*)\s*\))?\s*", text)
    if match is None:
        raise BadArchitecture(
            f"{text!r} must read like '64C5s (F64C5)': layers joined by '-', then the feedback in parentheses, starting with F"
        )
    column = match.start("forward") + 1
    items = []
    for piece in match["forward"].split("-"):
        items.append(_Item(piece, column))
        if not piece:
            raise BadArchitecture(f"a layer is missing in {text!r} at column {column}")
        column += len(piece) + 1
    back = None if match["feedback"] is None else _Item(match["feedback"], match.start("feedback") + 1)
    return items, back


def _match(item: _Item, suffixes: str) -> tuple[re.Match[str], str]:
    match = _ITEM.match(item.text)
    if match is None:
        raise item.fail("a layer must read like 400, 64C5 or P2")
    rest = item.text[match.end() :]
    allowed = suffixes if match["channels"] else ""
    if rest and rest not in allowed:
        wrong = 0 if rest[0] not in allowed else 1
        raise item.fail(f"unknown suffix {rest[wrong:]!r}", match.end() + wrong)
    for name in ("dense", "channels", "kernel", "pool"):
        if match[name] and not 0 < int(match[name]) < MAX_SIZE:
            raise item.fail(f"a size must be positive and below 2**31, got {match[name]}", match.start(name))
    return match, rest


def _odd_kernel(item: _Item, match: re.Match[str]) -> int:
    kernel = int(match["kernel"])
    if kernel % 2 == 0:
        raise item.fail(f"a kernel must be odd for 'same' padding, got {kernel}", match.start("kernel"))
    return kernel


def _append(layers: list[LayerSpec], item: _Item, shape: Shape) -> None:
    match, suffix = _match(item, "s")
    if match["pool"]:
        _pool(layers, item, int(match["pool"]))
    elif match["dense"]:
        units = int(match["dense"])
        layers.append(LayerSpec(kind="dense", channels=units, in_shape=shape, out_shape=(units,)))
    else:
        if len(shape) != 3:
            raise item.fail(f"a convolution needs an input of shape (C, H, W), got {shape}")
        channels, kernel, stride = int(match["channels"]), _odd_kernel(item, match), 2 if suffix else 1
        size = tuple((n - 1) // stride + 1 for n in shape[1:])
        layers.append(LayerSpec(kind="conv", channels=channels, kernel=kernel, stride=stride, in_shape=shape, out_shape=(channels, *size)))


def _pool(layers: list[LayerSpec], item: _Item, size: int) -> None:
    """P<k> belongs to the convolution before it: its current is averaged, then the neurons see it."""
    if not layers or layers[-1].kind != "conv" or layers[-1].pool > 1:
        raise item.fail("pooling needs a convolution right before it")
    layer = layers[-1]
    if any(n % size for n in layer.out_shape[1:]):
        raise item.fail(f"pooling by {size} does not divide {layer.out_shape[1]} x {layer.out_shape[2]}")
    shape = (layer.channels, *(n // size for n in layer.out_shape[1:]))
    layers[-1] = LayerSpec(
        kind="conv", channels=layer.channels, kernel=layer.kernel, stride=layer.stride, pool=size, in_shape=layer.in_shape, out_shape=shape
    )


def _feedback(item: _Item, source: Shape, target: Shape) -> FeedbackSpec:
    match, suffix = _match(item, "u")
    if match["pool"]:
        raise item.fail("feedback cannot be a pooling")
    if match["dense"]:
        units = int(match["dense"])
        if target != (units,):
            raise item.fail(f"dense feedback must end in the first layer's neurons, a dense layer of {units}; it has shape {target}")
        return FeedbackSpec(kind="dense", channels=units, in_shape=source, out_shape=target)
    channels, kernel = int(match["channels"]), _odd_kernel(item, match)
    if len(source) != 3 or len(target) != 3:
        raise item.fail("convolutional feedback needs a convolution as first and as last layer")
    if channels != target[0]:
        raise item.fail(f"feedback must have the first layer's {target[0]} channels, got {channels}")
    grown = [(2 * n - 1, 2 * n) if suffix else (n,) for n in source[1:]]
    if any(out not in allowed for out, allowed in zip(target[1:], grown, strict=True)):
        way = "add 'u' for a transposed convolution" if not suffix else "remove 'u', or change the strides"
        size = "x".join(str(max(g)) for g in grown)
        raise item.fail(f"feedback makes {size}, the first layer is {target[1]}x{target[2]} ({way})")
    return FeedbackSpec(kind="transposed" if suffix else "conv", channels=channels, kernel=kernel, in_shape=source, out_shape=target)


def _print(layer: LayerSpec) -> str:
    if layer.kind == "dense":
        return str(layer.channels)
    text = f"{layer.channels}C{layer.kernel}" + ("s" if layer.stride == 2 else "")
    return text + (f"-P{layer.pool}" if layer.pool > 1 else "")


def _print_feedback(feedback: FeedbackSpec) -> str:
    if feedback.kind == "dense":
        return str(feedback.channels)
    return f"{feedback.channels}C{feedback.kernel}" + ("u" if feedback.kind == "transposed" else "")
