"""A synapse as one of Lava's own processes: Dense, Conv, or Sparse for a transposed convolution.

Each delivers one step later, and DelayDense after any number of steps; convolutions have no delay, so relays hold back their spikes.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.proc.conv.process import Conv
from lava.proc.dense.process import DelayDense, Dense
from lava.proc.lif.process import LIF, LIFReset
from lava.proc.sdn.process import ActivationMode, SigmaDelta
from lava.proc.sparse.process import Sparse
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from fsnn_lava.backends.lava.stock_order import stock_index, stock_shape
from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse
from fsnn_lava.limits import DECAY_UNIT

Shape = tuple[int, ...]
GRADED_BITS = 8  # per input message; 0 for spikes, which are binary
_RELAYED = 64  # the weight of a spike to its relay


def connect_stock(synapse: Synapse, *, before: Any, after: Any, source: Shape, target: Shape, bits: int, delay: int = 1) -> Any:
    """Create a stock synapse from out port `before` to in port `after`, or to several; shapes are in the network's order.

    `bits` is the number of bits in a message, 0 for spikes. Only dense synapses have a `delay`.
    """
    name = f"synapse {synapse.source} -> {synapse.target}"
    if isinstance(synapse, ConvSynapse):
        process = _convolution(synapse, stock_shape(source), bits, name)
        before.connect(process.s_in)
        process.a_out.connect(after)
        return process
    if isinstance(synapse, TransposedConvSynapse):
        matrix = transposed_matrix(synapse, source, target)
        process = Sparse(weights=matrix * 2, weight_exp=synapse.exponent - 1, num_message_bits=bits, name=name)
    elif isinstance(synapse, DenseSynapse):
        process = stock_dense_process(synapse.weight, synapse.exponent, source, bits, name, delay=delay)
    else:
        raise BadNetwork(f"{synapse}: there is no stock process for a {type(synapse).__name__}")
    before.reshape(new_shape=process.s_in.shape).connect(process.s_in)
    process.a_out.reshape(new_shape=stock_shape(target)).connect(after)
    return process


def stock_dense_process(weight: NDArray[np.int8], exponent: int, source: Shape, bits: int, name: str, *, delay: int = 1) -> Dense:
    """Create a stock Dense synapse: it drops the lowest bit of a signed weight, so it gets twice the weight and an exponent one lower."""
    doubled = weight[:, stock_index(source)].astype(np.int32) * 2
    if delay == 1:
        return Dense(weights=doubled, weight_exp=exponent - 1, num_message_bits=bits, name=name)
    return DelayDense(weights=doubled, delays=delay - 1, weight_exp=exponent - 1, num_message_bits=bits, name=name)


def _identity(shape: Shape, weight: int, bits: int, name: str) -> Any:
    """Create a synapse that passes every message on, times `weight`."""
    if len(shape) == 3:
        kernel = np.full((shape[0], 1, 1, 1), weight, dtype=np.int32)  # one tap per channel
        return Conv(weight=kernel, input_shape=stock_shape(shape), groups=shape[0], num_message_bits=bits, name=name)
    return Sparse(weights=csr_matrix(np.eye(shape[0], dtype=np.int32) * weight), num_message_bits=bits, name=name)


class GradedRelay:
    """Neurons that repeat graded messages one step later: a SigmaDelta process without an activation sends every change of its sum."""

    def __init__(self, before: Any, shape: Shape, name: str, *, bits: int) -> None:
        """`before` is the out port of the source, `shape` its shape in the network's order."""
        self.synapse = _identity(shape, 1, bits, f"synapse to {name}")
        self.neuron = SigmaDelta(shape=stock_shape(shape), vth=1, act_mode=ActivationMode.UNIT, name=name)
        before.connect(self.synapse.s_in)
        self.synapse.a_out.connect(self.neuron.a_in)
        self.port = self.neuron.s_out


class Relay:
    """Neurons that repeat the spikes of their source one step later: every spike lifts a neuron above its threshold, and it resets."""

    def __init__(self, before: Any, shape: Shape, name: str, *, window: int | None = None) -> None:
        """`before` is the out port of the source, `shape` its shape in the network's order; `window` is the period of the chip's reset."""
        synapse = _identity(shape, _RELAYED, 0, f"synapse to {name}")
        options = {"shape": stock_shape(shape), "du": DECAY_UNIT - 1, "dv": 0, "vth": _RELAYED // 2, "name": name}
        neuron = LIF(**options) if window is None else LIFReset(reset_interval=window, reset_offset=1, **options)
        before.connect(synapse.s_in)
        synapse.a_out.connect(neuron.a_in)
        self.synapse, self.neuron, self.port = synapse, neuron, neuron.s_out


def _convolution(synapse: ConvSynapse, source: Shape, bits: int, name: str) -> Conv:
    """Create a Conv process. Lava flips the kernel and uses (W, H, C); its CPU model ignores weight_exp, so the weights are scaled."""
    kernel = synapse.weight.astype(np.int32)[:, :, ::-1, ::-1].transpose(0, 3, 2, 1) << synapse.exponent
    return Conv(
        weight=np.ascontiguousarray(kernel),
        input_shape=source,
        padding=synapse.padding[::-1],
        stride=synapse.stride[::-1],
        dilation=synapse.dilation[::-1],
        groups=synapse.groups,
        num_message_bits=bits,
        name=name,
    )


def transposed_matrix(synapse: TransposedConvSynapse, source: Shape, target: Shape) -> csr_matrix:
    """Return the weights [n_target, n_source] of a synapse that runs as stock Sparse, in the order of flattened Lava processes."""
    inner, outer, height, width = synapse.weight.shape
    to, of = np.argsort(stock_index(target)).reshape(target), np.argsort(stock_index(source)).reshape(source)
    rows, columns, values = [], [], []
    for ky in range(height):
        for kx in range(width):
            ys, y = _tap_positions(source[1], target[1], synapse.stride[0], ky - synapse.padding[0])
            xs, x = _tap_positions(source[2], target[2], synapse.stride[1], kx - synapse.padding[1])
            shape = (outer, inner, len(y), len(x))
            rows.append(np.broadcast_to(to[:, None][:, :, y][..., x], shape).ravel())
            columns.append(np.broadcast_to(of[None][:, :, ys][..., xs], shape).ravel())
            values.append(np.broadcast_to(synapse.weight[:, :, ky, kx].T[:, :, None, None], shape).ravel())
    entries = (np.concatenate(values).astype(np.int32), (np.concatenate(rows), np.concatenate(columns)))
    return csr_matrix(entries, shape=(int(np.prod(target)), int(np.prod(source))))


def _tap_positions(source: int, target: int, stride: int, shift: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return source positions and the target positions that one tap maps them to, limited to those inside the target."""
    positions = np.arange(source)
    hits = positions * stride + shift
    inside = (hits >= 0) & (hits < target)
    return positions[inside], hits[inside]
