"""The standard group /layer of a network file: the part of a ChipNetwork that lava-dl's NetX can load and run.

NetX supports a chain of layers, one weight unit per layer, int8 weights, int16 biases, reset to zero and a spike at v > threshold.
Each layer is therefore written in a unit that makes all its numbers integers if they fit (`exact`), and is rounded to the range if they
do not. Feedback of a dense layer onto itself becomes `dense_rec`; NetX has no layer for any other feedback, which is left out
(`complete` is false). The readout is a final dense layer whose threshold is never reached: its potentials are the answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.files.hdf5 import put_array
from fsnn_lava.formats.exact_group import GROUP as EXACT
from fsnn_lava.ir.graph_checks import is_chain
from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, Layer, Synapse, TransposedConvSynapse

GROUP = "layer"

FORWARDING = {
    "pixels": ("pixel values, input_message_bits=8", 1),
    "spikes": ("spikes that come at the rate pixel / 255", limits.MESSAGE_MAX),
    "events": ("events, input_message_bits=8", 1),
    "current": ("the host's drive in weight units, input_message_bits=24", 1),
}


@dataclass(frozen=True)
class Expressed:
    """One layer in NetX's terms: integer arrays in units of `1 / factor` weight units of the layer."""

    weight: NDArray[np.int64]
    recurrent: NDArray[np.int64] | None
    threshold: NDArray[np.int64]
    bias: NDArray[np.int64]
    factor: float
    exact: bool


def express_as_standard(weight: NDArray[Any], recurrent: NDArray[Any] | None, threshold: NDArray[Any], bias: NDArray[Any]) -> Expressed:
    """Express four arrays (float64, in the layer's weight units) times the largest factor that fits the standard group's ranges."""
    parts = [weight] if recurrent is None else [weight, recurrent]
    exact = _integer_factor([*parts, threshold, bias])
    largest = max((float(np.abs(p).max()) for p in parts if p.size), default=0.0)
    room = [limits.WEIGHT_MAX / largest if largest else np.inf, limits.THRESHOLD_MAX / float(threshold.max())]
    if np.any(bias):
        room.append(limits.STOCK_BIAS_MANTISSA_MAX / float(np.abs(bias).max()))
    factor = exact if exact is not None and exact <= min(room) else min(room)

    def whole(array: NDArray[Any]) -> NDArray[np.int64]:
        return np.rint(array * factor).astype(np.int64)

    return Expressed(
        weight=whole(weight),
        recurrent=None if recurrent is None else whole(recurrent),
        threshold=np.maximum(whole(threshold), 1),
        bias=whole(bias),
        factor=factor,
        exact=factor == exact,
    )


def _integer_factor(arrays: list[NDArray[Any]]) -> float | None:
    """Return the smallest power of two that makes every number whole; None if there is none up to 2**24."""
    for power in range(25):
        if all(np.array_equal(np.rint(a * 2.0**power), a * 2.0**power) for a in arrays):
            return 2.0**power
    return None


def write_standard(file: h5py.File, chip: ChipNetwork) -> dict[str, Any]:
    """Write the standard group /layer and return the facts a NetX user must know: `input`, `complete`, `exact`.

    A network with delta encoding has no /layer: NetX's sigma-delta layers divide by 2**6 whatever the threshold, and do not clip at 1.
    Neither does a network graph with skips or with several inputs to a layer.
    """
    if chip.delta is not None:
        return {"input": "none: NetX has no equivalent of these neurons (E15)", "complete": False, "exact": False}
    obstacle = _no_chain_of_netx(chip)
    if obstacle:
        return {"input": f"none: {obstacle}", "complete": False, "exact": False}
    root = file.create_group(GROUP)
    style, first = _first_layer(chip)
    shapes = _written_shape(chip)
    _new(root, "input", shape=shapes)
    exact = True
    for position, layer in enumerate(chip.layers):
        synapse = _forward(chip, layer)
        expressed = first if position == 0 else _express_layer(chip, layer, 1)
        source = chip.input.shape if position == 0 else chip.layers[position - 1].shape
        if len(source) == 3 and len(layer.shape) == 1 and position > 0:
            _new(root, "flatten", shape=(int(np.prod(source)),))
        _write_layer(root, layer, synapse, expressed)
        _share_weights(file, chip, root[str(len(root) - 1)], synapse, _self_loop(chip, layer))
        exact = exact and expressed.exact and _same_neuron(layer) and _same_rounding(chip, layer, expressed)
    exact = _write_readout(root, chip) and exact
    return {"input": FORWARDING[style][0], "complete": _complete(chip), "exact": exact}


