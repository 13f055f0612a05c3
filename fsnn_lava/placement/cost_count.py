"""The work that a sample takes on the chip, counted from the messages of a run on any backend, with any graph.

With rate coding, the chip runs stock processes: a static input is written once, as a bias, and costs no synaptic operations; the readout
may be on the host; neurons are updated in every step of a window of 2**k steps (placement/chip_window.py). With delta encoding, messages
are graded, the window has no more steps than it needs, and rates that are clipped at 1 take two neurons, each with its own connections:
every message touches the weights of both. A run on the emulator has one neuron instead of two, so what the second one sends when a rate
exceeds 1 is counted only in a run of the stock graph.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.network import INPUT, READOUT, ChipNetwork, Layer, Synapse
from fsnn_lava.ir.relays import relay_chains, relay_name
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.space_to_depth import packed
from fsnn_lava.ir.stock_delta import stock_neurons
from fsnn_lava.ir.stock_network import lower_to_stock, stock_equivalent
from fsnn_lava.ir.synapse_operator import apply_operator
from fsnn_lava.placement.chip_window import ChipWindow, DeltaWindow
from fsnn_lava.placement.cost import ChipCost, LayerCost
from fsnn_lava.placement.placement import CLIP_PART, Placement

Floats = NDArray[np.float64]


def count_cost(chip: ChipNetwork, result: Result, placement: Placement, *, values: NDArray[np.uint8] | None = None) -> ChipCost:
    """Count the work of a sample of this run on the board of `placement`, as a ChipCost.

    A network with event input also needs the `values` [B, T, *shape] of the run's samples, whose events are messages.
    """
    if result.digest not in {chip.digest(), _chip_network(chip).digest()}:
        raise BadArgument("the result belongs to another network: pass the network that was run")
    if chip.input.kind == "events" and values is None:
        raise BadArgument("the cost of a network with event input depends on its events: pass the values of the run")
    events = None if values is None or chip.input.kind != "events" else np.count_nonzero(values, axis=1).mean(axis=0)
    return count_cost_of_messages(chip, [counts.mean(axis=0) for counts in result.counts], placement, steps=result.steps, events=events)


def count_cost_of_messages(
    chip: ChipNetwork, messages: Sequence[Floats], placement: Placement, *, steps: int, events: Floats | None = None
) -> ChipCost:
    """Count the work of a sample in which every neuron sends `messages`, [*shape] per layer, and the input `events`, over T = `steps`."""
    graph = _graph(chip, messages, events)
    first = 2 if chip.input.kind == "events" else 1
    kind = ChipWindow if chip.delta is None else DeltaWindow
    window = kind(steps=steps, layers=len(chip.layers), first=first, longest=chip.longest_chip_delay)
    cores = _cores(placement)
    layers = [_layer_cost(graph, layer, window.length, cores.get(layer.name)) for layer in graph.chip.layers]
    classes = chip.readout.classes if placement.readout == "chip" else 0
    if classes:
        layers.append(_readout_cost(layers[-1].messages, classes, window.length, cores.get(READOUT)))
    written, read = _host_numbers(chip, classes)
    relays = _relay_costs(graph, window.length, cores, delays=placement.board.synapse_delay_max > 0)
    return ChipCost(
        board=placement.board,
        layers=(*layers, *relays),
        chips=max(1, placement.chips or 1),
        steps=window.length,
        written=written,
        read=read + sum(layer.messages for layer in layers),
    )


def _cores(placement: Placement) -> dict[str, int | None]:
    """Return the number of cores per layer, counting both neurons of a pair together; None if a neuron does not fit on a core."""
    found: dict[str, int | None] = {}
    for placed in placement.layers:
        name, before = placed.name.removesuffix(CLIP_PART), found.get(placed.name.removesuffix(CLIP_PART), 0)
        found[name] = None if before is None or placed.cores is None else before + placed.cores
    return found


@dataclass(frozen=True)
class _Graph:
    """The network as the chip holds it, what every layer sends ([*shape]), the payload of a message in bits, and neurons per rate."""

    chip: ChipNetwork
    sent: Mapping[str, Floats]
    bits: int
    parts: int


def _chip_network(chip: ChipNetwork) -> ChipNetwork:
    """Return the network that the chip holds; one without a stock equivalent is counted unchanged."""
    if chip.delta is not None:
        return chip
    try:
        return stock_equivalent(chip)[0]
    except BadNetwork:
        return chip


def _graph(chip: ChipNetwork, messages: Sequence[Floats], events: Floats | None) -> _Graph:
    """Return the network, packed as the stock graph packs its layers; a rate change takes the bits of the largest rate, plus a sign."""
    by_name = {layer.name: np.asarray(each, np.float64) for layer, each in zip(chip.layers, messages, strict=True)}
    network, bits, parts = _chip_network(chip), 0, 1
    if chip.delta is not None:
        bits, parts = chip.delta.ceiling.bit_length() + 1, stock_neurons(chip.delta)
    lowered = lower_to_stock(network)
    shapes = {layer.name: layer.shape for layer in network.layers}
    by_name = {name: packed(each[None], shapes[name], lowered.factors[name])[0] for name, each in by_name.items()}
    return _Graph(lowered.chip, by_name if events is None else {**by_name, INPUT: np.asarray(events, np.float64)}, bits, parts)


def _layer_cost(graph: _Graph, layer: Layer, steps: int, cores: int | None) -> LayerCost:
    sources = [synapse for synapse in graph.chip.into(layer) if synapse.source in graph.sent]
    return LayerCost(
        name=layer.name,
        cores=cores,
        messages=float(graph.sent[layer.name].sum()),
        message_bits=graph.bits,
        arriving=float(sum(graph.sent[synapse.source].sum() for synapse in sources)),
        operations=graph.parts * sum(_touched(synapse, graph.sent[synapse.source]) for synapse in sources),
        updates=graph.parts * layer.size * steps,
    )


def _relay_costs(graph: _Graph, steps: int, cores: Mapping[str, int | None], *, delays: bool) -> list[LayerCost]:
    """Count the cost of relays, which the host does not read: they repeat the messages of their layer, each through one weight."""
    found = []
    for name, length in relay_chains(graph.chip, delays=delays).items():
        messages, size = float(graph.sent[name].sum()), graph.chip.layer(name).size
        for relay in (relay_name(name, number) for number in range(1, length + 1)):
            found.append(
                LayerCost(
                    name=relay,
                    cores=cores.get(relay),
                    messages=messages,
                    message_bits=graph.bits,
                    arriving=messages,
                    operations=messages,
                    updates=graph.parts * size * steps,
                )
            )
    return found


def _readout_cost(arriving: float, classes: int, steps: int, cores: int | None) -> LayerCost:
    return LayerCost(
        name=READOUT,
        cores=cores,
        messages=0.0,
        message_bits=0,
        arriving=arriving,
        operations=arriving * classes,
        updates=classes * steps,
    )


def _touched(synapse: Synapse, messages: Floats) -> float:
    """Return how many stored weights the messages [*shape] touch."""
    ones = torch.ones(synapse.weight.shape, dtype=torch.float64)
    return float(apply_operator(synapse, ones, torch.from_numpy(np.ascontiguousarray(messages[None]))).sum())


def _host_numbers(chip: ChipNetwork, classes: int) -> tuple[int, int]:
    """Count the numbers that the host writes to the chip and reads from it for one sample, not counting messages.

    Written per neuron: mantissa and exponent of the bias to wake it, both and a potential to silence it, and both once more at rest; a
    neuron that subtracts also takes r when it wakes, and three states at rest. Its potential is read, in two parts if it subtracts
    (backends/lava/loihi2/neuron.py). With delta encoding, the sum, activation and residue of every neuron, including the second of a pair,
    are written to wake it, to silence it, and at rest; the sum is read (backends/lava/loihi2/delta_graph.py).
    """
    written = read = 0
    if chip.delta is not None:
        neurons = sum(layer.size for layer in chip.layers)
        return 9 * stock_neurons(chip.delta) * neurons + 6 * classes, neurons + classes
    for layer in chip.layers:
        subtracts = layer.reset == "subtract"
        written += prod(layer.shape) * (7 + 4 * subtracts)
        read += prod(layer.shape) * (1 + subtracts)
    return written + 7 * classes, read + classes
