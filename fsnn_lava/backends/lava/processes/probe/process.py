from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import InPort, RefPort
from lava.magma.core.process.process import AbstractProcess
from numpy.typing import NDArray

from fsnn_lava.backends.lava.window import Window


class Probe(AbstractProcess):
    """Records a stock neuron without changing it: its spikes, and its potential `v` at the end of its window.

    Everything goes to shared memory: `spikes` [T, *shape], `potential` [*shape], and `beat` [1], which counts the steps of the run.
    """

    def __init__(
        self, *, spikes: NDArray[np.uint8], potential: NDArray[np.int32], beat: NDArray[np.int64], window: Window, name: str
    ) -> None:
        super().__init__(spikes=spikes, potential=potential, beat=beat, window=window, name=name)
        self.s_in = InPort(shape=potential.shape)
        self.v = RefPort(shape=potential.shape)


class ResetProbe(AbstractProcess):
    """The same for ATRLIF, which keeps the subtracted charge in a separate variable: `potential` is v - r."""

    def __init__(
        self, *, spikes: NDArray[np.uint8], potential: NDArray[np.int32], beat: NDArray[np.int64], window: Window, name: str
    ) -> None:
        super().__init__(spikes=spikes, potential=potential, beat=beat, window=window, name=name)
        self.s_in = InPort(shape=potential.shape)
        self.v = RefPort(shape=potential.shape)
        self.r = RefPort(shape=potential.shape)
