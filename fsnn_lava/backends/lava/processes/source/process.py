from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import OutPort
from lava.magma.core.process.process import AbstractProcess
from numpy.typing import NDArray

from fsnn_lava.backends.lava.window import Window


class Source(AbstractProcess):
    """Sends the network's input from shared memory: `values` [B, n] at every step, or [B, T, n], one message per step.

    `beat` [1] counts the steps of the run, so that the parent can see its progress. Tag "messages": 8-bit messages for a synapse;
    "fixed_pt" or "wide": currents for the neurons, in units of 2**-6.
    """

    def __init__(self, *, values: NDArray[np.generic], beat: NDArray[np.int64], window: Window, tag: str, name: str) -> None:
        super().__init__(values=values, beat=beat, window=window, tag=tag, name=name)
        self.s_out = OutPort(shape=(values.shape[0], values.shape[-1]))
