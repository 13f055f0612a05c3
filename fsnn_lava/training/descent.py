"""Gradient descent with momentum, in one pass over the weights.

The time that torch's step takes relative to ours (python bench/kernels.py, torch 2.13 on two busy cores): fused=True takes 6 to 25 times
as long on two threads, and 0.7 to 1.0 times on one (--threads 1); foreach=True 16 to 41 and 1.5 to 3.6 times. Before 2.4, torch has no
fused SGD on the CPU.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.autograd.graph import increment_version

from fsnn_lava.compiled.compiler import compiler_accepts
from fsnn_lava.compiled.sgd import sgd_step
from fsnn_lava.training.momentum_sgd import MomentumSGD


@torch.no_grad()
def descend(optimiser: MomentumSGD | torch.optim.SGD) -> None:
    """Take a step of gradient descent, as optimiser.step() does up to rounding, on the optimiser's own state but without its hooks.

    It calls optimiser.step() if compiled code does not apply: for options other than momentum and weight decay, other dtypes or devices.
    """
    groups = optimiser.param_groups
    if not all(_applies(group, optimiser.state) for group in groups):
        optimiser.step()
        return
    for group in groups:
        numbers = (group["lr"], group["momentum"], group["weight_decay"])
        for parameter in group["params"]:
            if parameter.grad is not None:
                state = optimiser.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = torch.zeros_like(parameter)
                arrays = [part.view(-1).numpy() for part in (parameter, parameter.grad, state["momentum_buffer"])]
                sgd_step(*arrays, *map(arrays[0].dtype.type, numbers))
                increment_version(parameter)  # autograd must notice the change, as it does after optimiser.step()


def _applies(group: dict[str, Any], state: Mapping[torch.Tensor, Any]) -> bool:
    """Return whether the group uses only momentum and weight decay, and compiled code accepts all its tensors."""
    if group["momentum"] == 0 or group["dampening"] != 0 or group["nesterov"] or group["maximize"]:
        return False
    parts = [part for one in group["params"] for part in (one, one.grad, state[one].get("momentum_buffer") if one in state else None)]
    return all(part is None or compiler_accepts(part) for part in parts)
