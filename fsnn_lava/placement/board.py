"""Boards: the capacity of a core and the number of cores, each with its source. The data files are in `boards/`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.files.toml import read_toml
from fsnn_lava.placement.range import Range

FOLDER = Path(__file__).parent / "boards"
UNKNOWN = "unknown"
_NUMBER_MAX = 2**40
_NOT_A_BOARD = ("loihi2", "template")
_NUMBERS = (
    "chips",
    "cores_per_chip",
    "neurons_per_core",
    "memory_words_per_core",
    "synapse_words_per_core",
    "axons_in_per_core",
    "axon_map_per_core",
    "axon_mem_per_core",
    "conv_word_bits",
    "conv_header_bits",
    "dense_word_bits",
    "dense_header_bits",
    "neuron_words",
)
_OPTIONAL = {"synapse_delay_max": 0}  # numbers that a board file may leave out, and what that means


_CONSTANTS = (  # constants of cost.py in seconds, joules and watts (per chip); "unknown", a number, or [low, high]
    "time_per_step",
    "time_per_synaptic_operation",
    "time_per_neuron_update",
    "time_per_message",
    "time_per_host_number",
    "energy_per_synaptic_operation",
    "energy_per_neuron_update",
    "energy_per_message",
    "static_power",
)


@dataclass(frozen=True, kw_only=True)
class Board:
    """What placement needs to know about a board. Memory is counted in the words of the Loihi 2 compiler's table (boards/loihi2.toml).

    Attributes:
        name: the name that `place` accepts.
        chips: number of chips on the board.
        cores_per_chip: cores that can hold neurons.
        neurons_per_core: largest number of neurons.
        memory_words_per_core: words of all kinds together.
        synapse_words_per_core: largest number of words for synapses.
        axons_in_per_core: largest number of input axons.
        axon_map_per_core: largest number of axon map entries.
        axon_mem_per_core: largest number of axon memory entries.
        conv_word_bits: bits per word of a convolution's weights.
        conv_header_bits: bits before each of its lists of weights.
        dense_word_bits: bits per word of dense or sparse weights.
        dense_header_bits: bits before each of their lists of weights.
        neuron_words: words per neuron.
        synapse_delay_max: how many steps a dense synapse can delay a spike, beyond the one it takes anyway; 0 if it cannot.
        partitions: SLURM names under which the board can be found.
        sources: where every entry of the file comes from.
        unknown: entries for which there is no public figure.
        constants: seconds, joules and watts from which times and energies are computed, as far as the file has them.
    """

    name: str
    chips: int
    cores_per_chip: int
    neurons_per_core: int
    memory_words_per_core: int
    synapse_words_per_core: int
    axons_in_per_core: int
    axon_map_per_core: int
    axon_mem_per_core: int
    conv_word_bits: int
    conv_header_bits: int
    dense_word_bits: int
    dense_header_bits: int
    neuron_words: int
    synapse_delay_max: int = 0
    partitions: tuple[str, ...] = ()
    sources: Mapping[str, str]
    unknown: tuple[str, ...]
    constants: Mapping[str, Range] = field(default_factory=dict)

    @property
    def cores(self) -> int:
        """Cores of all chips."""
        return self.chips * self.cores_per_chip

    @property
    def core_limits(self) -> dict[str, int]:
        """Capacity of one core for each resource, in the order of the table's columns."""
        return {
            "AxonIn": self.axons_in_per_core,
            "Neurons": self.neurons_per_core,
            "Synapses": self.synapse_words_per_core,
            "AxonMap": self.axon_map_per_core,
            "AxonMem": self.axon_mem_per_core,
            "Total": self.memory_words_per_core,
        }


def board_names() -> tuple[str, ...]:
    """Return the names of the boards that come with the package, smallest first."""
    names = sorted(path.stem for path in FOLDER.glob("*.toml") if path.stem not in _NOT_A_BOARD)
    return tuple(sorted(names, key=lambda name: load_board(name).cores))


def load_board(name: str | Path) -> Board:
    """Load a board by name or from a TOML file; entries of its chip come from boards/<chip>.toml."""
    path = Path(name)
    if path.suffix != ".toml":
        path = FOLDER / f"{name}.toml"
        if str(name) in _NOT_A_BOARD or not path.is_file():
            close = difflib.get_close_matches(str(name), board_names(), n=1)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise BadArgument(f"unknown board {str(name)!r}{hint}: use one of {', '.join(board_names())}, or the path of a .toml file")
    table: dict[str, object] = read_toml(path, what="board file")
    chip = table.pop("chip", None)
    if chip is not None:
        if not isinstance(chip, str) or not chip.isidentifier():
            raise BadFile(f"board file {path}: chip must be a name, got {chip!r}")
        table = {**read_toml(FOLDER / f"{chip}.toml", what="board file"), **table}
    return _board(path, table)


@dataclass(frozen=True)
class _Entry:
    value: object
    source: str


def _board(path: Path, table: dict[str, object]) -> Board:
    name, partitions = table.pop("name", path.stem), table.pop("partitions", [])
    if not isinstance(partitions, list):
        raise BadFile(f"board file {path}: partitions must be a list of names, got {partitions!r}")
    entries = {name: _entry(path, name, content) for name, content in table.items()}
    return Board(
        name=str(name),
        partitions=tuple(str(partition) for partition in partitions),
        sources={name: entry.source for name, entry in entries.items()},
        unknown=tuple(name for name, entry in entries.items() if entry.value == UNKNOWN),
        constants={name: _range(path, name, entries[name]) for name in _CONSTANTS if name in entries and entries[name].value != UNKNOWN},
        **{name: _number(path, name, entries.get(name)) for name in _NUMBERS},
        **{name: _number(path, name, entries[name]) if name in entries else default for name, default in _OPTIONAL.items()},
    )


def _entry(path: Path, name: str, content: object) -> _Entry:
    if not isinstance(content, dict) or not isinstance(content.get("source"), str) or "value" not in content:
        raise BadFile(f"board file {path}: {name} must have a value and a source")
    return _Entry(content["value"], content["source"])


def _range(path: Path, name: str, entry: _Entry) -> Range:
    ends = entry.value if isinstance(entry.value, list) else [entry.value, entry.value]
    numbers = [float(end) for end in ends if isinstance(end, (int, float)) and not isinstance(end, bool) and 0 <= end < 1e9]
    if len(ends) != 2 or len(numbers) != 2 or numbers[0] > numbers[1]:
        raise BadFile(f'board file {path}: {name} must be "unknown", a number of at least 0 or [low, high], got {entry.value!r}')
    return Range(*numbers)


def _number(path: Path, name: str, entry: _Entry | None) -> int:
    value = None if entry is None else entry.value
    lowest = 0 if name in ("dense_header_bits", *_OPTIONAL) else 1
    if isinstance(value, bool) or not isinstance(value, int) or not lowest <= value <= _NUMBER_MAX:
        raise BadFile(f"board file {path}: {name} must be an integer of at least {lowest}, got {value!r}")
    return value
