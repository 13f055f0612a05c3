"""Random network graphs: any forward connections, skips over layers, several loops, all kinds of connections, input into any layers."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from hypothesis import strategies as st

from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, HostDrive, Input, Layer, Synapse, TransposedConvSynapse
from tests.helpers.naive_delta import with_random_delta
from tests.helpers.strategies import (
    Shape,
    random_exponent,
    random_forward,
    random_host_drive,
    random_input_shape,
    random_layer,
    random_readout,
    random_values,
    random_weights,
    typical_current,
)


def number_of_graphs(usual: int) -> int:
    """How many random graphs a test tries: FSNN_GRAPHS, if that is more than usual."""
    return max(usual, int(os.environ.get("FSNN_GRAPHS", "0")))


@st.composite
def network_graphs(draw: st.DrawFn, *, delta: bool) -> tuple[ChipNetwork, np.ndarray]:
    """A network graph of 1 to 6 layers with up to 4 feedbacks and 4 further connections, and two samples."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    options = {"layers": draw(st.integers(1, 6)), "feedbacks": draw(st.integers(0, 4)), "skips": draw(st.integers(0, 4))}
    if delta:
        chip = random_graph(rng, kind=draw(st.sampled_from(["pixels", "current", "events"])), reset="subtract", strict=False, **options)
        chip = with_random_delta(rng, chip, activation=draw(st.sampled_from(["clip", "clip", "relu"])))
    else:
        kind, decay = draw(st.sampled_from(["pixels", "events", "current"])), draw(st.sampled_from([0, 0, 205]))
        chip = random_graph(rng, kind=kind, decay=decay, wild=draw(st.booleans()), **options)
    return chip, random_values(rng, chip, 2)


def random_graph(
    rng: np.random.Generator,
    *,
    layers: int,  # at least 1
    feedbacks: int,  # at most; fewer where no pair of layers is left that one fits
    skips: int,  # further forward connections, at most
    kind: str = "pixels",
    decay: int = 0,
    reset: str | None = None,
    strict: bool | None = None,
    wild: bool = False,
) -> ChipNetwork:
    """A valid network graph. Every layer has one connection from an earlier one, or the input, that gives it its shape."""
    spatial = bool(rng.random() < 0.8)
    shapes: dict[str, Shape] = {INPUT: random_input_shape(rng, spatial)}
    parts: list[Layer] = []
    synapses: list[Synapse] = []
    drive: HostDrive | None = None
    for position in range(layers):
        name = f"layer{position + 1}"
        hosted = position == 0 and kind == "current"
        earlier = list(shapes)[1 if kind == "current" and position else 0 :]
        source = earlier[-1] if rng.random() < 0.6 else str(rng.choice(earlier))
        synapse = random_forward(rng, source, name, shapes[source], spatial and bool(rng.random() < 0.85), wild, kind=kind)
        shapes[name] = synapse.output_shape(shapes[source])
        if hosted:
            drive = random_host_drive(rng, synapse, shapes[name])
        else:
            synapses.append(synapse)
        current = typical_current(synapse, kind if source == INPUT else "")
        parts.append(random_layer(rng, name, shapes[name], decay, reset, strict, wild and not hosted, gain=current))
    names = list(shapes)
    forward = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :] if not (a == INPUT and kind == "current")]
    synapses += _further(rng, forward, shapes, skips, wild, kind)
    synapses += _further(rng, _cycles(names[1:], synapses), shapes, feedbacks, wild, kind)
    order = rng.permutation(len(synapses))
    return ChipNetwork(
        input=Input(kind=kind, shape=shapes[INPUT]),  # type: ignore[arg-type]
        layers=tuple(parts),
        synapses=tuple(synapses[i] for i in order),
        readout=random_readout(rng, parts[-1].size, decay, wild),
        steps=int(rng.integers(1, 10)),
        host_drive=drive,
    )


