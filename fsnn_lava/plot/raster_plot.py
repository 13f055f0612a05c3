"""Plot the spike raster of one sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.result import Result
from fsnn_lava.plot.axes import axes_or_new, chosen_layer, layer_arrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def raster(result: Result, sample: int = 0, *, layer: int = -1, axes: Axes | None = None) -> Axes:
    """Plot a raster, with a point for every spike of a layer: steps to the right, neurons upwards.

    Args:
        result: the Result of `run(..., spikes=True)`.
        sample: which sample, counted from 0.
        layer: which layer, counted from 0; by default the last.
        axes: where to draw; by default a new figure.

    Returns:
        The axes.

    Raises:
        BadArgument: the result has no spike trains, or there is no such sample or layer.
        PackageMissing: matplotlib is not installed.

    Examples:
        >>> axes = fl.plot.raster(fl.run(chip, pixels, spikes=True))
        >>> axes.get_xlabel()
        'step'
    """
    if getattr(result, "spikes", None) is None:
        raise BadArgument("the result has no spike trains: run(chip, values, spikes=True) keeps them")
    trains = chosen_layer(layer_arrays(result, "spikes"), layer)
    if not 0 <= sample < len(trains):
        raise BadArgument(f"sample must be between 0 and {len(trains) - 1}, got {sample}")
    steps, neurons = np.nonzero(trains[sample].reshape(trains.shape[1], -1))
    drawn = axes_or_new(axes)
    drawn.plot(steps + 1, neurons, "|", markersize=3)
    drawn.set(xlabel="step", ylabel="neuron", xlim=(0.5, trains.shape[1] + 0.5))
    return drawn
