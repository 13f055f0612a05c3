"""Run norse neurons: cells without a time axis, such as LIFBoxCell, in nn.Sequential or norse.torch.SequentialState."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fsnn_lava.importing.sources.framework import Framework, Ran, Recurrence


class Norse(Framework):
    """Neurons of norse: a cell takes its state and returns the next one."""

    package: ClassVar[str] = "norse"
    title: ClassVar[str] = "norse"
    remedy: ClassVar[str] = "LIFBoxCell(LIFBoxParameters(reset_method=reset_subtract))"

    def is_neuron(self, module: nn.Module) -> bool:
        """Return whether a module is a norse cell without recurrent weights."""
        from norse.torch.module.snn import SNNCell

        return isinstance(module, SNNCell)

    def is_container(self, module: nn.Module) -> bool:
        """Return whether a module is a SequentialState, which passes states along with the values."""
        from norse.torch import SequentialState

        return type(module) is SequentialState

    def run(self, module: Any, currents: Tensor) -> Ran:
        """Run a norse cell step by step from its own initial state."""
        state, spikes = None, []
        for current in currents:
            out, state = module(current, state)
            spikes.append(out)
        potential = getattr(state, "v", None)
        return Ran(torch.stack(spikes).to(currents.dtype), potential)

    def recurrence(self, _module: nn.Module) -> Recurrence | None:
        """Return None: norse's recurrent cells filter their input, which an FSNN does not."""
        return None

    def without_recurrence(self, module: nn.Module) -> nn.Module:
        """Return the cell itself."""
        return module

    def stated_threshold(self, module: Any) -> float | None:
        """Return the cell's `p.v_th`."""
        return float(torch.as_tensor(module.p.v_th).flatten()[0])
