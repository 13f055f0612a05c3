"""Plot a run with matplotlib: each function returns the axes, so that you can change or save them."""

from __future__ import annotations

from fsnn_lava.plot.confusion_plot import confusion as confusion
from fsnn_lava.plot.raster_plot import raster as raster
from fsnn_lava.plot.rate_plot import rates as rates
from fsnn_lava.plot.residual_plot import residual as residual

__all__ = ["confusion", "raster", "rates", "residual"]
