"""Stochastic gradient descent with momentum and weight decay, like torch.optim.SGD, but without importing torch's compiler.

When a torch optimiser is created, it imports torch._dynamo: 800 modules, which take several seconds of a short training run.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor

_REST = {"dampening": 0, "nesterov": False, "maximize": False, "foreach": None, "differentiable": False, "fused": None}


class MomentumSGD:
    """SGD with the parameter groups, state and checkpoints of torch.optim.SGD, which takes over where `descend` does not apply.

    Attributes:
        param_groups: one group of all parameters; the learning rate "lr" may be changed between steps.
        state: the "momentum_buffer" of each parameter that has had a gradient.
    """

    def __init__(self, parameters: Iterable[Tensor], *, lr: float, momentum: float, weight_decay: float) -> None:
        given = list(parameters)
        self.param_groups: list[dict[str, Any]] = [{"params": given, "lr": lr, "momentum": momentum, "weight_decay": weight_decay, **_REST}]
        self.state: dict[Tensor, dict[str, Any]] = {parameter: {} for parameter in given}

    def step(self) -> None:
        """Take one step, as torch.optim.SGD does."""
        torchs = self._torchs()
        torchs.step()
        self._take_over(torchs)

    def state_dict(self) -> dict[str, Any]:
        """Return the state in the format of torch.optim.SGD, in which parameters are numbered."""
        group = self.param_groups[0]
        state = {number: self.state[parameter] for number, parameter in enumerate(group["params"]) if self.state[parameter]}
        return {"state": state, "param_groups": [{**group, "params": list(range(len(group["params"])))}]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state of this class or of torch.optim.SGD; raises the same errors as torch."""
        torchs = self._torchs()
        torchs.load_state_dict(state_dict)
        self._take_over(torchs)

    def _torchs(self) -> torch.optim.SGD:
        """Return torch's optimiser on the same parameters, with the same settings and state."""
        parameters = self.param_groups[0]["params"]
        made = torch.optim.SGD(parameters, **{name: value for name, value in self.param_groups[0].items() if name != "params"})
        made.state.update({parameter: self.state[parameter] for parameter in parameters if self.state[parameter]})
        return made

    def _take_over(self, torchs: torch.optim.SGD) -> None:
        self.param_groups = torchs.param_groups
        self.state = {parameter: torchs.state.get(parameter, {}) for parameter in self.param_groups[0]["params"]}
