"""The network as an NIR graph, for other frameworks. The file also contains the exact ChipNetwork (group /fsnn), which is what we read.

All numbers are in weight units: a connection's weights are integer * 2**exponent, a threshold is an integer, and dt is one step. NIR
fires at v > v_threshold and E9 at u >= threshold, with u in steps of 2**-6, so v_threshold is half such a step lower. What NIR cannot
express is in the metadata of a neuron: `reset` ("subtract" or "zero"), `scale` (physical value of a weight unit), and `bias` where it
differs within a channel (zero padding, E8), while the graph's own bias is that of the channel's centre. For delta encoding, the metadata
also has `encoding`, `rate_bits` and `dead_band` (E15), and `activation` if rates may exceed 1. A transposed convolution, for which NIR has
no node, is written as a convolution between grids stored space to depth (`space_to_depth` of a layer: rows, columns).
Every connection takes one step (`schedule` "pipelined"); a skip over layers has a Delay node with the steps it takes beyond that.
"""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import h5py
import nir
import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadNetwork
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.files.hdf5 import open_file
from fsnn_lava.formats import exact_group
from fsnn_lava.ir.network import INPUT, READOUT, ChipNetwork, ConvSynapse, DenseSynapse, Layer, Synapse
from fsnn_lava.ir.space_to_depth import kernel_by_target, space_to_depth

_HALF_STEP = 2.0 ** -(limits.STATE_FRACTION_BITS + 1)


def write_nir(chip: ChipNetwork, path: str | Path) -> None:
    """Write `chip` to `path` atomically, both as an NIR graph and in exact form; on failure an existing file is left unchanged."""
    memory = io.BytesIO()
    nir.write(memory, nir_graph(chip))
    with h5py.File(memory, "r+") as file:
        exact_group.write_exact(file, chip)
    with atomic_path(path) as temporary:
        temporary.write_bytes(memory.getvalue())


def read_nir(path: str | Path) -> ChipNetwork:
    """Read the network in a file made by `write_nir`. Other NIR graphs are rejected, since they do not contain what E9 needs."""
    with open_file(path) as root:
        if not root.has(exact_group.GROUP):
            raise root.fail(
                "an NIR graph without the group 'fsnn' lacks exponents, units and windows; only files written by fsnn-lava can be read"
            )
        return exact_group.read_exact(root.group(exact_group.GROUP))
    raise AssertionError("unreachable")


def nir_graph(network: ChipNetwork) -> nir.NIRGraph:
    """Return the NIR graph: input, a node per connection and layer, feedback as a backward edge, an integrating readout, and output."""
    chip, factors = space_to_depth(network)
    nodes: dict[str, Any] = {}
    edges: list[tuple[str, str]] = []
    first = chip.layers[0]
    host = chip.input.kind == "current"
    nodes[INPUT] = nir.Input(input_type={"input": np.array(first.shape if host else chip.input.shape)})
    for layer in chip.layers:
        nodes[layer.name] = _neuron(layer, factors[layer.name], driven=host and layer is first)
        nodes[layer.name].metadata.update(_encoding(chip, layer))
    if host:
        edges.append((INPUT, first.name))
    carriers = [_bias_carrier(chip, layer) for layer in chip.layers if not (host and layer is first)]
    for synapse in chip.synapses:
        _connect(chip, synapse, nodes, edges, bias=synapse in carriers)
    _add_readout(chip, nodes, edges)
    meta = {
        "format": exact_group.FORMAT,
        "input": chip.input.kind,
        "steps": chip.steps,
        "schedule": "pipelined",
        "dt": 1.0,
        "encoding": chip.encoding,
    }
    return nir.NIRGraph(nodes=nodes, edges=edges, metadata=meta)


def _encoding(chip: ChipNetwork, layer: Layer) -> dict[str, Any]:
    """Return the metadata of a layer with delta encoding; its node is an IF neuron with the same equilibrium, as NIR has none for E14."""
    if chip.delta is None:
        return {}
    band, activation = chip.delta.dead_bands[chip.index(layer.name)], chip.delta.activation
    found = {"encoding": "delta", "rate_bits": chip.delta.rate_bits, "dead_band": band}
    return found if activation == "clip" else {**found, "activation": activation}


