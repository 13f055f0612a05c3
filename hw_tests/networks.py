"""Small networks in which every number can be worked out by hand."""

from __future__ import annotations

from typing import Any

import numpy as np

from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, Input, Layer, Readout, Synapse, TransposedConvSynapse

STOCK_LIF: dict[str, Any] = {"reset": "zero", "strict": True}  # what Lava's LIF does


def layer(name: str, shape: tuple[int, ...], *, threshold: int, bias: int = 0, **options: Any) -> Layer:
    return Layer(
        name=name, shape=shape, threshold=np.array(threshold), bias=np.full(shape, bias, dtype=np.int32), scale=np.array(1.0), **options
    )


def readout(size: int, *, decay: int = 0) -> Readout:
    """Two classes: one counts all spikes, the other is inhibited by them and drifts."""
    weight = np.stack([np.ones(size, dtype=np.int8), np.full(size, -3, dtype=np.int8)])
    return Readout(weight=weight, bias=np.array([0, 2], dtype=np.int32), scale=np.array(1.0), decay=decay)


def one_neuron(*, threshold: int, decay: int = 0, steps: int = 8, **options: Any) -> ChipNetwork:
    """A neuron that receives the value of the pixel, in weight units, in every step."""
    neuron = layer("l1", (1,), threshold=threshold, decay=decay, **options)
    inward = DenseSynapse(source="input", target="l1", weight=np.array([[1]], dtype=np.int8))
    return ChipNetwork(
        input=Input(kind="pixels", shape=(1,)), layers=(neuron,), synapses=(inward,), readout=readout(1, decay=decay), steps=steps
    )


def ring(layers: int, *, steps: int, **options: Any) -> ChipNetwork:
    """Every layer passes spikes on, the last one to the first, so that an event circulates forever."""
    names = [f"l{i}" for i in range(1, layers + 1)]
    one = np.array([[2]], dtype=np.int8)
    synapses = [DenseSynapse(source=s, target=t, weight=one) for s, t in zip(["input", *names], names, strict=False)]
    synapses.append(DenseSynapse(source=names[-1], target="l1", weight=one))
    neurons = tuple(layer(name, (1,), threshold=2, **options) for name in names)
    return ChipNetwork(input=Input(kind="events", shape=(1,)), layers=neurons, synapses=tuple(synapses), readout=readout(1), steps=steps)


def with_skip(*, steps: int, **options: Any) -> ChipNetwork:
    """Three layers; the third fires only if what comes by way of the second and what skips it arrive together."""
    names, one, half = ["l1", "l2", "l3"], np.array([[2]], dtype=np.int8), np.array([[1]], dtype=np.int8)
    synapses = [DenseSynapse(source=s, target=t, weight=one) for s, t in (("input", "l1"), ("l1", "l2"))]
    synapses += [DenseSynapse(source=s, target="l3", weight=half) for s in ("l2", "l1")]
    neurons = tuple(layer(name, (1,), threshold=2, **options) for name in names)
    return ChipNetwork(input=Input(kind="events", shape=(1,)), layers=neurons, synapses=tuple(synapses), readout=readout(1), steps=steps)


def with_synapse(kind: str, *, seed: int = 0, steps: int = 12, **options: Any) -> ChipNetwork:
    """Two layers; `kind` is the kind of the feedback connection from the second to the first."""
    rng = np.random.default_rng(seed)

    def weight(*shape: int) -> np.ndarray:
        return rng.integers(-90, 91, shape).astype(np.int8)

    if kind == "dense":
        shapes: list[tuple[int, ...]] = [(6,), (5,), (4,)]
        synapses: list[Synapse] = [
            DenseSynapse(source="input", target="l1", weight=weight(5, 6), exponent=-5),
            DenseSynapse(source="l1", target="l2", weight=weight(4, 5)),
            DenseSynapse(source="l2", target="l1", weight=weight(5, 4)),
        ]
    else:
        shapes, synapses = _spatial(kind, weight)
    layers = tuple(
        Layer(
            name=f"l{i}", shape=s, threshold=np.array(150), bias=rng.integers(-20, 60, s).astype(np.int32), scale=np.array(1.0), **options
        )
        for i, s in enumerate(shapes[1:], start=1)
    )
    classes = Readout(weight=weight(3, int(np.prod(shapes[2]))), bias=np.array([1, -2, 3], dtype=np.int32), scale=np.array(1.0))
    return ChipNetwork(input=Input(kind="pixels", shape=shapes[0]), layers=layers, synapses=tuple(synapses), readout=classes, steps=steps)


def _spatial(kind: str, weight: Any) -> tuple[list[tuple[int, ...]], list[Synapse]]:
    inward = ConvSynapse(source="input", target="l1", weight=weight(2, 1, 3, 3), padding=(1, 1), exponent=-5)
    if kind == "transposed":
        forward = ConvSynapse(source="l1", target="l2", weight=weight(3, 2, 3, 3), stride=(2, 2), padding=(1, 1))
        back: Synapse = TransposedConvSynapse(
            source="l2", target="l1", weight=weight(3, 2, 3, 3), stride=(2, 2), padding=(1, 1), output_padding=(1, 1)
        )
        return [(1, 4, 6), (2, 4, 6), (3, 2, 3)], [inward, forward, back]
    groups = 2 if kind == "grouped" else 1
    forward = ConvSynapse(source="l1", target="l2", weight=weight(4, 2 // groups, 3, 3), padding=(1, 1), groups=groups)
    back = ConvSynapse(source="l2", target="l1", weight=weight(2, 4 // groups, 3, 1), padding=(1, 0), groups=groups)
    return [(1, 4, 5), (2, 4, 5), (4, 4, 5)], [inward, forward, back]
