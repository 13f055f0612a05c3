"""What the importer needs to know about a framework."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import metadata
from typing import ClassVar

from torch import Tensor, nn

from fsnn_lava.importing.chain import Kinds


@dataclass(frozen=True, eq=False)
class Ran:
    """Spikes [T, B, *shape] of neurons that started at rest, and the framework's potential [B, *shape] after the last step."""

    spikes: Tensor
    potential: Tensor | None


@dataclass(frozen=True, eq=False)
class Recurrence:
    """What a recurrent layer applies to its own spikes from the previous step, and to its input, before the two are added."""

    own: nn.Linear | nn.Conv2d | Tensor  # a tensor is one factor per neuron, or one for all
    entry: nn.Linear | None = None


class Framework(ABC):
    """A framework whose neurons can be run and measured. It is only imported if the user's network comes from it."""

    package: ClassVar[str]  # name for import and installation
    title: ClassVar[str]
    remedy: ClassVar[str]  # which of its neurons subtract their threshold and send single spikes

    @property
    def version(self) -> str:
        """The installed version, such as "1.0.0"."""
        return metadata.version(self.package)

    def __str__(self) -> str:
        return f"{self.title} {self.version}"

    @abstractmethod
    def is_neuron(self, module: nn.Module) -> bool:
        """Return whether a module is a layer of this framework's spiking neurons."""

    def is_container(self, _module: nn.Module) -> bool:
        """Return whether an nn.Sequential with its own forward() calls its children in order."""
        return False

    def is_plain(self, _module: nn.Module) -> bool:
        """Return whether a module does in every step what its torch base class does."""
        return False

    def is_idle(self, _module: nn.Module) -> bool:
        """Return whether a module of this framework returns its input unchanged in eval mode."""
        return False

    @property
    def kinds(self) -> Kinds:
        """The kinds of modules in this framework, for reading a network."""
        return Kinds(self.is_neuron, self.is_container, self.is_plain, self.is_idle)

    def apply(self, module: nn.Module, values: Tensor) -> Tensor:
        """Apply a stateless module to all steps, [T, B, *shape]; `module` comes from `prepared`."""
        result: Tensor = module(values.flatten(0, 1)).unflatten(0, values.shape[:2])
        return result

    def prepared(self, module: nn.Module) -> nn.Module:
        """Return a copy in float64 and eval mode that may be modified."""
        return self.copied(module).double().eval().requires_grad_(False)

    def copied(self, module: nn.Module) -> nn.Module:
        """Return a copy; states that belong to an autograd graph are detached."""
        kept = [value for one in module.modules() for value in _held(one)]
        memo: dict[int, object] = {id(value): value.detach().clone() for value in kept if not value.is_leaf}
        return copy.deepcopy(module, memo)

    @abstractmethod
    def run(self, module: nn.Module, currents: Tensor) -> Ran:
        """Run a layer of neurons, which comes from `prepared`, from rest on currents [T, B, *shape]."""

    @abstractmethod
    def recurrence(self, module: nn.Module) -> Recurrence | None:
        """Return the recurrent part of a layer; None if it has none."""

    @abstractmethod
    def without_recurrence(self, module: nn.Module) -> nn.Module:
        """Return the neurons alone and at rest, for the probe; `module` is a copy that may be modified."""

    @abstractmethod
    def stated_threshold(self, module: nn.Module) -> float | None:
        """Return the threshold that the module itself states."""


def _held(module: nn.Module) -> list[Tensor]:
    """Return all tensors that a module itself holds, in its attributes and in dicts among them."""
    values = [inner for value in vars(module).values() for inner in (value.values() if isinstance(value, dict) else [value])]
    return [value for value in values if isinstance(value, Tensor)]
