"""The exact group /fsnn of a network file: the exact ChipNetwork. Stock NetX ignores it; if it exists, it is all that we read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal, cast

import h5py
import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadFile
from fsnn_lava.files.hdf5 import Hdf5Node, put_array
from fsnn_lava.ir.delta_encoding import Activation
from fsnn_lava.ir.graph_checks import is_chain
from fsnn_lava.ir.network import (
    ChipNetwork,
    ConvSynapse,
    DeltaEncoding,
    DenseSynapse,
    HostDrive,
    Input,
    Layer,
    Readout,
    Synapse,
    TransposedConvSynapse,
)

GROUP = "fsnn"
FORMAT = "fsnn-lava"
VERSION = 1
DELTA_VERSION = 2  # of files with delta encoding, which older versions of fsnn-lava cannot run
GRAPH_VERSION = 3  # of files with skips, several inputs to a layer, or dilation, with either encoding
RELU_VERSION = 4  # of files with delta encoding and rates above 1

_KINDS: dict[str, type[Synapse]] = {"dense": DenseSynapse, "conv": ConvSynapse, "transposed": TransposedConvSynapse}


def write_exact(file: h5py.File, chip: ChipNetwork) -> None:
    """Write the exact group, which holds the network exactly."""
    root = file.create_group(GROUP)
    root.attrs.update(format=FORMAT, version=_version(chip), digest=chip.digest(), steps=chip.steps)
    _write_json(root, "class_names", list(chip.class_names))
    _write_json(root, "notes", chip.notes)
    source = root.create_group("input")
    source.attrs.update(kind=chip.input.kind, shape=chip.input.shape, divisor=chip.input.divisor, mean=chip.input.mean, std=chip.input.std)
    layers, synapses = root.create_group("layers"), root.create_group("synapses")
    for i, layer in enumerate(chip.layers):
        _write_layer(layers.create_group(str(i)), layer)
    for i, synapse in enumerate(chip.synapses):
        _write_synapse(synapses.create_group(str(i)), synapse)
    readout = root.create_group("readout")
    readout.attrs.update(exponent=chip.readout.exponent, decay=chip.readout.decay)
    _put_all(readout, {"weight": chip.readout.weight, "bias": chip.readout.bias, "scale": chip.readout.scale})
    if chip.delta is not None:
        delta = root.create_group("delta")
        delta.attrs.update(rate_bits=chip.delta.rate_bits, dead_bands=chip.delta.dead_bands)
        if chip.delta.frame_decay:
            delta.attrs["frame_decay"] = chip.delta.frame_decay
        if chip.delta.activation != "clip":
            delta.attrs["activation"] = chip.delta.activation
    if chip.host_drive is not None:
        drive = root.create_group("host_drive")
        drive.attrs.update(stride=chip.host_drive.stride, padding=chip.host_drive.padding)
        _put_all(drive, {"weight": chip.host_drive.weight, "bias": chip.host_drive.bias})


def _version(chip: ChipNetwork) -> int:
    """Return the oldest version of the format that can hold this network."""
    if chip.delta is not None and chip.delta.activation != "clip":
        return RELU_VERSION
    if not is_chain(chip) or any(isinstance(s, ConvSynapse) and s.dilation != (1, 1) for s in chip.synapses):
        return GRAPH_VERSION
    return VERSION if chip.delta is None else DELTA_VERSION


def _write_layer(group: h5py.Group, layer: Layer) -> None:
    group.attrs.update(name=layer.name, shape=layer.shape, decay=layer.decay, reset=layer.reset, strict=int(layer.strict))
    _put_all(group, {"threshold": layer.threshold, "bias": layer.bias, "scale": layer.scale})


def _write_synapse(group: h5py.Group, synapse: Synapse) -> None:
    kind = next(name for name, kind in _KINDS.items() if type(synapse) is kind)
    group.attrs.update(kind=kind, source=synapse.source, target=synapse.target, exponent=synapse.exponent)
    for name in ("stride", "padding", "output_padding", "groups"):
        if hasattr(synapse, name):
            group.attrs[name] = getattr(synapse, name)
    if isinstance(synapse, ConvSynapse) and synapse.dilation != (1, 1):
        group.attrs["dilation"] = synapse.dilation
    _put_all(group, {"weight": synapse.weight})


def _put_all(group: h5py.Group, arrays: Mapping[str, NDArray[Any]]) -> None:
    for name, array in arrays.items():
        put_array(group, name, np.asarray(array))


def _write_json(group: h5py.Group, name: str, value: object) -> None:
    put_array(group, name, np.frombuffer(json.dumps(value, ensure_ascii=False, sort_keys=True).encode(), dtype=np.uint8))


def read_exact(root: Hdf5Node) -> ChipNetwork:
    """Read the network from the exact group; its digest is checked against the one in the file."""
    if root.text("format") != FORMAT:
        raise root.fail(f"format must be {FORMAT!r}, got {root.text('format')!r}")
    version = root.integer("version")
    if not VERSION <= version <= RELU_VERSION:
        newer = "install a newer fsnn-lava" if version > RELU_VERSION else "export it again"
        raise root.fail(f"it has format version {version}, but this release reads {VERSION} to {RELU_VERSION}: {newer}")
    chip = ChipNetwork(
        input=_read_input(root.group("input")),
        layers=tuple(_read_layer(node) for node in root.numbered("layers")),
        synapses=tuple(_read_synapse(node) for node in root.numbered("synapses")),
        readout=_read_readout(root.group("readout")),
        steps=root.integer("steps"),
        host_drive=_read_drive(root.group("host_drive")) if root.has("host_drive") else None,
        class_names=_texts(root, "class_names"),
        notes=_read_notes(root),
        delta=_read_delta(root.group("delta")) if version == DELTA_VERSION or (version > DELTA_VERSION and root.has("delta")) else None,
    )
    if chip.digest() != root.text("digest"):
        raise root.fail("the digest does not match the contents: the file is damaged or was edited")
    return chip


def _read_input(node: Hdf5Node) -> Input:
    kind = cast(Literal["pixels", "events", "current"], node.text("kind"))
    return Input(
        kind=kind, shape=node.integers("shape"), divisor=node.number("divisor"), mean=node.numbers("mean"), std=node.numbers("std")
    )


def _read_layer(node: Hdf5Node) -> Layer:
    return Layer(
        name=node.text("name"),
        shape=node.integers("shape"),
        threshold=node.array("threshold", "iu", (0, 1)),
        bias=node.array("bias", "iu", (1, 3)),
        scale=node.array("scale", "f", (0, 1)),
        decay=node.integer("decay"),
        reset=cast(Literal["subtract", "zero"], node.text("reset")),
        strict=bool(node.integer("strict")),
    )


def _read_synapse(node: Hdf5Node) -> Synapse:
    kind = node.text("kind")
    if kind not in _KINDS:
        raise node.fail(f"kind must be one of {', '.join(_KINDS)}, got {kind!r}")
    common: dict[str, Any] = {"source": node.text("source"), "target": node.text("target"), "exponent": node.integer("exponent")}
    weight = node.array("weight", "iu", (_KINDS[kind].weight_axes,))
    if kind == "dense":
        return DenseSynapse(weight=weight, **common)
    common.update(stride=node.pair("stride"), padding=node.pair("padding"))
    if kind == "conv":
        dilation = node.pair("dilation") if node.has_attribute("dilation") else (1, 1)
        return ConvSynapse(weight=weight, groups=node.integer("groups"), dilation=dilation, **common)
    return TransposedConvSynapse(weight=weight, output_padding=node.pair("output_padding"), **common)


def _read_readout(node: Hdf5Node) -> Readout:
    weight, bias, scale = node.array("weight", "iu", (2,)), node.array("bias", "iu", (1,)), node.array("scale", "f", (0,))
    return Readout(weight=weight, bias=bias, scale=scale, exponent=node.integer("exponent"), decay=node.integer("decay"))


def _read_drive(node: Hdf5Node) -> HostDrive:
    weight, bias = node.array("weight", "f", (2, 4)), node.array("bias", "f", (1, 3))
    return HostDrive(weight=weight, bias=bias, stride=node.pair("stride"), padding=node.pair("padding"))


def _read_delta(node: Hdf5Node) -> DeltaEncoding:
    decay = node.integer("frame_decay") if node.has_attribute("frame_decay") else 0
    activation = cast(Activation, node.text("activation") if node.has_attribute("activation") else "clip")
    return DeltaEncoding(
        rate_bits=node.integer("rate_bits"), dead_bands=node.integers("dead_bands"), frame_decay=decay, activation=activation
    )


def _read_json(node: Hdf5Node, name: str) -> object:
    data = node.array(name, "u", (1,))
    try:
        value: object = json.loads(data.astype(np.uint8).tobytes().decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise BadFile(f"{node.where}: {name!r} must be JSON in UTF-8") from error
    return value


def _texts(node: Hdf5Node, name: str) -> tuple[str, ...]:
    value = _read_json(node, name)
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise node.fail(f"{name!r} must be a list of strings")
    return tuple(value)


def _read_notes(node: Hdf5Node) -> dict[str, str]:
    value = _read_json(node, "notes")
    if not isinstance(value, dict) or not all(isinstance(text, str) for text in value.values()):
        raise node.fail("'notes' must be a JSON object of strings")
    return value
