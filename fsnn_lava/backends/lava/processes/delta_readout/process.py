from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import InPort
from lava.magma.core.process.process import AbstractProcess
from numpy.typing import NDArray

from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.backends.lava.window import Window


class DeltaClassifier(AbstractProcess):
    """The readout with delta encoding (E15): it sums the changes of the last layer, in that layer's own time.

    At the end of a window, `sums` [B, classes] (including the `bias` [classes]) and `clip_count` [B] hold the result.
    """

    def __init__(
        self,
        *,
        scatter: Scatter,
        bias: NDArray[np.int64],
        window: Window,
        sums: NDArray[np.int32],
        clip_count: NDArray[np.int64],
        tag: str = "fixed_pt",
        name: str = "readout",
    ) -> None:
        super().__init__(scatter=scatter, bias=bias, window=window, sums=sums, clip_count=clip_count, tag=tag, name=name)
        self.s_in = InPort(shape=(sums.shape[0], scatter.sources))
