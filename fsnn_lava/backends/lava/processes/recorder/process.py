from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import InPort
from lava.magma.core.process.process import AbstractProcess
from numpy.typing import NDArray

from fsnn_lava.backends.lava.window import Window


class Recorder(AbstractProcess):
    """Writes the spikes of a layer's window to `spikes` [T, *shape], shared memory; changes nothing else.

    `shape` is the layer's as it is sent: (B, n) from our neurons, a stock process' own from a stock process (tag "stock").
    `beat` [1] counts the steps of the whole run.
    """

    def __init__(self, *, spikes: NDArray[np.uint8], beat: NDArray[np.int64], window: Window, tag: str = "fixed_pt", name: str) -> None:
        super().__init__(spikes=spikes, beat=beat, window=window, tag=tag, name=name)
        self.s_in = InPort(shape=spikes.shape[1:])
