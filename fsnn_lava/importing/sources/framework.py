"""What the importer needs to know about a framework."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from dataclasses import dataclass
from importlib import metadata
from typing import ClassVar

import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.chain import Kinds, Link


@dataclass(frozen=True, eq=False)
class Ran:
    """Spikes [T, B, *shape] of neurons that started at rest, and the potential [B, *shape] that the framework keeps after the last step."""

    spikes: Tensor
    potential: Tensor | None


@dataclass(frozen=True, eq=False)
class Recurrence:
    """What a recurrent layer does with its own spikes of the step before, and with its input, before both are added."""

    own: nn.Linear | nn.Conv2d | Tensor  # a tensor is a factor for each neuron, or one for all
    entry: nn.Linear | None = None


class Framework(ABC):
    """A framework whose neurons can be run and measured. Nothing is imported unless the user's network comes from it."""

    package: ClassVar[str]  # as it is imported and installed
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
        """Whether a module of any framework is a layer of this one's spiking neurons."""

    def is_container(self, _module: nn.Module) -> bool:
        """Whether an nn.Sequential with a forward of its own calls its children in order."""
        return False

    def is_plain(self, _module: nn.Module) -> bool:
        """Whether a module does in every step what its base class in torch does."""
        return False

    def is_idle(self, _module: nn.Module) -> bool:
        """Whether a module of this framework returns its input in eval mode."""
        return False

    @property
    def kinds(self) -> Kinds:
        """How to read a network of this framework."""
        return Kinds(self.is_neuron, self.is_container, self.is_plain, self.is_idle)

    def apply(self, module: nn.Module, values: Tensor) -> Tensor:
        """A module without a state on all steps, [T, B, *shape]; `module` is made by `prepared`."""
        result: Tensor = module(values.flatten(0, 1)).unflatten(0, values.shape[:2])
        return result

    def prepared(self, module: nn.Module) -> nn.Module:
        """A copy in float64 and eval mode, which may be changed."""
        return self.copied(module).double().eval().requires_grad_(False)

    def copied(self, module: nn.Module) -> nn.Module:
        """A copy; states that belong to an autograd graph are copied without it."""
        kept = [value for one in module.modules() for value in _held(one)]
        memo: dict[int, object] = {id(value): value.detach().clone() for value in kept if not value.is_leaf}
        return copy.deepcopy(module, memo)

    @abstractmethod
    def run(self, module: nn.Module, currents: Tensor) -> Ran:
        """Run a layer of neurons, made by `prepared`, from rest on currents [T, B, *shape]."""

    @abstractmethod
    def recurrence(self, module: nn.Module) -> Recurrence | None:
        """The recurrent part of a layer; None if it has none."""

    @abstractmethod
    def without_recurrence(self, module: nn.Module) -> nn.Module:
        """The neurons alone and at rest, for the probe; `module` is a copy that may be changed."""

    @abstractmethod
    def stated_threshold(self, module: nn.Module) -> float | None:
        """What the module calls its threshold."""


def _held(module: nn.Module) -> list[Tensor]:
    """All tensors that a module itself holds, in its attributes and in dicts of them."""
    values = [inner for value in vars(module).values() for inner in (value.values() if isinstance(value, dict) else [value])]
    return [value for value in values if isinstance(value, Tensor)]


def single_neuron(module: nn.Module, link: Link) -> nn.Module:
    """The neurons with every parameter as a single number, so that any number of them can be run; BadArgument if they differ."""
    for part in module.modules():
        for name, value in [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]:
            if value.numel() <= 1:
                continue
            if not bool((value == value.flatten()[0]).all()):
                low, high = (float(bound) for bound in torch.aminmax(value))
                raise BadArgument(f"{link}: {name} differs between its neurons ({low:g} … {high:g}); all neurons of a layer must share it")
            value.data = value.data.flatten()[0].clone()
    return module
