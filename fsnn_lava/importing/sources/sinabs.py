"""Run sinabs neurons: IAF, LIF and their recurrent variants."""

from __future__ import annotations

import copy
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fsnn_lava.importing.sources.framework import Framework, Ran, Recurrence


class Sinabs(Framework):
    """Neurons of sinabs: a layer takes all steps at once, [B, T, *shape]."""

    package: ClassVar[str] = "sinabs"
    title: ClassVar[str] = "sinabs"
    remedy: ClassVar[str] = "IAF or LIF with spike_fn=SingleSpike, reset_fn=MembraneSubtract() and no min_v_mem"

    def is_neuron(self, module: nn.Module) -> bool:
        """Return whether a module is a sinabs layer with a time axis and a spike function."""
        from sinabs.layers import StatefulLayer

        squeezed = type(module).__name__.endswith("Squeeze")  # without a time axis
        return isinstance(module, StatefulLayer) and not squeezed and getattr(module, "spike_fn", None) is not None

    def copied(self, module: Any) -> nn.Module:
        """Return a copy; a recurrent layer is rebuilt, since sinabs cannot copy one."""
        if getattr(module, "rec_connect", None) is None:
            return super().copied(module)
        return type(module)(**copy.deepcopy({**module._param_dict, "rec_connect": module.rec_connect, "shape": None}))

    def run(self, module: Any, currents: Tensor) -> Ran:
        """Run a sinabs layer on all steps at once, from a state of zeros."""
        module.init_state_with_shape((currents.shape[1], *currents.shape[2:]))
        module.double()
        if getattr(module, "rec_connect", None) is not None:
            module.rec_connect = _InDouble(module.rec_connect)
        spikes = module(currents.transpose(0, 1)).transpose(0, 1)
        return Ran(spikes.to(currents.dtype), module.v_mem.clone())

    def recurrence(self, module: Any) -> Recurrence | None:
        """Return the recurrent part of a sinabs layer, its `rec_connect`."""
        own = getattr(module, "rec_connect", None)
        return None if own is None else Recurrence(own)

    def without_recurrence(self, module: Any) -> nn.Module:
        """Return the sinabs layer with a recurrent current of zero."""
        if getattr(module, "rec_connect", None) is not None:
            module.rec_connect = _Nothing()
        module.init_state_with_shape((1, 1))
        return module

    def stated_threshold(self, module: Any) -> float | None:
        """Return the layer's `spike_threshold`."""
        return float(module.spike_threshold)


class _InDouble(nn.Module):
    """A recurrent connection for spikes, which are always float32."""

    def __init__(self, connection: nn.Module) -> None:
        super().__init__()
        self.connection = connection

    def forward(self, spikes: Tensor) -> Tensor:
        result: Tensor = self.connection(spikes.double())
        return result


class _Nothing(nn.Module):
    def forward(self, spikes: Tensor) -> Tensor:
        return torch.zeros_like(spikes)
