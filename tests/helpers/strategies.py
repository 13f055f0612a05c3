"""Random small ChipNetworks and inputs for them, every feature of the IR included. Same generator state, same network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.ir.network import (
    INPUT,
    ChipNetwork,
    ConvSynapse,
    DenseSynapse,
    HostDrive,
    Input,
    Layer,
    Readout,
    Synapse,
    TransposedConvSynapse,
)

Shape = tuple[int, ...]


def random_network(
    rng: np.random.Generator,
    *,
    layers: int | None = None,  # 1 … 5
    kind: str | None = None,  # input: "pixels", "events" or "current"
    decay: int | None = None,
    reset: str | None = None,  # "subtract" or "zero", for all layers
    strict: bool | None = None,
    feedback: bool | None = None,
    dense: bool | None = None,  # True: only dense layers, False: the first layer is a convolution
    wild: bool = False,  # exponents, biases and thresholds up to the limits: clipping and shifts to the right
) -> ChipNetwork:
    """A valid network with asymmetric random weights; whatever is not given is drawn from `rng`."""
    number = layers or int(rng.integers(1, 6))
    kind = kind or str(rng.choice(["pixels", "events", "current"]))
    leak = int(rng.choice([0, 0, 1, 205, 1024, 4095])) if decay is None else decay
    spatial = bool(rng.random() < 0.7) if dense is None else not dense
    shape: Shape = random_input_shape(rng, spatial)
    source, sources = INPUT, shape
    parts: list[Layer] = []
    synapses: list[Synapse] = []
    drive: HostDrive | None = None
    for position in range(number):
        name = f"layer{position + 1}"
        synapse = random_forward(rng, source, name, sources, spatial, wild, kind=kind)
        target = synapse.output_shape(sources)
        hosted = position == 0 and kind == "current"
        if hosted:
            drive = random_host_drive(rng, synapse, target)
        else:
            synapses.append(synapse)
        parts.append(
            random_layer(
                rng, name, target, leak, reset, strict, wild and not hosted, gain=typical_current(synapse, kind if position == 0 else "")
            )
        )
        source, sources = name, target
        spatial = spatial and bool(rng.random() < 0.8)
    wanted = bool(rng.random() < 0.85) if feedback is None else feedback
    if wanted:
        synapses.append(_feedback(rng, parts[-1], parts[0], wild))
        if number > 1 and rng.random() < 0.2:  # a layer onto itself
            middle = parts[int(rng.integers(number))]
            synapses.append(_feedback(rng, middle, middle, wild))
    return ChipNetwork(
        input=Input(kind=kind, shape=shape),  # type: ignore[arg-type]
        layers=tuple(parts),
        synapses=tuple(synapses),
        readout=random_readout(rng, parts[-1].size, leak, wild),
        steps=int(rng.integers(1, 13)),
        host_drive=drive,
    )


def random_values(rng: np.random.Generator, chip: ChipNetwork, samples: int, *, steps: int | None = None) -> NDArray[np.uint8]:
    """uint8 inputs for `chip`: [B, *shape], or [B, T, *shape] of sparse graded events."""
    if chip.input.kind != "events":
        values = rng.integers(0, 256, (samples, *chip.input.shape))
        return np.where(rng.random(values.shape) < 0.3, 0, values).astype(np.uint8)
    shape = (samples, steps or chip.steps, *chip.input.shape)
    events = rng.random(shape) < rng.choice([0.05, 0.3, 1.0])
    return np.where(events, rng.integers(1, int(rng.choice([2, 4, 256])), shape), 0).astype(np.uint8)


def random_input_shape(rng: np.random.Generator, spatial: bool) -> Shape:
    if not spatial:
        return (int(rng.integers(1, 13)),)
    return (int(rng.choice([1, 2, 3, 4])), int(rng.integers(3, 9)), int(rng.integers(3, 9)))


def random_weights(rng: np.random.Generator, shape: Any) -> NDArray[np.int64]:
    top = int(rng.choice([1, 7, limits.WEIGHT_MAX]))
    weight = rng.integers(-top, top + 1, shape)
    return np.where(rng.random(shape) < rng.choice([0.0, 0.5]), 0, weight)


def random_exponent(rng: np.random.Generator, wild: bool) -> int:
    if wild:
        return int(rng.choice([-24, -9, -7, -6, -1, 0, 3, 12]))
    return int(rng.choice([-8, -3, 0, 0, 0, 1]))


def random_forward(rng: np.random.Generator, source: str, target: str, shape: Shape, spatial: bool, wild: bool, *, kind: str) -> Synapse:
    exponent = min(random_exponent(rng, wild), 3 if source == INPUT and kind == "pixels" else 12)  # a constant current must fit 32 bits
    by_host = source == INPUT and kind == "current"
    if not spatial or len(shape) == 1:
        weight = random_weights(rng, (int(rng.integers(1, 14)), int(np.prod(shape))))
        return DenseSynapse(source=source, target=target, weight=weight, exponent=exponent)
    if rng.random() < 0.15 and shape[1] < 7 and not by_host:
        return _transposed(rng, source, target, shape, int(rng.integers(1, 5)), exponent)
    groups = int(rng.choice([g for g in (1, 1, 2, 3) if shape[0] % g == 0 and not (by_host and g > 1)]))
    kernel = [int(rng.integers(1, min(n, 5) + 1)) for n in shape[1:]]
    padding = tuple(int(rng.integers(0, k // 2 + 1)) for k in kernel)
    stride = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    if rng.random() < 0.4:  # keep the grid, so that feedback over many layers can be a convolution
        kernel, padding, stride = [3, 1], (1, 0), (1, 1)
    weight = random_weights(rng, (groups * int(rng.integers(1, 5)), shape[0] // groups, *kernel))
    return ConvSynapse(source=source, target=target, weight=weight, exponent=exponent, stride=stride, padding=padding, groups=groups)  # type: ignore[arg-type]


def _transposed(rng: np.random.Generator, source: str, target: str, shape: Shape, channels: int, exponent: int) -> Synapse:
    stride = (int(rng.integers(1, 4)), int(rng.integers(1, 4)))
    kernel = [int(rng.integers(1, 5)) for _ in range(2)]
    padding = tuple(int(rng.integers(0, (k - 1) // 2 + 1)) for k in kernel)
    output_padding = tuple(int(rng.integers(0, s)) for s in stride)
    weight = random_weights(rng, (shape[0], channels, *kernel))
    return TransposedConvSynapse(
        source=source,
        target=target,
        weight=weight,
        exponent=exponent,
        stride=stride,
        padding=padding,
        output_padding=output_padding,  # type: ignore[arg-type]
    )


def _feedback(rng: np.random.Generator, source: Layer, target: Layer, wild: bool) -> Synapse:
    """Any kind whose output has the target's shape: convolution on one grid, transposed onto a larger grid, else dense (by way of 1x1)."""
    ends: dict[str, Any] = {"source": source.name, "target": target.name, "exponent": random_exponent(rng, wild)}
    if len(target.shape) == 1:
        return DenseSynapse(weight=random_weights(rng, (target.size, source.size)), **ends)
    if len(source.shape) == 1:  # a dense last layer is a 1x1 grid only if it is written as one; keep the loop on the first layer
        return _feedback(rng, target, target, wild)
    same = source.shape[1:] == target.shape[1:]
    if same and rng.random() < 0.7:
        reach = [int(rng.integers(0, 3)) for _ in range(2)]
        weight = random_weights(rng, (target.shape[0], source.shape[0], 2 * reach[0] + 1, 2 * reach[1] + 1))
        return ConvSynapse(weight=weight, padding=tuple(reach), **ends)  # type: ignore[arg-type]
    return _fitting_transposed(rng, source, target, ends)


