"""Read the group /layer that lava-dl's slayer exports: a chain of dense and convolutional layers with reset to zero.

Such a file leaves some things open, for which we assume that the readout counts the spikes of the last layer, that a weight unit is 1,
and that the number of steps is STEPS.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.files.hdf5 import Hdf5Node
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, Input, Layer, Readout, Synapse

STEPS = 32
NEURONS_MAX = 2**20  # in one layer, because a small file could describe a huge one
NUMBERS_MAX = 8  # in a shape, stride or decay
COUNTED_MAX = 4096  # neurons of a last layer that is its own readout
_READ = ("dense", "dense_rec", "conv")


def read_slayer(root: Hdf5Node) -> ChipNetwork:
    """Read the network from the group that lava-dl's slayer writes."""
    nodes = [(node, _text(node, "type")) for node in root.numbered("layer")]
    if not nodes or nodes[0][1] != "input" or not nodes[0][0].has("shape"):
        raise root.fail("the first layer must be an input with a shape")
    if nodes[0][0].has("neuron"):
        raise nodes[0][0].fail("an input layer with neurons is not supported; export the network without it")
    shape = tuple(int(n) for n in _numbers(nodes[0][0], "shape"))
    builder = _Builder(shape if len(shape) != 2 else (1, *shape))
    for node, kind in nodes[1:]:
        if kind == "flatten":
            continue
        if kind not in _READ:
            raise node.fail(f"layers of type {kind!r} are not supported, only {', '.join(_READ)}, flatten and input")
        builder.add(node, kind)
    return builder.network(root)


class _Builder:
    """Collects the layers of the file in order."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.input = Input(kind="events", shape=shape, divisor=1.0)
        self.layers: list[Layer] = []
        self.synapses: list[Synapse] = []
        self.readout: tuple[NDArray[Any], NDArray[Any], int] | None = None

    def add(self, node: Hdf5Node, kind: str) -> None:
        if self.readout is not None:
            raise node.fail("a layer without neurons must be the last")
        source = self.layers[-1].name if self.layers else INPUT
        before = self.layers[-1].shape if self.layers else self.input.shape
        name = f"layer{len(self.layers) + 1}"
        if node.has("delay") and np.any(_numbers(node, "delay")):
            raise node.fail("synaptic delays are not supported")
        weight, exponent = _weight(node, "weight")
        if kind == "conv":
            synapse: Synapse = _conv(node, source, name, weight, exponent)
            shape = synapse.output_shape(before)
        else:
            weight = weight.reshape(weight.shape[0], -1)
            synapse, shape = DenseSynapse(source=source, target=name, weight=weight, exponent=exponent), (weight.shape[0],)
        if math.prod(shape) > NEURONS_MAX:
            raise node.fail(f"a layer of shape {shape} has more than {NEURONS_MAX} neurons")
        bias = _bias(node, shape)
        if not node.has("neuron"):
            self.readout = (weight, bias, exponent)
            return
        threshold, decay = _neuron(node.group("neuron"), shape)
        self.synapses.append(synapse)
        if kind == "dense_rec":
            recurrent, shift = _weight(node, "weight_rec")
            self.synapses.append(DenseSynapse(source=name, target=name, weight=recurrent, exponent=shift))
        scale = np.array(1.0)
        layer = Layer(name=name, shape=shape, threshold=threshold, bias=bias, scale=scale, decay=decay, reset="zero", strict=True)
        self.layers.append(layer)

    def network(self, root: Hdf5Node) -> ChipNetwork:
        if not self.layers:
            raise root.fail("there is no layer with neurons")
        last = self.layers[-1]
        if self.readout is None and last.size > COUNTED_MAX:
            raise root.fail(f"the last layer has {last.size} neurons, one per class; at most {COUNTED_MAX} are supported")
        weight, bias, exponent = self.readout or (np.eye(last.size, dtype=np.int8), np.zeros(last.size, np.int32), 0)
        readout = Readout(weight=weight, bias=bias, scale=np.array(1.0), exponent=exponent, decay=last.decay)
        notes = {"origin": "slayer"}
        return ChipNetwork(
            input=self.input, layers=tuple(self.layers), synapses=tuple(self.synapses), readout=readout, steps=STEPS, notes=notes
        )


def _conv(node: Hdf5Node, source: str, target: str, weight: NDArray[Any], exponent: int) -> ConvSynapse:
    weight = weight.reshape(weight.shape[:4])
    return ConvSynapse(
        source=source,
        target=target,
        weight=weight,
        exponent=exponent,
        stride=_pair(node, "stride"),
        padding=_pair(node, "padding"),
        groups=int(_numbers(node, "groups")[0]),
        dilation=_pair(node, "dilation"),
    )


def _whole(node: Hdf5Node, name: str) -> NDArray[Any]:
    array = node.array(name, "iuf")
    if array.dtype.kind == "f" and not (np.all(np.isfinite(array)) and np.array_equal(array, np.rint(array))):
        raise node.fail(f"{name!r} must contain integers; export a quantised network")
    if array.size and float(np.abs(array).max()) > 2**31:
        raise node.fail(f"{name!r} contains numbers of more than 32 bits")
    return array.astype(np.int64)


def _weight(node: Hdf5Node, name: str) -> tuple[NDArray[Any], int]:
    """Halve slayer's weights, which are even numbers up to 254, and raise the exponent."""
    weight, exponent = _whole(node, name), 0
    while weight.size and np.abs(weight).max() > limits.WEIGHT_MAX and not np.any(weight % 2):
        weight, exponent = weight // 2, exponent + 1
    if weight.size and np.abs(weight).max() > limits.WEIGHT_MAX:
        limit = limits.WEIGHT_MAX * 2**exponent
        raise node.fail(f"{name!r} must be between {-limit} and {limit}, got {weight.min() * 2**exponent} … {weight.max() * 2**exponent}")
    return weight, exponent


