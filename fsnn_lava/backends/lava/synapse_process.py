"""Base class of the dense, convolutional and transposed synapse processes: messages in, currents out one step later."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
from lava.magma.core.model.py.model import PyLoihiProcessModel
from lava.magma.core.model.py.ports import PyInPort, PyOutPort
from lava.magma.core.model.py.type import LavaPyType
from lava.magma.core.process.ports.ports import InPort, OutPort
from lava.magma.core.process.process import AbstractProcess
from numpy.typing import NDArray

from fsnn_lava.backends.lava.scatter import Scatter
from fsnn_lava.backends.lava.window import Window


class SynapseProcess(AbstractProcess):
    """A synapse: a_out[t] = shift(weight @ s_in[t - delay], 6 + exponent), [B, n_target], units 2**-6 (E9).

    Neurons are in (H, W, C) order. The last message of feedback arrives at the first step of the next period, when every layer is
    inactive; with a longer delay, the last message arrives at the end of the target's window. With `constant`, the message of the
    first step of a period is used for the whole period, whatever the delay.
    """

    def __init__(
        self,
        *,
        scatter: Scatter,
        batch: int,
        window: Window,
        delay: int = 1,
        constant: bool = False,
        tag: str = "fixed_pt",
        name: str,
    ) -> None:
        super().__init__(scatter=scatter, window=window, delay=delay, constant=constant, tag=tag, name=name)
        self.s_in = InPort(shape=(batch, scatter.sources))
        self.a_out = OutPort(shape=(batch, scatter.targets))


class SynapseModel(PyLoihiProcessModel):
    """A synapse model that sends before it receives, so that cycles of synapses and neurons do not deadlock."""

    s_in: PyInPort = LavaPyType(PyInPort.VEC_DENSE, np.uint8)
    a_out: PyOutPort = LavaPyType(PyOutPort.VEC_DENSE, np.int32)

    def __init__(self, proc_params: Any) -> None:
        super().__init__(proc_params)
        self._scatter: Scatter = proc_params["scatter"]
        self._window: Window = proc_params["window"]
        self._constant: bool = proc_params["constant"]
        self._under_way: deque[NDArray[Any]] = deque()  # messages of the last delay - 1 steps
        self._held = 0 if self._constant else int(proc_params["delay"]) - 1
        self._current: NDArray[Any] | None = None

    def run_spk(self) -> None:
        """Run one Lava step of a synapse process: send the current of the last messages, then receive new ones."""
        if self._current is None:
            self._current = np.zeros(self.a_out.shape, dtype=self.a_out._d_type)
        self.a_out.send(self._current)
        messages = self.s_in.recv()
        if self._held:
            self._under_way.append(messages.copy())
            if len(self._under_way) <= self._held:
                return
            messages = self._under_way.popleft()
        if not self._constant or self._window.is_new(self.time_step):
            self._scatter(messages, self._current)
