"""Run snnTorch neurons: Leaky, RLeaky and the others in its package."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fsnn_lava.importing.sources.framework import Framework, Ran, Recurrence


class SnnTorch(Framework):
    """Neurons of snnTorch are called once per step; with `init_hidden` they keep their own state."""

    package: ClassVar[str] = "snntorch"
    title: ClassVar[str] = "snnTorch"
    remedy: ClassVar[str] = 'snn.Leaky(…, reset_mechanism="subtract")'

    def is_neuron(self, module: nn.Module) -> bool:
        """Return whether a module is snnTorch's SpikingNeuron."""
        import snntorch

        return isinstance(module, snntorch.SpikingNeuron)

    def run(self, module: Any, currents: Tensor) -> Ran:
        """Run an snnTorch neuron step by step."""
        module.init_hidden, module.output = True, False
        module.spike_grad = _in_input_dtype(module.spike_grad)
        module.reset_mem()
        spikes = torch.stack([module(current) for current in currents])
        return Ran(spikes.to(currents.dtype), module.mem.clone())

    def recurrence(self, module: nn.Module) -> Recurrence | None:
        """Return the recurrent part of an snnTorch layer: a matrix, a convolution, or one factor per neuron."""
        own: Any = getattr(module, "recurrent", None)
        if own is None or isinstance(own, (nn.Linear, nn.Conv2d)):
            return None if own is None else Recurrence(own)
        return Recurrence(own.V.detach())

    def without_recurrence(self, module: Any) -> nn.Module:
        """Return the snnTorch neuron with a recurrent current of zero."""
        if getattr(module, "recurrent", None) is not None:
            module.recurrent = _Nothing()
        module.reset_mem()
        return module

    def stated_threshold(self, module: Any) -> float | None:
        """Return the neuron's `threshold`."""
        return float(module.threshold.flatten()[0])


class _Nothing(nn.Module):
    def forward(self, spikes: Tensor) -> Tensor:
        return torch.zeros_like(spikes)


def _in_input_dtype(function: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Wrap a spike function so that its spikes have the dtype of the potential instead of always float32."""
    return lambda potential: function(potential).to(potential.dtype)
