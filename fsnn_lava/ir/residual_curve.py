"""The residual curve of a run, ||f(a[t]) - a[t]|| after every step t, which shows whether the network settles."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.ir.result import Arrays, Result

BYTES_MAX = 2**25  # bytes for one number per neuron of the samples that are processed together


class ResidualCurve:
    """Computes residuals of a network's runs with the chip's map f (E4, E11): Euclidean over all neurons, each layer in its own time."""

    def __init__(self, chip: ChipNetwork) -> None:
        """Take the network that actually ran (see `executed_network`)."""
        self.chip, self.rate_map = chip, RateMap(chip)
        self.rows = max(1, BYTES_MAX // (8 * sum(layer.size for layer in chip.layers)))

    def added(self, result: Result, values: NDArray[np.uint8], *, keep_spikes: bool) -> Result:
        """Return `result`, which must have spike trains, with its residual [B, T] and, unless `keep_spikes`, without the trains."""
        if result.spikes is None:
            raise BadArgument(f"backend {result.backend!r} recorded no spike trains, which are needed for the residual after every step")
        parts = [slice(start, start + self.rows) for start in range(0, result.samples, self.rows)]
        curves = [self._curve(tuple(train[rows] for train in result.spikes), values[rows]) for rows in parts]
        return replace(result, residual=np.concatenate(curves), spikes=result.spikes if keep_spikes else None)

    def _curve(self, trains: Arrays, values: NDArray[np.uint8]) -> NDArray[np.float64]:
        steps, chip = trains[0].shape[1], self.chip
        curve = np.empty((len(values), steps))
        traces = [np.zeros((len(values), *layer.shape)) for layer in chip.layers]
        drive = None
        for t in range(1, steps + 1):
            if chip.input.kind == "events":
                drive = self.rate_map.drive(self._frames(values, t))
            elif drive is None:
                drive = self.rate_map.drive(values)
            for trace, train in zip(traces, trains, strict=True):
                trace *= chip.leak
                trace += train[:, t - 1]
            curve[:, t - 1] = self.rate_map.residual(tuple(trace / chip.weight_sum(t) for trace in traces), drive)
        return curve

    def _frames(self, values: NDArray[np.uint8], steps: int) -> NDArray[np.uint8]:
        """Return the events of the first steps; with delta encoding, every frame keeps its weight among all of them."""
        if self.chip.delta is None:
            return values[:, :steps]
        late = np.arange(values.shape[1]) >= steps
        return np.where(late.reshape(1, -1, *(1,) * (values.ndim - 2)), 0, values).astype(np.uint8)
