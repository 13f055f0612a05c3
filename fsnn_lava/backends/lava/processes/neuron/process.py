from __future__ import annotations

import numpy as np
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from lava.magma.core.process.variable import Var

from fsnn_lava.backends.lava.neuron_record import NeuronRecord
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.ir.network import Layer


class SoftResetNeuron(AbstractProcess):
    """A layer of neurons (E9), B samples at once, in (H, W, C) order; active in its window, at rest (u = 0, silent) outside.

    fixed_pt: `a_in` is everything that arrives except the bias, in units of 2**-6. floating_pt: E1, `a_in` in the layer's weight units.
    `driven` is set if `a_in` already includes the bias. The results are written to `record`.
    """

    def __init__(
        self,
        *,
        layer: Layer,
        order: np.ndarray,
        window: Window,
        record: NeuronRecord,
        batch: int,
        driven: bool = False,
        tag: str = "fixed_pt",
        name: str,
    ) -> None:
        super().__init__(layer=layer, order=order, window=window, record=record, driven=driven, tag=tag, name=name)
        self.a_in = InPort(shape=(batch, layer.size))
        self.s_out = OutPort(shape=(batch, layer.size))
        self.u = Var(shape=(batch, layer.size), init=0)
