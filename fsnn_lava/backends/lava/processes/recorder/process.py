from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import InPort
from lava.magma.core.process.process import AbstractProcess
from numpy.typing import NDArray

from fsnn_lava.backends.lava.window import Window


class Recorder(AbstractProcess):
    """Records the spikes in a layer's window in `spikes` [T, *shape], in shared memory.

    `shape` is the shape of the messages: (B, n) from our neurons, the process's own shape from a stock process (tag "stock").
    `beat` [1] counts the steps of the run.
    """

    def __init__(self, *, spikes: NDArray[np.uint8], beat: NDArray[np.int64], window: Window, tag: str = "fixed_pt", name: str) -> None:
        super().__init__(spikes=spikes, beat=beat, window=window, tag=tag, name=name)
        self.s_in = InPort(shape=spikes.shape[1:])