def _no_chain_of_netx(chip: ChipNetwork) -> str:
    """Return why NetX cannot hold even the forward part of a network; empty if it can."""
    if not is_chain(chip):
        return "NetX has only chains of layers, without skips and with one forward connection each"
    if any(isinstance(synapse, TransposedConvSynapse) and chip.is_forward(synapse) for synapse in chip.synapses):
        return "NetX has no transposed convolution"
    return ""


def _same_neuron(layer: Layer) -> bool:
    return layer.reset == "zero" and (layer.strict or layer.decay == 0)


def _same_rounding(chip: ChipNetwork, layer: Layer, expressed: Expressed) -> bool:
    """Return whether a finer unit preserves E9's rounding of a leaking potential and of a current below 2**-6."""
    fraction = min((s.exponent for s in chip.into(layer)), default=0)
    return expressed.factor == 1.0 or (layer.decay == 0 and fraction >= -limits.STATE_FRACTION_BITS)


def _written_shape(chip: ChipNetwork) -> tuple[int, ...]:
    shape = chip.layers[0].shape if chip.input.kind == "current" else chip.input.shape
    return (int(np.prod(shape)),) if len(chip.layers[0].shape) == 1 else shape


def _first_layer(chip: ChipNetwork) -> tuple[str, Expressed]:
    """Return the first layer's input and weights: for pixels sent as values if they fit, otherwise for spikes at the pixels' rate."""
    layer = chip.layers[0]
    plain = _express_layer(chip, layer, 1)
    if chip.input.kind != "pixels" or plain.exact:
        return chip.input.kind, plain
    return "spikes", _express_layer(chip, layer, limits.MESSAGE_MAX)


def _express_layer(chip: ChipNetwork, layer: Layer, gain: int) -> Expressed:
    synapse, loop = _forward(chip, layer), _self_loop(chip, layer)
    if synapse is None:
        weight: NDArray[Any] = np.eye(layer.shape[0])  # the drive is an input, one per neuron
        weight = weight[:, :, None, None] if len(layer.shape) == 3 else weight
    else:
        weight = synapse.weight * 2.0**synapse.exponent * gain
    recurrent = None if loop is None else loop.weight * 2.0**loop.exponent
    return express_as_standard(weight, recurrent, layer.threshold.astype(np.float64), layer.bias.astype(np.float64))


def _forward(chip: ChipNetwork, layer: Layer) -> Synapse | None:
    return next((s for s in chip.into(layer) if chip.is_forward(s)), None)


def _self_loop(chip: ChipNetwork, layer: Layer) -> DenseSynapse | None:
    loops = [s for s in chip.into(layer) if s.source == layer.name and isinstance(s, DenseSynapse)]
    return loops[0] if len(loops) == 1 and len(layer.shape) == 1 else None


def _complete(chip: ChipNetwork) -> bool:
    written = [s for layer in chip.layers for s in (_forward(chip, layer), _self_loop(chip, layer)) if s is not None]
    return len(written) == len(chip.synapses)


def _new(root: h5py.Group, kind: str, *, shape: tuple[int, ...]) -> h5py.Group:
    group = root.create_group(str(len(root)))
    group.create_dataset("type", data=np.array([kind.encode()], dtype="S10"))
    group.create_dataset("shape", data=np.array(shape, dtype=np.int64))
    return group