def _centre_bias(layer: Layer) -> NDArray[np.float32]:
    """Return the bias at the centre of each channel, [C], or the bias of a dense layer, [N]."""
    bias = layer.bias.astype(np.float32)
    return bias if bias.ndim == 1 else np.ascontiguousarray(bias[:, bias.shape[1] // 2, bias.shape[2] // 2])


def _neuron(layer: Layer, factor: tuple[int, int], *, driven: bool) -> nir.NIRNode:
    """Return the NIR node of a layer's neurons; if `driven`, the whole drive, bias included, is an input of the graph."""
    threshold = layer.per_neuron(layer.threshold).astype(np.float32) - np.float32(0.0 if layer.strict else _HALF_STEP)
    meta: dict[str, Any] = {"reset": layer.reset, "scale": np.asarray(layer.scale).reshape(-1)}
    if factor != (1, 1):
        meta["space_to_depth"] = np.array(factor)
    if not driven and layer.bias.ndim == 3 and not np.array_equal(layer.bias, np.broadcast_to(layer.bias[:, :1, :1], layer.shape)):
        meta["bias"] = layer.bias
    ones = np.ones(layer.shape, dtype=np.float32)
    if layer.decay == 0:
        return nir.IF(r=ones, v_threshold=threshold, v_reset=np.zeros_like(ones), metadata=meta)
    tau = ones * np.float32(limits.DECAY_UNIT / layer.decay)  # one step of dt = 1 leaves 1 - 1 / tau = lambda, and r = tau adds I itself
    return nir.LIF(tau=tau, r=tau, v_leak=np.zeros_like(ones), v_threshold=threshold, v_reset=np.zeros_like(ones), metadata=meta)


def _bias_carrier(chip: ChipNetwork, layer: Layer) -> Synapse:
    """Return the connection whose node holds the bias of a layer: the first forward connection into it, or else the first of any kind."""
    return min(chip.into(layer), key=lambda synapse: not chip.is_forward(synapse))


def _connect(chip: ChipNetwork, synapse: Synapse, nodes: dict[str, Any], edges: list[tuple[str, str]], *, bias: bool) -> None:
    source = chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape
    target = chip.layer(synapse.target)
    name, entry, number = f"{synapse.source}_{synapse.target}", synapse.source, 1
    while name in nodes:  # there are parallel connections
        number += 1
        name = f"{synapse.source}_{synapse.target}_{number}"
    if chip.chip_delay(synapse) > 1:
        delay = f"{name}_delay"
        nodes[delay] = nir.Delay(delay=np.full(source, chip.chip_delay(synapse) - 1, dtype=np.float32))
        edges.append((entry, delay))
        entry = delay
    if len(source) == 3 and not isinstance(synapse, ConvSynapse):
        flat = f"{name}_flat"
        nodes[flat] = nir.Flatten(input_type={"input": np.array(source)}, start_dim=0, end_dim=-1)
        edges.append((entry, flat))
        entry = flat
    nodes[name] = _connection(synapse, source, target, _centre_bias(target) if bias else None)
    edges.extend([(entry, name), (name, synapse.target)])


def _connection(synapse: Synapse, source: tuple[int, ...], target: Layer, bias: NDArray[np.float32] | None) -> nir.NIRNode:
    unit = np.float32(2.0**synapse.exponent)
    if isinstance(synapse, DenseSynapse):
        weight = synapse.weight.astype(np.float32) * unit
        return nir.Linear(weight=weight) if bias is None else nir.Affine(weight=weight, bias=bias)
    if isinstance(synapse, ConvSynapse):
        whole = kernel_by_target(synapse, source[0]).astype(np.float32)  # nir mistakes a grouped kernel's channels for the input's
        square, padding = _square(synapse, whole * unit)
        return nir.Conv2d(
            input_shape=(source[1], source[2]),
            weight=square,
            stride=synapse.stride,
            padding=padding,
            dilation=synapse.dilation,
            groups=1,
            bias=np.zeros(target.shape[0], np.float32) if bias is None else bias,
        )
    raise BadNetwork(f"{synapse}: NIR has no node for {type(synapse).__name__}")


def _square(synapse: ConvSynapse, weight: NDArray[np.float32]) -> tuple[NDArray[np.float32], tuple[int, int]]:
    """Return the same convolution with a square kernel, since the package nir computes shapes as if every kernel were square."""
    height, width = weight.shape[2:]
    down, right = max(width - height, 0), max(height - width, 0)
    if down % 2 or right % 2:
        raise BadNetwork(
            f"{synapse}: a kernel of {height} x {width} cannot be padded to a square with zeros on both sides, as the package nir requires"
        )
    padded = np.pad(weight, ((0, 0), (0, 0), (down // 2,) * 2, (right // 2,) * 2))
    down, right = down // 2 * synapse.dilation[0], right // 2 * synapse.dilation[1]
    return padded, (synapse.padding[0] + down, synapse.padding[1] + right)


def _add_readout(chip: ChipNetwork, nodes: dict[str, Any], edges: list[tuple[str, str]]) -> None:
    readout, last = chip.readout, chip.layers[-1]
    entry = last.name
    if len(last.shape) == 3:
        nodes["readout_flat"] = nir.Flatten(input_type={"input": np.array(last.shape)}, start_dim=0, end_dim=-1)
        edges.append((entry, "readout_flat"))
        entry = "readout_flat"
    weight = readout.weight.astype(np.float32) * np.float32(2.0**readout.exponent)
    nodes["readout_weights"] = nir.Affine(weight=weight, bias=readout.bias.astype(np.float32))
    meta = {"scale": np.asarray(readout.scale).reshape(-1)}
    ones = np.ones(readout.classes, dtype=np.float32)
    if readout.decay == 0:
        nodes[READOUT] = nir.I(r=ones, metadata=meta)
    else:
        tau = ones * np.float32(limits.DECAY_UNIT / readout.decay)
        nodes[READOUT] = nir.LI(tau=tau, r=tau, v_leak=np.zeros_like(ones), metadata=meta)
    nodes["output"] = nir.Output(output_type={"output": np.array([readout.classes])})
    edges.extend([(entry, "readout_weights"), ("readout_weights", READOUT), (READOUT, "output")])
