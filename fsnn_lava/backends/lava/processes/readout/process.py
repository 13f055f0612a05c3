from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import InPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.process.variable import Var
from numpy.typing import NDArray

from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.ir.network import Readout


class Classifier(AbstractProcess):
    """The readout's integrators and their synapse for B samples at once, in the last layer's own time.

    At the end of a window, `potentials` [B, classes] and `clip_count` [B] hold the result.
    """

    def __init__(
        self,
        *,
        readout: Readout,
        scatter: Scatter,
        window: Window,
        potentials: NDArray[np.int32],
        clip_count: NDArray[np.int64],
        tag: str = "fixed_pt",
        name: str = "readout",
    ) -> None:
        super().__init__(readout=readout, scatter=scatter, window=window, potentials=potentials, clip_count=clip_count, tag=tag, name=name)
        batch, classes = potentials.shape
        self.s_in = InPort(shape=(batch, readout.weight.shape[1]))
        self.u = Var(shape=(batch, classes), init=0)
