"""Flatten nested nn.Sequential into a chain of modules in the order in which they run; anything else is rejected with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import nn

from fsnn_lava.errors import BadArgument

LINEAR = (nn.Linear, nn.Conv2d)
NORM = (nn.BatchNorm1d, nn.BatchNorm2d)
NOTHING = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.AlphaDropout)  # in eval mode
KNOWN = (*LINEAR, *NORM, *NOTHING, nn.AvgPool2d, nn.Flatten, nn.ReLU)

_MAXIMUM = (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d, nn.AdaptiveMaxPool1d, nn.AdaptiveMaxPool2d, nn.FractionalMaxPool2d)
_SOFTMAX = (nn.Softmax, nn.Softmax2d, nn.LogSoftmax, nn.Softmin)
_RECURRENT = (nn.RNNBase, nn.RNNCellBase, nn.Transformer, nn.MultiheadAttention)


@dataclass(frozen=True)
class Link:
    """A module and its name in the network, such as "features.3"; `kind` is set if the module stands in for a node of that kind."""

    name: str
    module: nn.Module
    kind: str = ""

    def __str__(self) -> str:
        return f"layer {self.name!r} ({self.kind or type(self.module).__name__})"


Test = Callable[[nn.Module], bool]


def _never(_module: nn.Module) -> bool:
    return False


@dataclass(frozen=True)
class Kinds:
    """Tests for the modules of a framework: neurons, containers, modules that act like their torch base class, and idle ones."""

    is_neuron: Test = _never
    is_container: Test = _never
    is_plain: Test = _never
    is_idle: Test = _never


TORCH = Kinds()


def links(module: nn.Module, kinds: Kinds = TORCH) -> tuple[Link, ...]:
    """Return the chain of a network's modules: each layer of neurons is one link, idle modules are left out.

    Raises BadArgument for modules that cannot be converted.
    """
    if not isinstance(module, nn.Module):
        raise BadArgument(f"the network must be an nn.Module, got {type(module).__name__}: pass nn.Sequential(…) of its layers")
    if not _is_sequential(module, kinds):
        raise BadArgument(
            f"{type(module).__name__} has its own forward(), which may call its modules in any order and as often as it likes: pass "
            "nn.Sequential(…) of its layers in the order in which they run"
        )
    return tuple(_links(module, "", kinds))


def _links(module: nn.Module, prefix: str, kinds: Kinds) -> Iterator[Link]:
    for name, child in module.named_children():
        link = Link(prefix + name, child)
        if kinds.is_neuron(child):
            yield link
        elif _is_sequential(child, kinds):
            yield from _links(child, f"{link.name}.", kinds)
        elif not kinds.is_idle(child):
            _check(link, kinds)
            yield link


def _is_sequential(module: nn.Module, kinds: Kinds) -> bool:
    """Return whether a module does nothing but call its children in order."""
    return isinstance(module, nn.Sequential) and (type(module).forward is nn.Sequential.forward or kinds.is_container(module))


def _check(link: Link, kinds: Kinds) -> None:
    module = link.module
    known = next((kind for kind in KNOWN if isinstance(module, kind)), None)
    if known is not None and (type(module).forward is known.forward or kinds.is_plain(module)):
        return
    raise BadArgument(f"{link} {_reason(module)}")


def _reason(module: nn.Module) -> str:
    if isinstance(module, _MAXIMUM):
        return "takes a maximum, which a sum of spikes cannot compute: replace it with nn.AvgPool2d and train again for a few epochs"
    if isinstance(module, _SOFTMAX):
        return "cannot be computed by spiking neurons: remove it if it is last (the largest output stays the same), elsewhere use nn.ReLU"
    if isinstance(module, _RECURRENT):
        return "has gates or attention, which spiking neurons cannot compute: use recurrent spiking layers instead"
    if type(module).__module__ == "torch.nn.modules.activation":
        return "is not a rectified linear function, the only one that rates can represent: train with nn.ReLU"
    if isinstance(module, (nn.AdaptiveAvgPool1d, nn.AdaptiveAvgPool2d)):
        return "chooses its window by the size of its input: replace it with nn.AvgPool2d with that window"
    if next(module.children(), None) is not None:
        return "has its own forward(), which may call its modules in any order: use nn.Sequential(…) of them, or write the graph"
    names = ", ".join(kind.__name__ for kind in (*LINEAR, *NORM, nn.AvgPool2d, nn.Flatten, nn.Dropout, nn.ReLU))
    return f"is not supported: convert it to {names} or to a spiking neuron of a framework in docs/importing.md"
