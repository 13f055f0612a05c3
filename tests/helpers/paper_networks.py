"""The paper's networks as ChipNetworks with random weights: right in shape, untrained."""

from __future__ import annotations

import numpy as np

from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, Input, Layer, Readout, Synapse, TransposedConvSynapse
from fsnn_lava.nn.architecture import Architecture, LayerSpec
from fsnn_lava.nn.notation import parse_notation

PAPER = {
    "mnist": ("64C5s (F64C5)", (1, 28, 28), 10, "pixels"),
    "fashion": ("400 (F400)", (784,), 10, "pixels"),
    "nmnist": ("64C5s (F64C5)", (2, 34, 34), 10, "events"),
    "alexnet-f": ("96C3s-256C3-384C3s-384C3-256C3 (F96C3u)", (3, 32, 32), 10, "pixels"),
    "cifarnet-f": ("128C3s-256C3-512C3s-1024C3-512C3 (F128C3u)", (3, 32, 32), 10, "pixels"),
    "cifarnet-f-100": ("128C3s-256C3-512C3s-1024C3-512C3 (F128C3u)", (3, 32, 32), 100, "pixels"),
}


def paper_network(name: str, *, seed: int = 0, bits: int = 8) -> ChipNetwork:
    text, shape, classes, kind = PAPER[name]
    return network(text, input_shape=shape, classes=classes, kind=kind, seed=seed, bits=bits)


def network(text: str, *, input_shape: tuple[int, ...], classes: int, kind: str = "pixels", seed: int = 0, bits: int = 8) -> ChipNetwork:
    architecture = parse_notation(text, input_shape=input_shape, classes=classes)
    rng = np.random.default_rng(seed)
    top = 2 ** (bits - 1) - 1

    def weight(*size: int) -> np.ndarray:
        values = rng.integers(-top, top + 1, size, dtype=np.int8)
        values.reshape(-1)[0] = top  # the full width is used
        return values

    layers = tuple(
        Layer(
            name=f"l{i}", shape=spec.out_shape, threshold=np.array(300), bias=np.zeros(spec.out_shape, dtype=np.int32), scale=np.array(1.0)
        )
        for i, spec in enumerate(architecture.layers, start=1)
    )
    sources = ["input", *(layer.name for layer in layers)]
    synapses: list[Synapse] = [
        _forward(spec, source, layer.name, weight) for spec, source, layer in zip(architecture.layers, sources, layers, strict=False)
    ]
    synapses.extend(_feedback(architecture, layers[-1].name, weight))
    readout = Readout(weight=weight(classes, layers[-1].size), bias=np.zeros(classes, dtype=np.int32), scale=np.array(1.0))
    return ChipNetwork(input=Input(kind=kind, shape=input_shape), layers=layers, synapses=tuple(synapses), readout=readout, steps=30)


def _forward(spec: LayerSpec, source: str, target: str, weight) -> Synapse:
    if spec.kind == "dense":
        return DenseSynapse(source=source, target=target, weight=weight(spec.channels, int(np.prod(spec.in_shape))))
    kernel = weight(spec.channels, spec.in_shape[0], spec.kernel, spec.kernel)
    return ConvSynapse(source=source, target=target, weight=kernel, stride=(spec.stride,) * 2, padding=(spec.padding,) * 2)


def _feedback(architecture: Architecture, last: str, weight) -> list[Synapse]:
    spec = architecture.feedback
    if spec is None:
        return []
    if spec.kind == "dense":
        return [DenseSynapse(source=last, target="l1", weight=weight(spec.channels, int(np.prod(spec.in_shape))))]
    if spec.kind == "conv":
        kernel = weight(spec.channels, spec.in_shape[0], spec.kernel, spec.kernel)
        return [ConvSynapse(source=last, target="l1", weight=kernel, padding=(spec.padding,) * 2)]
    kernel = weight(spec.in_shape[0], spec.channels, spec.kernel, spec.kernel)
    return [
        TransposedConvSynapse(
            source=last, target="l1", weight=kernel, stride=(2, 2), padding=(spec.padding,) * 2, output_padding=spec.output_padding
        )
    ]
