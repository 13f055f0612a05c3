"""Random integer networks of every shape the package knows, with asymmetric weights, for the tests."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, HostDrive, Input, Layer, Readout, Synapse, TransposedConvSynapse

Kind = Literal["pixels", "events", "current"]


def _weights(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    return rng.integers(-127, 128, shape)


def dense_network(
    seed: int = 0,
    *,
    kind: Kind = "pixels",
    inputs: int = 7,
    size: int = 5,
    classes: int = 3,
    decay: int = 0,
    exponent: int = -6,
    **layer: Any,
) -> ChipNetwork:
    """One dense layer with feedback onto itself, as 400 (F400)."""
    rng = np.random.default_rng(seed)
    hidden = Layer(
        name="l1",
        shape=(size,),
        threshold=np.array(700),
        bias=rng.integers(-300, 301, size),
        scale=np.array(2.0 / 700),
        decay=decay,
        **layer,
    )
    synapses: list[Synapse] = [DenseSynapse(source="l1", target="l1", weight=_weights(rng, (size, size)))]
    drive = None
    if kind == "current":
        drive = HostDrive(weight=rng.normal(size=(size, inputs)) / 255, bias=rng.normal(size=size))
    else:
        synapses.insert(
            0, DenseSynapse(source="input", target="l1", weight=_weights(rng, (size, inputs)), exponent=exponent if kind == "pixels" else 0)
        )
    readout = Readout(weight=_weights(rng, (classes, size)), bias=rng.integers(-9, 10, classes), scale=np.array(0.01), decay=decay)
    names = tuple(f"class é {i}" for i in range(classes))
    return ChipNetwork(
        input=Input(kind=kind, shape=(inputs,)),
        layers=(hidden,),
        synapses=tuple(synapses),
        readout=readout,
        steps=20,
        host_drive=drive,
        class_names=names,
        notes={"made": "für die Tests"},
    )


def skip_network(seed: int = 0, *, kind: Kind = "pixels", decay: int = 0, steps: int = 16, **layer: Any) -> ChipNetwork:
    """Three layers, a skip over the second, a loop over all and one of the second onto itself; even kernels, groups, dilation."""
    rng = np.random.default_rng(seed)
    shapes: list[tuple[int, int, int]] = [(2, 5, 6), (4, 5, 6), (6, 6, 5), (4, 5, 6)]
    layers = tuple(
        Layer(
            name=f"l{i}",
            shape=shape,
            threshold=np.array(600 + 50 * i),
            bias=rng.integers(-150, 251, shape),
            scale=np.array(0.01),
            decay=decay,
            **layer,
        )
        for i, shape in enumerate(shapes[1:], start=1)
    )
    synapses: tuple[Synapse, ...] = (
        ConvSynapse(
            source="input", target="l1", weight=_weights(rng, (4, 2, 3, 3)), padding=(1, 1), exponent=-6 if kind == "pixels" else 0
        ),
        ConvSynapse(source="l1", target="l2", weight=_weights(rng, (6, 2, 2, 4)), padding=(1, 1), groups=2),
        ConvSynapse(source="l2", target="l3", weight=_weights(rng, (4, 6, 4, 2)), padding=(1, 1)),
        ConvSynapse(source="l1", target="l3", weight=_weights(rng, (4, 1, 3, 3)), padding=(2, 2), groups=4, dilation=(2, 2), exponent=1),
        ConvSynapse(source="l3", target="l1", weight=_weights(rng, (4, 4, 1, 3)), padding=(0, 1)),
        ConvSynapse(source="l2", target="l2", weight=_weights(rng, (6, 3, 3, 1)), padding=(1, 0), groups=2),
    )
    size = layers[-1].size
    readout = Readout(weight=_weights(rng, (3, size)), bias=rng.integers(-9, 10, 3), scale=np.array(0.02), decay=decay)
    return ChipNetwork(input=Input(kind=kind, shape=shapes[0]), layers=layers, synapses=synapses, readout=readout, steps=steps)


def conv_network(seed: int = 0, *, kind: Kind = "pixels", decay: int = 0, per_channel: bool = False, **layer: Any) -> ChipNetwork:
    """Two convolutional layers and a transposed convolution back, sizes that all differ."""
    rng = np.random.default_rng(seed)
    shapes: list[tuple[int, int, int]] = [(2, 6, 8), (3, 6, 8), (4, 3, 4)]

    def threshold(channels: int) -> np.ndarray[Any, Any]:
        return rng.integers(400, 900, channels) if per_channel else np.array(600)

    layers = tuple(
        Layer(
            name=f"l{i}",
            shape=shape,
            threshold=threshold(shape[0]),
            bias=rng.integers(-200, 201, shape),
            scale=np.full(shape[0], 0.01) if per_channel else np.array(0.01),
            decay=decay,
            **layer,
        )
        for i, shape in enumerate(shapes[1:], start=1)
    )
    feedback = TransposedConvSynapse(
        source="l2", target="l1", weight=_weights(rng, (4, 3, 3, 3)), stride=(2, 2), padding=(1, 1), output_padding=(1, 1)
    )
    synapses: list[Synapse] = [
        ConvSynapse(source="l1", target="l2", weight=_weights(rng, (4, 3, 3, 3)), stride=(2, 2), padding=(1, 1)),
        feedback,
    ]
    drive = None
    if kind == "current":
        drive = HostDrive(weight=rng.normal(size=(3, 2, 3, 5)) / 255, bias=rng.normal(size=shapes[1]), padding=(1, 2))
    else:
        weight = _weights(rng, (3, 2, 3, 5))
        synapses.insert(0, ConvSynapse(source="input", target="l1", weight=weight, padding=(1, 2), exponent=-6 if kind == "pixels" else 0))
    readout = Readout(weight=_weights(rng, (5, 48)), bias=rng.integers(-9, 10, 5), scale=np.array(0.02), exponent=0, decay=decay)
    return ChipNetwork(
        input=Input(kind=kind, shape=shapes[0]), layers=layers, synapses=tuple(synapses), readout=readout, steps=16, host_drive=drive
    )