def _bias(node: Hdf5Node, shape: tuple[int, ...]) -> NDArray[Any]:
    if not node.has("bias"):
        return np.zeros(shape, dtype=np.int64)
    bias = _whole(node, "bias")
    if bias.shape == shape[::-1] and len(shape) == 3:
        return bias.transpose(2, 1, 0)
    flat = bias.reshape(-1)
    if flat.shape != shape[:1]:
        raise node.fail(f"'bias' must have one entry per channel ({shape[0]}) or one per neuron {shape[::-1]}, got {bias.shape}")
    return np.broadcast_to(flat.reshape(-1, *(1,) * (len(shape) - 1)), shape)


def _neuron(node: Hdf5Node, shape: tuple[int, ...]) -> tuple[NDArray[Any], int]:
    kind = _text(node, "type")
    if kind not in ("CUBA", "LOIHI"):
        raise node.fail(f"neurons of type {kind!r} are not supported, only CUBA and LOIHI")
    if int(_numbers(node, "iDecay")[0]) != limits.DECAY_UNIT:
        raise node.fail("the synaptic current must not persist: train with current_decay = 1")
    threshold = _whole(node, "vThMant")
    return threshold.reshape(()) if threshold.size == 1 else threshold.reshape(-1), int(_numbers(node, "vDecay")[0])


def _numbers(node: Hdf5Node, name: str) -> NDArray[Any]:
    numbers = np.atleast_1d(_whole(node, name)).reshape(-1)
    if not 1 <= len(numbers) <= NUMBERS_MAX:
        raise node.fail(f"{name!r} must hold 1 … {NUMBERS_MAX} numbers, got {len(numbers)}")
    return numbers


def _pair(node: Hdf5Node, name: str) -> tuple[int, int]:
    values = _numbers(node, name)
    return int(values[0]), int(values[-1])


def _text(node: Hdf5Node, name: str) -> str:
    value = np.atleast_1d(node.array(name, "SO", (0, 1)))
    first = value.reshape(-1)[0]
    return first.decode("ascii", "replace") if isinstance(first, bytes) else str(first)
