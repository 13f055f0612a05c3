"""Neurons of a made-up framework, whose every rule can be chosen."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from fsnn_lava.importing.sources.framework import Framework, Ran, Recurrence


class Made(nn.Module):
    """A layer of neurons; `reset` is "before" or "after" (the leak), "zero", "half" or "none". `says` is a name that nothing else reads."""

    def __init__(
        self,
        *,
        leak: float = 0.9,
        theta: float = 1.0,
        reset: str = "before",
        strict: bool = False,
        gain: float = 1.0,
        delay: int = 0,
        start: float = 0.0,
        floor: float | None = None,
        filtered: float = 0.0,
        recurrent: nn.Module | None = None,
        winner: bool = False,
        says: str = "subtract",
    ) -> None:
        super().__init__()
        self.leak, self.theta, self.reset, self.strict, self.says = leak, theta, reset, strict, says
        self.gain, self.delay, self.start, self.floor, self.filtered = gain, delay, start, floor, filtered
        self.recurrent, self.winner = recurrent, winner
        self.potential = torch.zeros(0)

    def forward(self, currents: Tensor) -> Tensor:
        u, synapse = torch.full_like(currents[0], self.start), torch.zeros_like(currents[0])
        spikes, out = torch.zeros_like(u), [torch.zeros_like(u)] * self.delay
        for current in currents:
            synapse = self.filtered * synapse + current + (0.0 if self.recurrent is None else self.recurrent(spikes))
            u = self.leak * u + self.gain * synapse - (self.theta * spikes if self.reset == "after" else 0.0)
            if self.floor is not None:
                u = u.clamp(min=self.floor)
            spikes = (u > self.theta if self.strict else u >= self.theta).to(u.dtype)
            if self.winner:
                spikes = spikes * (u == u.amax(-1, keepdim=True))
            if self.reset == "before":
                u = u - self.theta * spikes
            elif self.reset == "zero":
                u = u * (1.0 - spikes)
            elif self.reset == "half":
                u = u * (1.0 - 0.5 * spikes)
            out.append(spikes)
        self.potential = u
        return torch.stack(out)[: len(currents)]


class MadeFramework(Framework):
    """The framework of these neurons."""

    package, title, remedy = "pytest", "Made", 'reset="before"'

    def is_neuron(self, module: nn.Module) -> bool:
        return isinstance(module, Made)

    def run(self, module: Any, currents: Tensor) -> Ran:
        return Ran(module(currents), module.potential)

    def recurrence(self, module: Any) -> Recurrence | None:
        return None if module.recurrent is None else Recurrence(module.recurrent)

    def without_recurrence(self, module: Any) -> nn.Module:
        module.recurrent = None
        return module

    def stated_threshold(self, module: Any) -> float | None:
        return float(module.theta)