def _fitting_transposed(rng: np.random.Generator, source: Layer, target: Layer, ends: dict[str, Any]) -> Synapse:
    """A transposed convolution with exactly the target's size where one exists, else the layer onto itself."""
    choices = [
        [
            (s, k, p, o)
            for s in (1, 2, 3)
            for k in (1, 2, 3, 4, 5)
            for p in (0, 1, 2)
            for o in range(s)
            if (n - 1) * s - 2 * p + k + o == m and 2 * p < k
        ]
        for n, m in zip(source.shape[1:], target.shape[1:], strict=True)
    ]
    if not all(choices):
        ends = {**ends, "source": target.name}
        return ConvSynapse(weight=random_weights(rng, (target.shape[0], target.shape[0], 3, 1)), padding=(1, 0), **ends)
    (sy, ky, py, oy), (sx, kx, px, ox) = (options[int(rng.integers(len(options)))] for options in choices)
    weight = random_weights(rng, (source.shape[0], target.shape[0], ky, kx))
    return TransposedConvSynapse(weight=weight, stride=(sy, sx), padding=(py, px), output_padding=(oy, ox), **ends)


def typical_current(synapse: Synapse, kind: str) -> float:
    """A typical size of the current, weight units: thresholds near it give rates from silent to saturated."""
    message = 80.0 if kind in ("pixels", "events") else 1.0
    fan_in = synapse.weight[0].size
    return float(max(1.0, np.abs(synapse.weight).mean() * np.sqrt(fan_in) * message * 2.0**synapse.exponent))


def random_layer(
    rng: np.random.Generator, name: str, shape: Shape, decay: int, reset: str | None, strict: bool | None, wild: bool, *, gain: float
) -> Layer:
    size = shape[:1] if rng.random() < 0.5 else ()
    top = (
        limits.THRESHOLD_MAX if wild and rng.random() < 0.3 else min(limits.THRESHOLD_MAX, max(2, int(gain * rng.choice([0.5, 2.0, 8.0]))))
    )
    reach = limits.BIAS_MAX if wild and rng.random() < 0.3 else min(limits.BIAS_MAX, max(1, int(gain * rng.choice([0.1, 1.0]))))
    return Layer(
        name=name,
        shape=shape,
        threshold=rng.integers(1, top + 1, size),
        bias=rng.integers(-reach, reach + 1, shape),
        scale=0.01 + rng.random(size),
        decay=decay,
        reset=reset or str(rng.choice(["subtract", "subtract", "zero"])),  # type: ignore[arg-type]
        strict=bool(rng.random() < 0.3) if strict is None else strict,
    )


def random_host_drive(rng: np.random.Generator, synapse: Synapse, target: Shape) -> HostDrive | None:
    if isinstance(synapse, DenseSynapse):
        return HostDrive(weight=rng.normal(0, 0.3, synapse.weight.shape), bias=rng.normal(0, 5, target))
    stride, padding = getattr(synapse, "stride", (1, 1)), getattr(synapse, "padding", (0, 0))
    return HostDrive(weight=rng.normal(0, 0.3, synapse.weight.shape), bias=rng.normal(0, 5, target), stride=stride, padding=padding)


def random_readout(rng: np.random.Generator, size: int, decay: int, wild: bool) -> Readout:
    classes = int(rng.integers(2, 6))
    reach = limits.BIAS_MAX if wild else 50
    return Readout(
        weight=random_weights(rng, (classes, size)),
        bias=rng.integers(-reach, reach + 1, classes),
        scale=np.float64(0.125 + rng.random()),
        exponent=random_exponent(rng, wild),
        decay=decay,
    )