def _further(
    rng: np.random.Generator, pairs: list[tuple[str, str]], shapes: dict[str, Shape], number: int, wild: bool, kind: str
) -> list[Synapse]:
    """Up to `number` connections between some of these pairs, the same pair twice included."""
    found: list[Synapse] = []
    for _ in range(4 * number):
        if not pairs or len(found) == number:
            break
        source, target = pairs[int(rng.integers(len(pairs)))]
        synapse = fitting(rng, source, target, shapes[source], shapes[target], wild, kind)
        found += [] if synapse is None else [synapse]
    return found


def _cycles(names: list[str], synapses: list[Synapse]) -> list[tuple[str, str]]:
    """Pairs (source, target) whose feedback closes a cycle: a forward path leads from the target to the source."""
    reach = {name: {name} for name in names}
    for name in names:  # in order, so that all paths that end on a layer are known
        for synapse in synapses:
            if synapse.target == name and synapse.source != INPUT:
                for start in names:
                    if synapse.source in reach[start]:
                        reach[start].add(name)
    return [(source, target) for target in names for source in names if source in reach[target]]


def fitting(rng: np.random.Generator, source: str, target: str, before: Shape, after: Shape, wild: bool, kind: str) -> Synapse | None:
    """A connection of any kind from a shape to a shape; None where there is none (a flat layer does not become a grid)."""
    highest = 3 if source == INPUT and kind == "pixels" else 12
    ends: dict[str, Any] = {"source": source, "target": target, "exponent": min(random_exponent(rng, wild), highest)}
    if len(after) == 1:
        if before == after and rng.random() < 0.3:
            return DenseSynapse(weight=np.diag(random_weights(rng, after)), **ends)  # a skip
        return DenseSynapse(weight=random_weights(rng, (after[0], int(np.prod(before)))), **ends)
    if len(before) == 1:
        return None
    if before[0] == after[0] and rng.random() < 0.4:
        groups = before[0]  # depthwise: a skip or a pooling
    else:
        groups = int(rng.choice([g for g in (1, 1, 2, 3) if before[0] % g == 0 and after[0] % g == 0]))
    convolutions = [_convolutions(n, m) for n, m in zip(before[1:], after[1:], strict=True)]
    if all(convolutions) and rng.random() < 0.8:
        (sy, ky, py, dy), (sx, kx, px, dx) = (options[int(rng.integers(len(options)))] for options in convolutions)
        weight = random_weights(rng, (after[0], before[0] // groups, ky, kx))
        return ConvSynapse(weight=weight, stride=(sy, sx), padding=(py, px), dilation=(dy, dx), groups=groups, **ends)
    spread = [_transposed_convolutions(n, m) for n, m in zip(before[1:], after[1:], strict=True)]
    if not all(spread):
        return None
    (sy, ky, py, oy), (sx, kx, px, ox) = (options[int(rng.integers(len(options)))] for options in spread)
    weight = random_weights(rng, (before[0], after[0], ky, kx))
    return TransposedConvSynapse(weight=weight, stride=(sy, sx), padding=(py, px), output_padding=(oy, ox), **ends)


def _convolutions(n: int, m: int) -> list[tuple[int, int, int, int]]:
    """(stride, kernel, padding, dilation) from n to m places; even kernels too."""
    choices = [(s, k, p, d) for s in (1, 2, 3) for k in (1, 2, 3, 4) for p in (0, 1, 2, 3) for d in (1, 2, 3)]
    return [(s, k, p, d) for s, k, p, d in choices if n + 2 * p > d * (k - 1) and (n + 2 * p - d * (k - 1) - 1) // s + 1 == m]


def _transposed_convolutions(n: int, m: int) -> list[tuple[int, int, int, int]]:
    """(stride, kernel, padding, output padding) from n to m places."""
    choices = [(s, k, p, o) for s in (1, 2, 3) for k in (1, 2, 3, 4, 5) for p in (0, 1, 2) for o in range(s) if 2 * p < k]
    return [(s, k, p, o) for s, k, p, o in choices if (n - 1) * s - 2 * p + k + o == m]
