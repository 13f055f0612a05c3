"""Turn the linear nodes of an NIR graph into torch modules."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.chain import Link
from fsnn_lava.importing.nir_file import NirNode
from fsnn_lava.importing.nir_neurons import NEURONS
from fsnn_lava.nn.operators import Pair

_Kind = TypeVar("_Kind", nn.Linear, nn.Conv2d)
INTEGRATORS = ("I", "LI")  # neurons that do not fire, allowed only at the end
BORDERS = ("Input", "Output")  # of inner graphs; they do nothing
LINEAR = ("Linear", "Affine", "Conv2d", "AvgPool2d", "SumPool2d", "Scale", "Flatten")
_REMEDIES = {
    "CubaLIF": "it filters its input through a synaptic current, which an FSNN does not have: train with LIF or IF",
    "CubaLI": "it filters its input through a synaptic current, which an FSNN does not have: end in a linear node",
    "Delay": "the connections of an FSNN have no delays of their own: train without them",
    "Threshold": "it has no potential: replace it with IF",
    "Conv1d": "only images are supported: write it as Conv2d with a height of 1",
}

_UNKNOWN = f"this kind of node is not supported: use {', '.join(LINEAR)}, IF or LIF"


def check_nir_module_kind(node: NirNode) -> None:
    """Raise BadArgument if a kind of NIR node has no counterpart in an FSNN."""
    if node.kind not in (*LINEAR, *NEURONS, *INTEGRATORS, *BORDERS):
        raise BadArgument(f"{node}: {_REMEDIES.get(node.kind, _UNKNOWN)}")


def linear_links(nodes: Sequence[NirNode]) -> list[Link]:
    """Turn a path of linear nodes into modules; the factors of Scale and SumPool2d are folded into the weights next to them."""
    links: list[Link] = []
    factor = 1.0
    for node in nodes:
        if node.kind in BORDERS:
            continue
        if node.kind in INTEGRATORS:
            raise BadArgument(f"{node}: non-spiking neurons are only supported between the last layer and the output")
        if node.kind == "Scale":
            factor *= _only(node, "scale")
        else:
            module = _module(node)
            factor *= math.prod(_pair(node, "kernel_size")) if node.kind == "SumPool2d" else 1.0
            links.append(Link(node.name, module))
        weighted = [link.module for link in links if isinstance(link.module, (nn.Linear, nn.Conv2d))]
        if factor != 1.0 and weighted:
            _scale(weighted[-1], factor, with_bias=not isinstance(links[-1].module, (nn.Linear, nn.Conv2d)) or node.kind == "Scale")
            factor = 1.0
    if factor != 1.0:
        raise BadArgument(f"{nodes[-1]}: there is no linear node into which its factor {factor:g} could be folded")
    return links


def _scale(module: nn.Linear | nn.Conv2d, factor: float, *, with_bias: bool) -> None:
    module.weight.mul_(factor)
    if with_bias and module.bias is not None:
        module.bias.mul_(factor)


def _module(node: NirNode) -> nn.Module:
    if node.kind in ("Linear", "Affine"):
        weight = _tensor(node, "weight", axes=2)
        made = nn.Linear(weight.shape[1], weight.shape[0], bias=node.kind == "Affine", dtype=torch.float64)
        return _filled(made, weight, _tensor(node, "bias", axes=1) if node.kind == "Affine" else None)
    if node.kind == "Conv2d":
        return _convolution(node)
    if node.kind in ("AvgPool2d", "SumPool2d"):
        return nn.AvgPool2d(_pair(node, "kernel_size"), _pair(node, "stride"), _pair(node, "padding"))
    if node.kind == "Flatten":
        start, end = _only(node, "start_dim"), _only(node, "end_dim")
        if start != 0:
            raise BadArgument(f"{node}: it must flatten all dimensions, starting at 0, got {start:g} … {end:g}")
        return nn.Flatten()
    raise AssertionError(f"{node} has been checked to be linear")


def _convolution(node: NirNode) -> nn.Conv2d:
    weight = _tensor(node, "weight", axes=4)
    if "padding" in node.texts:
        raise BadArgument(f"{node}: padding must be given as numbers, got {node.texts['padding']!r}")
    groups = int(_only(node, "groups"))
    if groups < 1 or weight.shape[0] % groups:
        raise BadArgument(f"{node}: {groups} groups do not divide {weight.shape[0]} channels")
    made = nn.Conv2d(
        weight.shape[1] * groups,
        weight.shape[0],
        (int(weight.shape[2]), int(weight.shape[3])),
        _pair(node, "stride"),
        _pair(node, "padding"),
        _pair(node, "dilation"),
        groups,
        dtype=torch.float64,
    )
    return _filled(made, weight, _tensor(node, "bias", axes=1))


def _filled(module: _Kind, weight: Tensor, bias: Tensor | None) -> _Kind:
    module.requires_grad_(False)
    if bias is not None and module.bias is not None:
        if len(bias) != len(weight):
            raise BadArgument(f"a bias of {len(bias)} numbers does not fit {len(weight)} outputs")
        module.bias.copy_(bias)
    module.weight.copy_(weight)
    return module


def _tensor(node: NirNode, name: str, *, axes: int) -> Tensor:
    value = node.numbers.get(name)
    if value is None or value.ndim != axes or value.size == 0 or not bool(np.isfinite(value).all()):
        raise BadArgument(f"{node}: {name!r} must be an array of finite numbers with {axes} axes")
    return torch.from_numpy(np.ascontiguousarray(value))


def _pair(node: NirNode, name: str) -> Pair:
    values = node.numbers.get(name, np.zeros(0)).reshape(-1)
    if len(values) not in (1, 2) or np.any(values != np.rint(values)) or np.any(values < 0) or np.any(values > 2**20):
        raise BadArgument(f"{node}: {name!r} must be one or two non-negative integers")
    return int(values[0]), int(values[-1])


def _only(node: NirNode, name: str) -> float:
    values = node.numbers.get(name, np.zeros(0)).reshape(-1)
    if len(values) == 0 or np.any(values != values[0]) or not np.isfinite(values[0]):
        raise BadArgument(f"{node}: {name!r} must be one number for all neurons")
    return float(values[0])
