"""What one sample costs on the chip: counts of the work of the chip's own graph; time and energy where a board file has constants.

Whatever graph a run used, the chip runs stock processes: a static input is written once, as a bias, and costs no synaptic operation; the
readout may be the host's; neurons are updated in every step of a window of 2**k steps (placement/chip_window.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import INPUT, READOUT, ChipNetwork, Layer, Synapse
from fsnn_lava.ir.rate_map import apply_linear
from fsnn_lava.ir.relays import relay_chains, relay_name
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.space_to_depth import packed
from fsnn_lava.ir.stock_network import Lowered, lower_to_stock, stock_equivalent
from fsnn_lava.placement.board import Board, Range
from fsnn_lava.placement.chip_window import ChipWindow
from fsnn_lava.placement.placement import Placement

TIMES = ("time_per_step", "time_per_synaptic_operation", "time_per_neuron_update", "time_per_message")
ENERGIES = ("energy_per_synaptic_operation", "energy_per_neuron_update", "energy_per_message")


@dataclass(frozen=True, kw_only=True)
class LayerCost:
    """One layer, per sample, on average over the samples of a run."""

    name: str
    cores: int | None  # as placed; None where a neuron is too much for a core
    messages: float  # spikes that it sends
    operations: float  # weights that the messages to it touch
    updates: int  # neurons times chip steps

    def busiest_core(self, steps: int) -> tuple[float, float]:
        """Operations and updates per step and core, if a layer's cores share its work evenly: a lower bound of the busiest one's."""
        cores = max(1, self.cores or 1) * steps
        return self.operations / cores, self.updates / cores


@dataclass(frozen=True, kw_only=True)
class ChipCost:
    """One sample on the chip. Times in seconds and energies in joules are ranges, or None if the board file lacks a constant."""

    board: Board
    layers: tuple[LayerCost, ...]
    steps: int  # chip steps, those in which nothing is counted included
    written: int  # numbers that the host writes to the chip
    read: float  # numbers and spikes that it reads

    @property
    def messages(self) -> float:
        return sum(layer.messages for layer in self.layers)

    @property
    def operations(self) -> float:
        return sum(layer.operations for layer in self.layers)

    @property
    def updates(self) -> int:
        return sum(layer.updates for layer in self.layers)

    @property
    def missing(self) -> tuple[str, ...]:
        """Constants that the board file does not have."""
        return tuple(name for name in (*TIMES, *ENERGIES, "static_power", "time_per_host_number") if name not in self.board.constants)

    @property
    def time_per_step(self) -> Range | None:
        """Max-affine: the largest of a fixed time, and operations, updates and messages of the busiest core times the time of each."""
        found = self._constants(TIMES)
        if found is None:
            return None
        fixed, per_operation, per_update, per_message = found
        operations, updates = (max(part) for part in zip(*(layer.busiest_core(self.steps) for layer in self.layers), strict=True))
        messages = max(layer.messages for layer in self.layers) / self.steps
        terms = (fixed, per_operation.times(operations), per_update.times(updates), per_message.times(messages))
        return Range(max(term.low for term in terms), max(term.high for term in terms))

    @property
    def time(self) -> Range | None:
        """Without host I/O."""
        return None if self.time_per_step is None else self.time_per_step.times(self.steps)

    @property
    def time_with_host(self) -> Range | None:
        host = self._constants(("time_per_host_number",))
        return None if self.time is None or host is None else self.time.plus(host[0].times(self.written + self.read))

    @property
    def dynamic_energy(self) -> Range | None:
        found = self._constants(ENERGIES)
        if found is None:
            return None
        parts = [constant.times(count) for constant, count in zip(found, (self.operations, self.updates, self.messages), strict=True)]
        return parts[0].plus(parts[1]).plus(parts[2])

    def static_energy(self, time: Range | None) -> Range | None:
        """Static power of the board's chips over `time`."""
        power = self._constants(("static_power",))
        return None if time is None or power is None else Range(power[0].low * time.low, power[0].high * time.high)

    def _constants(self, names: tuple[str, ...]) -> list[Range] | None:
        found = [self.board.constants.get(name) for name in names]
        return None if any(one is None for one in found) else [one for one in found if one is not None]

    def to_dict(self) -> dict[str, Any]:
        """Return numbers, strings, lists and dicts that json.dumps accepts."""
        figures = {
            "time_per_step": self.time_per_step,
            "time": self.time,
            "time_with_host_io": self.time_with_host,
            "dynamic_energy": self.dynamic_energy,
            "static_energy": self.static_energy(self.time),
            "static_energy_with_host_io": self.static_energy(self.time_with_host),
        }
        return {
            "chip_steps": self.steps,
            "messages": self.messages,
            "synaptic_operations": self.operations,
            "neuron_updates": self.updates,
            "host_numbers_written": self.written,
            "host_numbers_read": self.read,
            "layers": [dict(vars(layer)) for layer in self.layers],
            **{name: None if figure is None else [figure.low, figure.high] for name, figure in figures.items()},
            "missing_constants": list(self.missing),
            "sources": {name: self.board.sources[name] for name in self.board.constants},
        }


