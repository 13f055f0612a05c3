from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess

from fsnn_lava.backends.lava.delta_record import DeltaRecord
from fsnn_lava.backends.lava.frames import Frames
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.ir.network import Layer


class SigmaDeltaNeuron(AbstractProcess):
    """A layer of sigma-delta neurons (E15), B samples at once, in (H, W, C) order; active in its window, silent outside.

    `a_in` is what a step adds to the sum S. `d_in` is the input in units of 2**-6 weight units, read in the first step of the window: a
    static input is sent once. With `frames`, `d_in` is what a frame of events adds in every step, in whole units of its own. `driven` is
    set if `d_in` already includes the bias. No rate exceeds `ceiling`, in units of 2**-q. The results are written to `record`.
    """

    def __init__(
        self,
        *,
        layer: Layer,
        order: np.ndarray,
        rate_bits: int,
        ceiling: int,
        band: int,
        window: Window,
        record: DeltaRecord,
        driven: bool,
        frames: Frames | None = None,
        tag: str = "fixed_pt",
        name: str,
    ) -> None:
        super().__init__(
            layer=layer,
            order=order,
            rate_bits=rate_bits,
            ceiling=ceiling,
            band=band,
            window=window,
            record=record,
            driven=driven,
            frames=frames,
            tag=tag,
            name=name,
        )
        shape = record.counts.shape
        self.a_in = InPort(shape=shape)
        self.d_in = InPort(shape=shape)
        self.s_out = OutPort(shape=shape)
