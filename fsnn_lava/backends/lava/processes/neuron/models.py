from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from lava.magma.core.decorator import implements, requires, tag
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.resources import CPU
from lava.magma.core.sync.protocols.loihi_protocol import LoihiProtocol
from numpy.typing import NDArray

from fsnn_lava.backends.lava.neuron_record import NeuronRecord
from fsnn_lava.backends.lava.processes.neuron.process import SoftResetNeuron
from fsnn_lava.backends.lava.window import Window
from fsnn_lava.compiled.arithmetic import first_firing
from fsnn_lava.compiled.lava_step import lava_neuron_step
from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import DECAY_UNIT, STATE_FRACTION_BITS


class _Model(PyLoihiProcessModel):
    """A neuron that runs only inside its window and keeps the record; the arithmetic is in `_step`."""

    a_in: PyInPort
    s_out: PyOutPort
    u: np.ndarray

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._layer: Layer = proc_params["layer"]
        self._window: Window = proc_params["window"]
        self._record: NeuronRecord = proc_params["record"]
        order: NDArray[np.int64] = proc_params["order"]
        driven: bool = proc_params["driven"]
        self._threshold = self._layer.per_neuron(self._layer.threshold).reshape(-1)[order]
        self._bias = np.zeros_like(self._layer.bias.reshape(-1)) if driven else self._layer.bias.reshape(-1)[order]
        self._first = first_firing(self._threshold, strict=self._layer.strict)
        self._spikes: NDArray[Any] | None = None

    def run_spk(self) -> None:
        if self._spikes is None:
            self._spikes = np.zeros(self.s_out.shape, dtype=self.s_out._d_type)
        tau = self._window.own_time(self.time_step)
        current = self.a_in.recv()
        if tau == 1:
            self.u[:] = 0
            self._record.clear()
        if 1 <= tau <= self._window.steps:
            self._step(current, self._spikes)
            self._record.add(self._spikes, tau=tau, steps=self._window.steps, leak=self._layer.leak)
        else:
            self._spikes[:] = 0
        self.s_out.send(self._spikes)
        if tau == self._window.steps:
            self._record.potentials[...] = self.u

    @abstractmethod
    def _step(self, current: NDArray[Any], spikes: NDArray[Any]) -> None:
        """Advance `u` by one step and write the spikes."""


class _Integer(_Model):
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.uint8)
    u: np.ndarray = LavaPyType(np.ndarray, np.int32, precision=24)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._threshold = self._threshold << STATE_FRACTION_BITS
        self._bias = self._bias << STATE_FRACTION_BITS
        self._keep = DECAY_UNIT - self._layer.decay
        self._subtract = self._layer.reset == "subtract"

    def _step(self, current: NDArray[Any], spikes: NDArray[Any]) -> None:
        record = self._record
        lava_neuron_step(
            self.u,
            current,
            self._bias,
            self._threshold,
            self._first,
            self._keep,
            self._subtract,
            spikes,
            record.clipped,
            record.clip_count,
        )


@implements(proc=SoftResetNeuron, protocol=LoihiProtocol)
@requires(CPU)
@tag("fixed_pt")
class PySoftResetNeuron(_Integer):
    """The chip's integer arithmetic (E9) with 32-bit currents."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int32)


@implements(proc=SoftResetNeuron, protocol=LoihiProtocol)
@requires(CPU)
@tag("wide")
class PySoftResetNeuronWide(_Integer):
    """The same with 64-bit currents."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.int64)


@implements(proc=SoftResetNeuron, protocol=LoihiProtocol)
@requires(CPU)
@tag("floating_pt")
class PySoftResetNeuronFloat(_Model):
    """E1 in float64 and weight units: the same neuron without rounding or clipping."""

    a_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, float)
    s_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, float)
    u: np.ndarray = LavaPyType(np.ndarray, float)

    def _step(self, current: NDArray[Any], spikes: NDArray[Any]) -> None:
        self.u[:] = self._layer.leak * self.u + current + self._bias
        spikes[:] = self.u > self._threshold if self._layer.strict else self.u >= self._threshold
        if self._layer.reset == "subtract":
            self.u[:] -= spikes * self._threshold
        else:
            self.u[spikes > 0] = 0.0
