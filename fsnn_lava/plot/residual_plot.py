"""Plot the residual over the steps of a run: how the rates approach the equilibrium."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.result import Result
from fsnn_lava.nn.trace import Trace
from fsnn_lava.plot.axes import axes_or_new, layer_arrays

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def residual(found: Trace | Result, *, axes: Axes | None = None) -> Axes:
    """Plot the residual after every step, the largest and the median over all samples; without a leak it falls as 1/T.

    Args:
        found: the result of `FSNN.simulate(..., residuals=True)` or `run(..., residual=True)`.
        axes: where to draw; by default a new figure.

    Returns:
        The axes, both logarithmic.

    Raises:
        BadArgument: the residuals were not computed.
        PackageMissing: matplotlib is not installed.

    Examples:
        >>> axes = fl.plot.residual(net.simulate(images, residuals=True))
        >>> axes.get_xscale()
        'log'
    """
    curves, unit = _curves(found)
    steps = np.arange(1, curves.shape[1] + 1)
    drawn = axes_or_new(axes)
    drawn.plot(steps, curves.max(axis=0), label="largest of all samples")
    drawn.plot(steps, np.median(curves, axis=0), label="median of all samples")
    drawn.plot(steps, curves.max(axis=0)[0] / steps, color="grey", linestyle=":", label="1/T, for comparison")
    drawn.set(xlabel="step", ylabel=f"residual {unit}", xscale="log", yscale="log")
    drawn.legend()
    return drawn


def _curves(found: Trace | Result) -> tuple[NDArray[Any], str]:
    """Return the curves [B, T], and the unit of their norm."""
    if isinstance(found, Result):
        if found.residual is None:
            raise BadArgument("the result has no residuals: run(chip, values, residual=True) computes them")
        return found.residual, "||f(a) - a||"
    if not getattr(found, "residuals", None):
        raise BadArgument("there are no residuals to draw: net.simulate(images, residuals=True) computes them")
    return np.stack(layer_arrays(found, "residuals"), axis=1), "max |f(a) - a|"
