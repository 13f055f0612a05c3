"""Plot rates: how they are distributed, or how close two sets of them are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.result import Result
from fsnn_lava.nn.loop_map import Equilibrium
from fsnn_lava.nn.trace import Trace
from fsnn_lava.plot.axes import axes_or_new, chosen_layer, layer_arrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BINS = 50


def rates(
    found: Trace | Equilibrium | Result, expected: Trace | Equilibrium | Result | None = None, *, layer: int = -1, axes: Axes | None = None
) -> Axes:
    """Plot a histogram of a layer's rates or, with `expected`, every rate against its expected value.

    Args:
        found: the rates to draw, from `FSNN.simulate`, `FSNN.equilibrium` or `run`.
        expected: the rates to compare them with, for example those of the equilibrium; equal rates are on the diagonal.
        layer: which layer, counted from 0; by default the last.
        axes: where to draw; by default a new figure.

    Returns:
        The axes.

    Raises:
        BadArgument: there is no such layer, or the two differ in shape.
        PackageMissing: matplotlib is not installed.

    Examples:
        >>> axes = fl.plot.rates(net.simulate(images), net.equilibrium(images))
        >>> axes.get_xlabel()
        'expected rate (spikes per step)'
    """
    values = chosen_layer(layer_arrays(found, "rates"), layer)
    if expected is None:
        drawn = axes_or_new(axes)
        drawn.hist(values.ravel(), bins=BINS, range=(0.0, 1.0))
        drawn.set(xlabel="rate (spikes per step)", ylabel="neurons", yscale="log")
        return drawn
    wanted = chosen_layer(layer_arrays(expected, "rates"), layer)
    if wanted.shape != values.shape:
        raise BadArgument(f"the rates to compare must have the same shape, got {list(values.shape)} and {list(wanted.shape)}")
    drawn = axes_or_new(axes)
    drawn.plot([0.0, 1.0], [0.0, 1.0], color="grey", linewidth=1, zorder=0)
    drawn.plot(wanted.ravel(), values.ravel(), ".", markersize=2, alpha=0.5)
    worst = float(np.abs(values - wanted).max(initial=0.0))
    drawn.set(xlabel="expected rate (spikes per step)", ylabel="rate (spikes per step)", title=f"largest difference {worst:.3g}")
    return drawn
