"""The cost of one sample on the chip: counts of work, and time and energy as ranges where the board file has constants.

The counts come from placement/cost_count.py, the constants from boards/*.toml, each with its source.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from fsnn_lava.placement.board import Board
from fsnn_lava.placement.range import Range

TIMES = ("time_per_step", "time_per_synaptic_operation", "time_per_neuron_update", "time_per_message")
ENERGIES = ("energy_per_synaptic_operation", "energy_per_neuron_update", "energy_per_message")


@dataclass(frozen=True, kw_only=True)
class LayerCost:
    """The cost of one layer per sample, averaged over the samples of a run."""

    name: str
    cores: int | None  # as placed; None if a neuron does not fit on a core
    messages: float  # messages that it sends
    message_bits: int  # payload of each; 0 for a spike
    arriving: float  # messages that are sent to it
    operations: float  # weights that these messages touch
    updates: int  # neurons times chip steps

    def busiest_core(self, steps: int) -> tuple[float, float, float]:
        """Return the operations, updates and arriving messages per step on the busiest core.

        The cores of a layer are assumed to share operations and updates evenly, which is the least that the busiest one can have; every
        message is assumed to arrive at every core, which is the most.
        """
        cores = max(1, self.cores or 1) * steps
        return self.operations / cores, self.updates / cores, self.arriving / steps


@dataclass(frozen=True, kw_only=True)
class ChipCost:
    """The cost of one sample on the chip. Times (seconds) and energies (joules) are ranges, or None if the board file lacks a constant."""

    board: Board
    layers: tuple[LayerCost, ...]
    chips: int  # chips that hold the network
    steps: int  # chip steps, including those in which nothing is counted
    written: int  # numbers that the host writes to the chip
    read: float  # numbers and messages that it reads

    @property
    def messages(self) -> float:
        """Messages sent by all layers."""
        return sum(layer.messages for layer in self.layers)

    @property
    def operations(self) -> float:
        """Synaptic operations of all layers."""
        return sum(layer.operations for layer in self.layers)

    @property
    def updates(self) -> int:
        """Neuron updates of all layers."""
        return sum(layer.updates for layer in self.layers)

    @property
    def cores(self) -> int | None:
        """Cores of all layers; None if a neuron of a layer does not fit on a core."""
        return None if any(layer.cores is None for layer in self.layers) else sum(layer.cores or 0 for layer in self.layers)

    @property
    def missing(self) -> tuple[str, ...]:
        """Constants that the board file does not have."""
        return tuple(name for name in (*TIMES, *ENERGIES, "static_power", "time_per_host_number") if name not in self.board.constants)

    @property
    def time_per_step(self) -> Range | None:
        """The largest of a fixed time and the busiest core's operations, updates and messages, each times its unit time (max-affine)."""
        found = self._constants(TIMES)
        if found is None:
            return None
        fixed, *each = found
        busiest = [max(part) for part in zip(*(layer.busiest_core(self.steps) for layer in self.layers), strict=True)]
        terms = (fixed, *(constant.times(count) for constant, count in zip(each, busiest, strict=True)))
        return Range(max(term.low for term in terms), max(term.high for term in terms))

    @property
    def time(self) -> Range | None:
        """Time of a sample without host I/O."""
        return None if self.time_per_step is None else self.time_per_step.times(self.steps)

    @property
    def time_with_host(self) -> Range | None:
        """Time of a sample, including what the host writes and reads."""
        host = self._constants(("time_per_host_number",))
        return None if self.time is None or host is None else self.time.plus(host[0].times(self.written + self.read))

    @property
    def dynamic_energy(self) -> Range | None:
        """Energy of operations, updates and messages."""
        found = self._constants(ENERGIES)
        if found is None:
            return None
        parts = [constant.times(count) for constant, count in zip(found, (self.operations, self.updates, self.messages), strict=True)]
        return parts[0].plus(parts[1]).plus(parts[2])

    def static_energy(self, time: Range | None) -> Range | None:
        """Return the energy of the static power of the chips that hold the network, over `time`."""
        power = self._constants(("static_power",))
        return None if time is None or power is None else Range(power[0].low * time.low, power[0].high * time.high).times(self.chips)

    @property
    def energy(self) -> Range | None:
        """Dynamic and static energy, without host I/O."""
        return self._total(self.time)

    @property
    def energy_with_host(self) -> Range | None:
        """The chip's energy, including the time during which the host reads and writes; the host's own energy is not included."""
        return self._total(self.time_with_host)

    def _total(self, time: Range | None) -> Range | None:
        static = self.static_energy(time)
        return None if static is None or self.dynamic_energy is None else static.plus(self.dynamic_energy)

    def _constants(self, names: tuple[str, ...]) -> list[Range] | None:
        found = [self.board.constants.get(name) for name in names]
        return None if any(one is None for one in found) else [one for one in found if one is not None]

    def figures(self) -> dict[str, Range | None]:
        """Return times in seconds and energies in joules by name; None where a constant is unknown."""
        return {
            "time_per_step": self.time_per_step,
            "time": self.time,
            "time_with_host_io": self.time_with_host,
            "dynamic_energy": self.dynamic_energy,
            "static_energy": self.static_energy(self.time),
            "static_energy_with_host_io": self.static_energy(self.time_with_host),
            "energy": self.energy,
            "energy_with_host_io": self.energy_with_host,
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the cost as numbers, strings, lists and dicts that json.dumps accepts."""
        return {
            "chip_steps": self.steps,
            "cores": self.cores,
            "messages": self.messages,
            "synaptic_operations": self.operations,
            "neuron_updates": self.updates,
            "host_numbers_written": self.written,
            "host_numbers_read": self.read,
            "layers": [dict(vars(layer)) for layer in self.layers],
            **{name: None if figure is None else [figure.low, figure.high] for name, figure in self.figures().items()},
            "missing_constants": list(self.missing),
            "sources": {name: self.board.sources[name] for name in self.board.constants},
        }
