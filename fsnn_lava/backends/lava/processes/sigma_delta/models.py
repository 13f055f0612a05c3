from __future__ import annotations

from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from numpy.typing import NDArray

from fsnn_lava.backends.lava.delta_record import DeltaRecord
from fsnn_lava.backends.lava.frames import Frames
from fsnn_lava.backends.lava.processes.sigma_delta.process import SigmaDeltaNeuron
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.compiled.arithmetic import CLIPPED_HIGH, CLIPPED_LOW, shift
from fsnn_lava.compiled.lava_step import lava_delta_step
from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import STATE_FRACTION_BITS, STATE_MAX


class _Model(PyLoihiProcessModel):
    a_in: PyInPort
    d_in: PyInPort
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        layer: Layer = proc_params["layer"]
        self._window: Window = proc_params["window"]
        self._record: DeltaRecord = proc_params["record"]
        self._rate_bits, self._ceiling, self._band = (int(proc_params[name]) for name in ("rate_bits", "ceiling", "band"))
        order: NDArray[np.int64] = proc_params["order"]
        bias = layer.bias.reshape(-1)[order].astype(np.int64) << self._rate_bits
        self._bias = np.zeros_like(bias) if proc_params["driven"] else bias
        thresholds = layer.per_neuron(layer.threshold).reshape(-1)[order]
        self._shifts = np.array([int(threshold).bit_length() - 1 for threshold in thresholds], dtype=np.int64)
        self._frames: Frames | None = proc_params["frames"]
        self._collected = np.zeros(self._record.counts.shape if self._frames is not None else (0, 0), dtype=np.int64)
        self._drive = np.zeros(self._record.counts.shape, dtype=np.int64)
        self._changes = np.zeros(self._record.counts.shape, dtype=np.int32)

    def run_spk(self) -> None:
        tau, record = self._window.own_time(self.time_step), self._record
        received, given = self.a_in.recv(), self.d_in.recv()
        if tau == 1:
            record.clear()
            self._collected[:] = 0
        if self._frames is None and tau == 1:
            self._take_drive(given.astype(np.int64) << (self._rate_bits - STATE_FRACTION_BITS))
        elif self._frames is not None and 1 <= tau <= self._window.steps:
            self._collected += self._frames.weights[tau - 1] * given
            self._take_drive(shift(self._collected, self._frames.shift))
        if 1 <= tau <= self._window.steps:
            lava_delta_step(
                record.sums,
                received.astype(np.int64, copy=False),
                self._drive,
                self._shifts,
                self._ceiling,
                self._band,
                record.told,
                self._changes,
                record.clipped,
                record.clip_count,
            )
            record.add(self._changes, tau=tau, steps=self._window.steps)
        else:
            self._changes[:] = 0
        self.s_out.send(self._changes)

    def _take_drive(self, given: NDArray[np.int64]) -> None:
        """Set D of E15 from the input in units of 2**-q; it is clipped, and every clip is counted."""
        raw = given + self._bias
        low, high = raw < -STATE_MAX, raw > STATE_MAX
        self._record.clipped[...] |= (low * CLIPPED_LOW + high * CLIPPED_HIGH).astype(np.uint8)
        self._record.clip_count[...] += (low | high).sum(axis=1)
        self._drive[:] = np.clip(raw, -STATE_MAX, STATE_MAX)


@implements(proc=SigmaDeltaNeuron, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PySigmaDeltaNeuron(_Model):
    """A sigma-delta neuron with 32-bit input."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int64)
    d_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)


@implements(proc=SigmaDeltaNeuron, protocol=LoihiProtocol)
@requires(CPU)
@tag("wide")
class PySigmaDeltaNeuronWide(_Model):
    """A sigma-delta neuron with 64-bit input."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int64)
    d_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int64)
