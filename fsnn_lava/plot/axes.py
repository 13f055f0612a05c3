"""Get the axes to draw on; matplotlib is imported only here, when something is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument, PackageMissing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def axes_or_new(axes: Axes | None) -> Axes:
    """Return the axes to draw on: `axes`, or those of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise PackageMissing(f"figures need matplotlib, which cannot be imported ({error}): pip install matplotlib") from error
    return axes if axes is not None else pyplot.subplots(layout="constrained")[1]


def layer_arrays(source: object, name: str) -> tuple[NDArray[Any], ...]:
    """Return the arrays to draw, one per layer, from the attribute `name`; raise BadArgument if `source` has none."""
    found: Sequence[Any] | None = getattr(source, name, None)
    if found is None:
        raise BadArgument(f"{type(source).__name__} has no {name} to draw")
    return tuple(np.asarray(one.detach().cpu() if hasattr(one, "detach") else one) for one in found)


def chosen_layer(arrays: Sequence[NDArray[Any]], layer: int) -> NDArray[Any]:
    """Return the array of the layer to draw, counted from 0; negative numbers count from the end."""
    if not isinstance(layer, Integral) or not -len(arrays) <= layer < len(arrays):
        raise BadArgument(f"layer must be an integer between {-len(arrays)} and {len(arrays) - 1}, got {layer!r}")
    return arrays[layer]
