"""A user's own samples as raw uint8 values, channels first: other layouts are recognised with a remark, or rejected with advice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fsnn_lava.errors import BadData

LAYOUTS = {  # the axes of `x`; whether it is a sequence; where its channels are
    "BN": (False, None),
    "BHW": (False, None),
    "BCHW": (False, 1),
    "BHWC": (False, 3),
    "BTN": (True, None),
    "BTCHW": (True, 2),
    "BTHWC": (True, 4),
}
CHANNELS_MAX = 4  # of images whose channels come last: grey, two polarities, colour, colour with transparency
RAW_MAX = 255


@dataclass(frozen=True)
class Samples:
    """Raw values of one or more arrays, and remarks about them."""

    arrays: tuple[np.ndarray, ...]  # [B, N], [B, C, H, W], [B, T, N] or [B, T, C, H, W], uint8
    events: bool
    remarks: tuple[str, ...] = ()


def recognise_values(arrays: Sequence[np.ndarray], *, layout: str = "", shape: Sequence[int] | None = None, where: str) -> Samples:
    """Return your own samples as raw values; all arrays have the same layout, which is recognised unless `layout` names the axes.

    `shape` is the [C, H, W] that a network takes: the layout that yields it is then chosen, and channels first need no remark.
    """
    if layout and layout not in LAYOUTS:
        batch = "B" + layout[1:] if layout[:1] == "N" else ""
        hint = f"; did you mean {batch!r}, with B for the batch?" if batch in LAYOUTS else ""
        raise BadData(f"{where}: 'layout' must be one of {', '.join(LAYOUTS)}, got {layout[:20]!r}{hint}")
    name, remarks = (layout, ()) if layout else _recognised(arrays, shape, where)
    if any(array.ndim != len(name) for array in arrays):
        raise BadData(f"{where}: layout {name} needs {len(name)} axes, got {' and '.join(str(list(array.shape)) for array in arrays)}")
    events, channels = LAYOUTS[name]
    values = _raw(arrays, events=events, where=where)
    ordered = tuple(_channels_first(array, name, channels) for array in values.arrays)
    return replace(values, arrays=ordered, remarks=(*remarks, *values.remarks))


def _recognised(arrays: Sequence[np.ndarray], wanted: Sequence[int] | None, where: str) -> tuple[str, tuple[str, ...]]:
    """Return the layout of the first array, and a remark about it."""
    shape = list(arrays[0].shape)
    if len(shape) == 2:
        return "BN", ()
    if len(shape) == 3:
        if max(float(array.max(initial=0)) for array in arrays) > 1 or arrays[0].dtype.kind == "f":
            return "BHW", (
                f"x has shape {shape}: interpreted as greyscale images [B, H, W]; for input sequences [B, T, N] add layout='BTN'",
            )
        return "BTN", (f"x has shape {shape} and holds only 0 and 1: interpreted as sequences [B, T, N]; for images add layout='BHW'",)
    if len(shape) in (4, 5):
        first, last = ("BCHW", "BHWC") if len(shape) == 4 else ("BTCHW", "BTHWC")
        if wanted is not None and shape[-3:] == list(wanted):
            return first, ()
        moved = wanted is not None and [shape[-1], *shape[-3:-1]] == list(wanted)
        if moved or shape[-1] <= CHANNELS_MAX < min(shape[-3:-1]):
            return last, (f"x has shape {shape}: interpreted as channels last, {last}; if its channels come first, add layout='{first}'",)
        if shape[-3] == shape[-2] != shape[-1] or shape[-1] < min(shape[-3:-1]):  # as images with channels last: square, or few channels
            return first, (f"x has shape {shape}: interpreted as channels first, {first}; if its channels come last, add layout='{last}'",)
        return first, ()
    raise BadData(
        f"{where}: x must be uint8 of shape [B, C, H, W] or [B, N] for images, [B, T, C, H, W] or [B, T, N] for input sequences, got "
        f"{arrays[0].dtype} of shape {shape}"
    )


def _channels_first(array: np.ndarray, layout: str, channels: int | None) -> np.ndarray:
    if layout == "BHW":
        return array[:, None]
    if channels is None or channels == layout.index("H") - 1:
        return array
    return np.ascontiguousarray(np.moveaxis(array, channels, layout.index("H")))


def _raw(arrays: Sequence[np.ndarray], *, events: bool, where: str) -> Samples:
    """Return the arrays as raw uint8 values."""
    kinds = sorted({str(array.dtype) for array in arrays})
    if kinds == ["uint8"]:
        return Samples(tuple(arrays), events)
    if any(array.dtype.kind not in "biuf" for array in arrays):
        raise BadData(f"{where}: x must hold raw values 0 … {RAW_MAX}, got {' and '.join(kinds)}; write x.astype('uint8')")
    low, high = float(min(array.min() for array in arrays)), float(max(array.max() for array in arrays))
    floats = any(array.dtype.kind == "f" for array in arrays)
    if floats and not events and low >= 0.0 and high <= 1.0:
        said = f"x is {' and '.join(kinds)} in [{low:.3g}, {high:.3g}]: multiplied by {RAW_MAX} and rounded to raw values"
        return Samples(tuple(np.rint(array.astype(np.float64) * RAW_MAX).astype(np.uint8) for array in arrays), events, (said,))
    whole = not floats or all(bool((array == np.rint(array)).all()) for array in arrays)
    if whole and low >= 0.0 and high <= RAW_MAX:
        said = f"x is {' and '.join(kinds)} with whole numbers from {low:g} to {high:g}: used as raw values"
        return Samples(tuple(array.astype(np.uint8) for array in arrays), events, (said,))
    if not math.isfinite(low + high):
        raise BadData(f"{where}: x must hold finite numbers, got NaN or infinity among {' and '.join(kinds)}")
    remedy = f"write the pixels before normalisation, as uint8 0 … {RAW_MAX} or as floats in [0, 1]"
    if events:
        remedy = f"write the number of events, 0 … {RAW_MAX}, as uint8"
    raise BadData(f"{where}: x must hold raw values, got {' and '.join(kinds)} from {low:.3g} to {high:.3g}; {remedy}")
