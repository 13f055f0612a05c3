"""fl.from_nir: read an NIR graph from another framework as an FSNN, without executing anything in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from pathlib import Path as FilePath
from typing import get_args

import torch
from torch import nn

from fsnn_lava.errors import BadArgument, BadFile, FsnnError
from fsnn_lava.importing.blocks import Block, Blocks, fold_readout_block, layer_name
from fsnn_lava.importing.chain import Link
from fsnn_lava.importing.linear_path import Affine, fold_path
from fsnn_lava.importing.nir_file import NirGraph, NirNode, read_nir_graph
from fsnn_lava.importing.nir_modules import INTEGRATORS, linear_links
from fsnn_lava.importing.nir_neurons import WRITERS, Habits, Reset, Writer, euler, neuron_facts
from fsnn_lava.importing.nir_paths import NirPath, NirPaths, nir_paths
from fsnn_lava.importing.sources.framework import Recurrence
from fsnn_lava.importing.spiking import KnownLayer, check_spiking_block, convert, describe_spiking_layers
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.graph import INPUT
from fsnn_lava.nn.layer_shape import layer_shape
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Shape

_REMEDY = 'if it was trained to subtract its threshold, which NIR cannot express, pass reset="subtract"'
PRECISION = 1e-6  # of a leak; the numbers in such files are float32
NEURONS_MAX = 2**20  # per layer, and input values, because a small file could describe a huge network
COUNTED_MAX = 4096  # neurons in a last layer that is its own readout
_DAMAGE = (LookupError, TypeError, ValueError, RuntimeError, AttributeError, ArithmeticError, MemoryError, RecursionError)


def from_nir(
    path: str | FilePath,
    *,
    written_by: Writer | None = None,
    dt: float | None = None,
    reset: Reset | None = None,
    input_shape: Sequence[int] | None = None,
    steps: int = 30,
    normalisation: Normalisation | None = None,
    class_names: Sequence[str] = (),
) -> FSNN:
    """Convert an NIR graph from another framework, recurrence and feedback included, without executing anything in the file.

    The file does not say how long a time step is or whether a spike subtracts the threshold, so the result cannot be compared with its
    source. If you have the module itself, prefer `from_torch`, which does compare.

    Args:
        path: an NIR file. Files written by fsnn-lava contain integers: read them with `ChipNetwork.load`.
        written_by: the framework that wrote the file; each has its own time unit. None uses NIR's equations in steps of `dt`.
        dt: the duration of a step, for a file from any other program; by default the one noted in the file.
        reset: "subtract" if the neurons were trained to subtract their threshold. By default the one noted in the file, or else NIR's own
            reset to a fixed potential, which is rejected because it loses charge.
        input_shape: (N,) or (C, H, W); by default the shape in the file.
        steps: T.
        normalisation: how raw uint8 values become inputs; required by `quantise` unless the network takes raw values.
        class_names: one per output, or empty.

    Returns:
        The network, in eval mode, in float32.

    Raises:
        BadFile: the file is damaged or not an NIR graph.
        BadArgument: a node cannot be converted; the message says which node, why, and what to do.

    Examples:
        >>> net = fl.from_nir("net.nir", written_by="snntorch", reset="subtract")
    """
    if written_by is not None and written_by not in get_args(Writer):
        raise BadArgument(f"written_by must be one of {', '.join(get_args(Writer))} or None, got {written_by!r}")
    graph = read_nir_graph(path)
    habits = _habits(graph, written_by, dt, reset)
    try:
        with torch.no_grad():
            net = _network(graph, habits, reset, input_shape, steps=steps, normalisation=normalisation, class_names=class_names)
    except FsnnError:
        raise
    except _DAMAGE as error:
        raise BadFile(f"{path} is damaged: its contents do not form a network ({type(error).__name__}: {error})") from error
    net.metrics["imported"] = f"NIR graph {FilePath(path).name}, {net.metrics['imported']}"
    return net


def _habits(graph: NirGraph, written_by: Writer | None, dt: float | None, reset: Reset | None) -> Habits:
    if written_by is not None:
        habits = WRITERS[written_by]
        if reset == "subtract" and not habits.soft:
            raise BadArgument(f"{habits.title} only writes networks that reset to a fixed potential: import the module itself")
        return habits
    known = graph.dt if dt is None else dt
    if known is None:
        raise BadArgument("the file does not say how long a time step is: pass written_by (the framework that wrote it) or dt")
    return Habits(f"dt = {known:g}", euler(float(known)), framework=False)


def _network(
    graph: NirGraph,
    habits: Habits,
    reset: Reset | None,
    input_shape: Sequence[int] | None,
    *,
    steps: int,
    normalisation: Normalisation | None,
    class_names: Sequence[str],
) -> FSNN:
    found = nir_paths(graph)
    shape = _input_shape(graph.nodes[found.source], input_shape)
    layers: dict[str, KnownLayer] = {}
    before, before_shape = found.source, shape
    for name in found.layers:
        taken = [layer.block.name for layer in layers.values()]
        layers[name] = _layer(graph, found, name, before, before_shape, habits, reset, taken)
        before, before_shape = name, layers[name].block.path.shape
    connections = _further(found, layers, shape)
    known = tuple(layers.values())
    readout = _readout(found, before, habits, known[0].facts.leak)
    blocks = Blocks(tuple(layer.block for layer in known), fold_readout_block(readout, before_shape), shape)
    if blocks.readout is None and blocks.classes > COUNTED_MAX:
        raise BadArgument(f"the last layer has {blocks.classes} neurons, one per class; at most {COUNTED_MAX} are supported")
    net = convert(
        blocks,
        known,
        connections=connections,
        steps=steps,
        normalisation=normalisation,
        class_names=class_names,
        dtype=torch.float32,
        precision=PRECISION,
    )
    net.metrics["imported"] = f"{habits.reading}: {describe_spiking_layers(known)}; read as data, not compared with its source"
    return net.float().eval()


def _input_shape(node: NirNode, given: Sequence[int] | None) -> Shape:
    sizes = tuple(given) if given is not None else tuple(int(size) for size in node.numbers.get("shape", ()))
    if given is None and len(sizes) not in (1, 3):
        raise BadArgument(f"{node}: its shape {sizes} is neither (N,) nor (C, H, W); it may include a batch axis: pass input_shape")
    return _bounded(layer_shape(sizes, "the input"), str(node))


def _bounded(shape: Shape, where: str) -> Shape:
    if prod(shape) > NEURONS_MAX:
        raise BadArgument(f"{where}: a shape of {shape} is more than {NEURONS_MAX} values")
    return shape


def _layer(
    graph: NirGraph,
    found: NirPaths,
    name: str,
    before: str,
    shape: Shape,
    habits: Habits,
    reset: Reset | None,
    taken: Sequence[str],
) -> KnownLayer:
    """Return a layer, with the path from the previous one and its own recurrent connection."""
    node, into = graph.nodes[name], found.into(name)
    forward = [path for path in into if path.source == before]
    if len(forward) != 1:
        raise BadArgument(f"{node}: there must be one path to it from {before!r}, the layer before it, got {len(forward)}")
    folded = fold_path(linear_links(forward[0].nodes), shape, where=str(node))
    _bounded(folded.shape, str(node))
    size = node.numbers["v_threshold"].size if "v_threshold" in node.numbers else 1
    if size not in (1, prod(folded.shape)):
        raise BadArgument(f"{node}: it has {size} neurons, but its input has shape {folded.shape}")
    block = Block(layer_name(re.sub(r"[^A-Za-z0-9_-]", "_", name), taken), Link(name, nn.Identity(), node.kind), folded)
    facts = neuron_facts(node, habits, reset)
    check_spiking_block(block, facts, said_by=habits.reading, remedy=_REMEDY)
    own = [path for path in into if path.source == name]
    if len(own) > 1:
        raise BadArgument(f"{node}: it has {len(own)} connections to itself; sum their weights into one")
    recurrence = None if not own else Recurrence(fold_path(linear_links(own[0].nodes), folded.shape, where=str(node)).module())
    return KnownLayer(block, facts, recurrence)


def _further(found: NirPaths, layers: dict[str, KnownLayer], shape: Shape) -> dict[tuple[str, str], Affine]:
    """Return skips and feedback between different layers; their bias is moved to the layer they lead to."""
    order = (found.source, *found.layers)
    connections: dict[tuple[str, str], Affine] = {}
    for path in found.paths:
        if path.target == found.output or path.source == path.target or order.index(path.source) == order.index(path.target) - 1:
            continue
        start = shape if path.source == found.source else layers[path.source].block.path.shape
        target = layers[path.target].block
        folded = fold_path(linear_links(path.nodes), start, where=str(target))
        if folded.shape != target.path.shape:
            raise BadArgument(f"{target}: its inputs have different shapes, {target.path.shape} and {folded.shape}")
        module = folded.module()
        if path.source != found.source and module.bias is not None:
            _move_bias(module, layers, path)
        source = INPUT if path.source == found.source else layers[path.source].block.name
        if (source, target.name) in connections:
            raise BadArgument(f"{target}: there are several connections to it from {path.source!r}; sum their weights into one")
        connections[source, target.name] = module
    return connections


def _move_bias(module: Affine, layers: dict[str, KnownLayer], path: NirPath) -> None:
    """Add the bias of a feedback path to that of its target layer: feedback has no bias, and the layer's is also added at every step."""
    layer = layers[path.target]
    bias = layer.block.path.bias
    if module.bias is None or bias is None:
        return
    if bool((module.bias != 0).any()):
        if len(bias) != len(module.bias):
            raise BadArgument(f"{layer.block}: the shape of its feedback bias does not match that of its input bias")
        moved = replace(layer.block.path, bias=bias + module.bias)
        layers[path.target] = replace(layer, block=replace(layer.block, path=moved))
    module.bias = None


