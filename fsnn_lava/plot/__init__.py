"""Figures of a run, drawn with matplotlib: each function returns the axes, to change or to save."""

from __future__ import annotations

from fsnn_lava.plot.confusion import confusion
from fsnn_lava.plot.raster import raster
from fsnn_lava.plot.rates import rates
from fsnn_lava.plot.residual import residual

__all__ = ["confusion", "raster", "rates", "residual"]