def _write_layer(root: h5py.Group, layer: Layer, synapse: Synapse | None, expressed: Expressed) -> None:
    dense = len(layer.shape) == 1
    kind = "conv" if not dense else "dense" if expressed.recurrent is None else "dense_rec"
    group = _new(root, kind, shape=layer.shape)
    group.attrs["weight_unit"] = np.asarray(layer.scale) / expressed.factor
    put_array(group, "weight", expressed.weight.astype(np.int8))
    if dense:
        group.create_dataset("inFeatures", data=expressed.weight.shape[1])
        group.create_dataset("outFeatures", data=expressed.weight.shape[0])
    else:
        _write_geometry(group, layer, synapse)
    if expressed.recurrent is not None:
        put_array(group, "weight_rec", expressed.recurrent.astype(np.int8))
    _write_bias(group, expressed.bias)
    reachable = expressed.threshold if layer.strict or layer.decay else expressed.threshold - 1  # whole numbers: v >= t is v > t - 1
    _write_neuron(group, layer.decay, reachable)


def _share_weights(file: h5py.File, chip: ChipNetwork, group: h5py.Group, forward: Synapse | None, loop: Synapse | None) -> None:
    """Store weights that equal those of the exact group only once, linked under both names."""
    for name, synapse in (("weight", forward), ("weight_rec", loop)):
        if synapse is not None and np.array_equal(group[name][()], synapse.weight):
            del group[name]
            group[name] = file[f"{EXACT}/synapses/{chip.synapses.index(synapse)}/weight"]


def _write_geometry(group: h5py.Group, layer: Layer, synapse: Synapse | None) -> None:
    conv = isinstance(synapse, ConvSynapse)
    stride, padding = (synapse.stride, synapse.padding) if isinstance(synapse, ConvSynapse) else ((1, 1), (0, 0))
    groups, dilation = (synapse.groups, synapse.dilation) if isinstance(synapse, ConvSynapse) else (1, (1, 1))
    kernel = synapse.weight.shape[2:] if conv and synapse is not None else (1, 1)
    for name, value in (("stride", stride), ("padding", padding), ("dilation", dilation), ("kernelSize", kernel)):
        group.create_dataset(name, data=np.array(value, dtype=np.int64))
    inner = group["weight"].shape[1] * groups
    for name, number in (("groups", groups), ("inChannels", inner), ("outChannels", layer.shape[0])):
        group.create_dataset(name, data=int(number))


def _write_bias(group: h5py.Group, bias: NDArray[np.int64]) -> None:
    if not np.any(bias):
        return
    if bias.ndim == 3:  # NetX takes one per channel, or one per neuron in (W, H, C) order
        per_channel = np.array_equal(bias, np.broadcast_to(bias[:, :1, :1], bias.shape))
        bias = bias[:, 0, 0] if per_channel else bias.transpose(2, 1, 0)
    put_array(group, "bias", np.ascontiguousarray(bias).astype(np.int32))


def _write_neuron(group: h5py.Group, decay: int, threshold: NDArray[np.int64] | int) -> None:
    neuron = group.create_group("neuron")
    neuron.create_dataset("type", data="CUBA")
    for name, value in (("iDecay", limits.DECAY_UNIT), ("vDecay", decay), ("refDelay", 1)):
        neuron.create_dataset(name, data=int(value))
    mantissa = np.asarray(threshold, dtype=np.int64)
    neuron.create_dataset("vThMant", data=mantissa if mantissa.ndim else int(mantissa))
    neuron.create_dataset("gradedSpike", data=False)


def _write_readout(root: h5py.Group, chip: ChipNetwork) -> bool:
    readout, last = chip.readout, chip.layers[-1]
    if len(last.shape) == 3:
        _new(root, "flatten", shape=(last.size,))
    threshold = np.array(float(limits.THRESHOLD_MAX))
    weight = readout.weight.astype(np.float64) * 2.0**readout.exponent
    expressed = express_as_standard(weight, None, np.array(1.0), readout.bias.astype(np.float64))
    group = _new(root, "dense", shape=(readout.classes,))
    group.attrs.update(weight_unit=float(readout.scale) / expressed.factor, readout=True)
    put_array(group, "weight", expressed.weight.astype(np.int8))
    _write_bias(group, expressed.bias)
    _write_neuron(group, readout.decay, int(threshold))
    return expressed.exact
