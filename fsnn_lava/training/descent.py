"""Gradient descent with momentum, each weight's step in one go: torch walks over all weights four times and waits for their memory."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd.graph import increment_version

from fsnn_lava.compiled.compiler import compilable, compiled


@torch.no_grad()
def descend(optimiser: torch.optim.SGD) -> None:
    """What optimiser.step() does, up to rounding, with its state and without its hooks; what compiled code cannot take is left to it."""
    groups = optimiser.param_groups
    if not all(_plain(group, optimiser.state) for group in groups):
        optimiser.step()
        return
    for group in groups:
        numbers = (group["lr"], group["momentum"], group["weight_decay"])
        for parameter in group["params"]:
            if parameter.grad is not None:
                state = optimiser.state[parameter]
                if state.get("momentum_buffer") is None:
                    state["momentum_buffer"] = torch.zeros_like(parameter)
                parts = [part.view(-1).numpy() for part in (parameter, parameter.grad, state["momentum_buffer"])]
                move(*parts, *map(parts[0].dtype.type, numbers))
                increment_version(parameter)  # who differentiates what was computed before shall be told


def _plain(group: dict[str, Any], state: dict[torch.Tensor, Any]) -> bool:
    """Nothing but momentum and weight decay, of numbers that compiled code takes."""
    if group["momentum"] == 0 or group["dampening"] != 0 or group["nesterov"] or group["maximize"]:
        return False
    parts = [part for one in group["params"] for part in (one, one.grad, state[one].get("momentum_buffer") if one in state else None)]
    return all(part is None or compilable(part) for part in parts)


@compiled
def move(weights: Any, grads: Any, momenta: Any, rate: Any, momentum: Any, decay: Any) -> None:
    for i in range(len(weights)):
        speed = momentum * momenta[i] + (grads[i] + decay * weights[i])
        momenta[i] = speed
        weights[i] -= rate * speed
