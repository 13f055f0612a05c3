"""Run SpikingJelly neurons: the nodes of its activation_based package, and the two containers that make them recurrent."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fsnn_lava.importing.sources.framework import Framework, Ran, Recurrence


class SpikingJelly(Framework):
    """Neurons of SpikingJelly run step by step, whatever their step_mode: both modes send the same spikes."""

    package: ClassVar[str] = "spikingjelly"
    title: ClassVar[str] = "SpikingJelly"
    remedy: ClassVar[str] = "IFNode or LIFNode with v_reset=None"

    def is_neuron(self, module: nn.Module) -> bool:
        """Return whether a module is a SpikingJelly node, or a recurrent container of one."""
        from spikingjelly.activation_based import neuron

        return isinstance(_node(module), neuron.BaseNode)

    def is_plain(self, module: nn.Module) -> bool:
        """Return whether `module` is one of SpikingJelly's torch layers with a step_mode."""
        from spikingjelly.activation_based import layer

        return isinstance(module, (layer.Linear, layer.Conv2d, layer.BatchNorm1d, layer.BatchNorm2d, layer.AvgPool2d, layer.Flatten))

    def is_idle(self, module: nn.Module) -> bool:
        """Return whether a module is SpikingJelly's dropout, which keeps its mask for all steps and does not derive from torch's."""
        from spikingjelly.activation_based import layer

        return isinstance(module, layer.Dropout)

    def apply(self, module: nn.Module, values: Tensor) -> Tensor:
        """Apply a SpikingJelly module step by step, whatever its step_mode."""
        from spikingjelly.activation_based import functional

        functional.set_step_mode(module, "s")
        return super().apply(module, values)

    def run(self, module: nn.Module, currents: Tensor) -> Ran:
        """Run a SpikingJelly node step by step."""
        from spikingjelly.activation_based import functional

        functional.set_step_mode(module, "s")
        functional.reset_net(module)
        spikes = torch.stack([module(current) for current in currents])
        return Ran(spikes, torch.as_tensor(_node(module).v))

    def recurrence(self, module: Any) -> Recurrence | None:
        """Return the weights of LinearRecurrentContainer, which also apply to its input; None for a bare node."""
        if not hasattr(module, "rc"):
            return None
        size = module.sub_module_out_features
        entry, own = module.rc.weight[:, :-size], module.rc.weight[:, -size:]
        return Recurrence(_matrix(own, None), entry=_matrix(entry, module.rc.bias))

    def without_recurrence(self, module: nn.Module) -> nn.Module:
        """Return the SpikingJelly node alone."""
        return _node(module)

    def stated_threshold(self, module: Any) -> float | None:
        """Return the node's `v_threshold`."""
        return float(module.v_threshold)


def _node(module: Any) -> Any:
    """Return the node in a linear recurrent container, or any other module unchanged."""
    from spikingjelly.activation_based import layer

    return module.sub_module if isinstance(module, layer.LinearRecurrentContainer) else module


def _matrix(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    made = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None, dtype=weight.dtype)
    with torch.no_grad():
        made.weight.copy_(weight)
        if bias is not None:
            made.bias.copy_(bias)
    return made