def _readout(found: NirPaths, last: str, habits: Habits, leak: float) -> list[Link]:
    """Return the path from the last layer to the output; an integrator at its end sums what the rates average."""
    paths = found.into(found.output)
    if len(paths) != 1 or paths[0].source != last:
        sources = ", ".join(repr(path.source) for path in paths) or "nothing"
        raise BadArgument(f"the output must come from the last layer, {last!r}, alone; it comes from {sources}")
    nodes = [node for node in paths[0].nodes if node.kind not in INTEGRATORS]
    for node in paths[0].nodes:
        if node.kind in INTEGRATORS:
            _check_integrator(node, habits, leak)
    return linear_links(nodes)


def _check_integrator(node: NirNode, habits: Habits, leak: float) -> None:
    """Check that the integrator weights the steps in the same way as the rates (E3)."""
    own = 1.0
    if node.kind == "LI":
        tau = node.numbers["tau"].reshape(-1)
        own = habits.membrane(float(tau[0]), 1.0).leak
        if bool((tau != tau[0]).any()):
            raise BadArgument(f"{node}: tau differs between its neurons; all neurons must share it")
    if abs(own - leak) > PRECISION:
        raise BadArgument(f"{node}: it keeps {own:g} of its potential per step, but rates are weighted with the layers' leak, {leak:g}")