def chip_cost(chip: ChipNetwork, result: Result, placement: Placement, *, values: NDArray[np.uint8] | None = None) -> ChipCost:
    """What a sample of this run costs on the board of `placement`, whatever backend and graph ran it.

    `values` [B, T, *shape] of the run's samples are needed for a network with event input, whose events are messages.
    """
    network, _ = stock_equivalent(chip)
    if result.digest not in {chip.digest(), network.digest()}:
        raise BadArgument("the result belongs to another network: pass the network that was run")
    if network.input.kind == "events" and values is None:
        raise BadArgument("a network with event input costs what its events cost: pass the values of the run")
    lowered = lower_to_stock(network)
    sent = _sent(network, result, lowered, values)
    first = 2 if network.input.kind == "events" else 1
    window = ChipWindow(steps=result.steps, layers=len(chip.layers), first=first, longest=network.longest_chip_delay)
    cores = {layer.name: layer.cores for layer in placement.layers}
    layers = [_layer_cost(lowered.chip, layer, sent, window.length, cores.get(layer.name)) for layer in lowered.chip.layers]
    layers += _relay_costs(lowered.chip, sent, window.length, cores, delays=placement.board.synapse_delay_max > 0)
    classes, last = chip.readout.classes, next(layer for layer in layers if layer.name == chip.layers[-1].name)
    if placement.readout == "chip":
        operations, updates = last.messages * classes, classes * window.length
        layers.append(LayerCost(name=READOUT, cores=cores.get(READOUT), messages=0.0, operations=operations, updates=updates))
    written, read = _host_numbers(chip, classes if placement.readout == "chip" else 0)
    spikes = sum(layer.messages for layer in layers)
    return ChipCost(board=placement.board, layers=tuple(layers), steps=window.length, written=written, read=read + spikes)


def _sent(network: ChipNetwork, result: Result, lowered: Lowered, values: NDArray[np.uint8] | None) -> dict[str, NDArray[np.float64]]:
    """Messages of every neuron over a sample, [B, *shape], packed as the stock graph packs them; events by their number."""
    found = {
        layer.name: packed(counts.astype(np.float64), layer.shape, lowered.factors[layer.name])
        for layer, counts in zip(network.layers, result.counts, strict=True)
    }
    if values is not None and network.input.kind == "events":
        found[INPUT] = np.count_nonzero(values, axis=1).astype(np.float64)
    return found


def _layer_cost(chip: ChipNetwork, layer: Layer, sent: dict[str, NDArray[np.float64]], steps: int, cores: int | None) -> LayerCost:
    operations = sum(_touched(synapse, sent[synapse.source]) for synapse in chip.into(layer))
    messages = float(sent[layer.name].sum(axis=tuple(range(1, sent[layer.name].ndim))).mean())
    return LayerCost(name=layer.name, cores=cores, messages=messages, operations=operations, updates=layer.size * steps)


def _relay_costs(
    chip: ChipNetwork, sent: dict[str, NDArray[np.float64]], steps: int, cores: dict[str, int | None], *, delays: bool
) -> list[LayerCost]:
    """Relays repeat the messages of their layer, each by one weight."""
    found = []
    for name, length in relay_chains(chip, delays=delays).items():
        messages, size = float(sent[name].sum() / max(1, len(sent[name]))), chip.layer(name).size
        for number in range(1, length + 1):
            relay = relay_name(name, number)
            found.append(LayerCost(name=relay, cores=cores.get(relay), messages=messages, operations=messages, updates=size * steps))
    return found


def _touched(synapse: Synapse, messages: NDArray[np.float64]) -> float:
    """Stored weights that the messages touch, per sample."""
    ones = torch.ones(synapse.weight.shape, dtype=torch.float64)
    return float(apply_linear(synapse, ones, torch.from_numpy(np.ascontiguousarray(messages))).sum()) / max(1, len(messages))


def _host_numbers(chip: ChipNetwork, classes: int) -> tuple[int, int]:
    """Numbers that the host writes to the chip and reads from it for one sample, spikes not counted (backends/lava/loihi2/neuron.py).

    Per neuron: mantissa and exponent of the bias to wake it, those and a potential to silence it, those once more at rest; one that
    subtracts also takes r when it wakes and three states at rest. Its potential is read, of one that subtracts in two parts.
    """
    written = read = 0
    for layer in chip.layers:
        subtracts = layer.reset == "subtract"
        written += prod(layer.shape) * (7 + 4 * subtracts)
        read += prod(layer.shape) * (1 + subtracts)
    return written + 7 * classes, read + classes
