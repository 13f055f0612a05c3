"""Split a chain of modules into blocks: each block is a layer of neurons and everything linear before it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count

import torch
from torch import nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.chain import Link
from fsnn_lava.importing.linear_path import Path, fold_path
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.graph import INPUT, READOUT
from fsnn_lava.nn.modules import from_modules
from fsnn_lava.nn.neurons import LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Dense, Shape

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_MARGIN = 1.01  # ratio of the feedback limit to the largest norm that it must allow


@dataclass(frozen=True, eq=False)
class Block:
    """A layer of neurons, and the linear path into it from the previous layer or from the input."""

    name: str  # the layer's name in our network
    neurons: Link
    path: Path

    def __str__(self) -> str:
        return str(self.neurons)


@dataclass(frozen=True, eq=False)
class Blocks:
    """A network as a chain of blocks, and the linear path from the last block to the outputs, if there is one."""

    layers: tuple[Block, ...]
    readout: Path | None
    input_shape: Shape

    @property
    def classes(self) -> int:
        """Number of outputs; the size of the last layer of neurons if no readout follows it."""
        shape = self.layers[-1].path.shape if self.readout is None else self.readout.shape
        return int(torch.tensor(shape).prod())

    def readout_module(self) -> nn.Linear:
        """Return the readout, or the identity on the rates of the last layer of neurons if nothing follows it."""
        if self.readout is not None:
            return self.readout.module()  # type: ignore[return-value]  # checked to be dense
        made = nn.Linear(self.classes, self.classes, dtype=torch.float64)
        with torch.no_grad():
            made.weight.copy_(torch.eye(self.classes))
            made.bias.zero_()
        return made


def split(chain: Sequence[Link], input_shape: Shape, is_neuron: Callable[[nn.Module], bool]) -> Blocks:
    """Fold a chain into blocks; raise BadArgument, naming the layer, if one does not fit."""
    layers: list[Block] = []
    pending: list[Link] = []
    shape = input_shape
    for link in chain:
        if not is_neuron(link.module):
            pending.append(link)
            continue
        path = fold_path(pending, shape, where=str(link))
        layers.append(Block(layer_name(link.name.rpartition(".")[2], [block.name for block in layers]), link, path))
        pending, shape = [], path.shape
    if not layers:
        raise BadArgument("the network has neither nn.ReLU nor a spiking neuron: there is nothing to convert to a layer of neurons")
    return Blocks(tuple(layers), fold_readout_block(pending, shape), input_shape)


def fold_readout_block(path: Sequence[Link], shape: Shape) -> Path | None:
    """Fold the linear path from the last block to the outputs; None if there is nothing linear in it."""
    if not any(isinstance(link.module, (nn.Linear, nn.Conv2d, nn.AvgPool2d)) for link in path):
        return None
    folded = fold_path(path, shape, where="the output")
    if not isinstance(folded.operator, Dense):
        raise BadArgument(f"{path[-1]}: the network must end in nn.Linear or in a layer of neurons, not in a convolution")
    return folded


def layer_name(wanted: str, before: Sequence[str]) -> str:
    """Return the source's name for a layer if it is valid and unused; otherwise l1, l2, … by position, or the next free name."""
    taken = {INPUT, READOUT, *before}
    if _NAME.fullmatch(wanted) and wanted not in taken:
        return wanted
    return next(name for name in (f"l{number}" for number in count(len(before) + 1)) if name not in taken)


def assemble(
    blocks: Blocks,
    modules: Sequence[nn.Module],
    readout: nn.Linear,
    *,
    vths: Sequence[float],
    neuron: LIF | None = None,
    connections: Mapping[tuple[str, str], nn.Module] | None = None,
    steps: int,
    normalisation: Normalisation | None,
    class_names: Sequence[str],
) -> FSNN:
    """Build our network from blocks, in float64 and eval mode, with `modules` leading into the layers, and further `connections`."""
    further = connections or {}
    return from_modules(
        {block.name: module for block, module in zip(blocks.layers, modules, strict=True)},
        input_shape=blocks.input_shape,
        classes=blocks.classes,
        connections=further,
        readout=readout,
        neuron=neuron,
        vth=list(vths),
        steps=steps,
        limit=block_feedback_limit(further.values()),
        normalisation=normalisation,
        class_names=class_names,
    ).eval()


def block_feedback_limit(modules: Iterable[nn.Module]) -> float:
    """Return a feedback limit that allows the weights of all these modules (norm "kernel": the largest singular value of the matrix)."""
    weights = [next(module.parameters()).detach() for module in modules]
    return max([1.0, *(_MARGIN * float(torch.linalg.matrix_norm(weight.flatten(1), 2)) for weight in weights)])
