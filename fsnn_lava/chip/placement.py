"""Where every layer goes on the chip, what it uses, and whether it fits. A model, not the vendor's compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal

from fsnn_lava.chip import advice
from fsnn_lava.chip.board import Board, load_board
from fsnn_lava.chip.memory import Connection, Form, Shape3, Use, connection, grid, weight_bits
from fsnn_lava.chip.network import INPUT, READOUT, ChipNetwork, Synapse, TransposedConvSynapse
from fsnn_lava.chip.partition import Population, Tiling, split
from fsnn_lava.errors import BadArgument

ReadoutPlace = Literal["auto", "chip", "host"]
_PASSES = 4

MARGIN = 4 / 3  # the most cores the compiler used per core of this model, layer by layer, in the public tables it was fitted to
DISCLAIMER = (
    "A model, not the vendor's compiler, and not run on silicon. In the two public tables it was fitted to, "
    "the compiler used 1.00 to 1.33 times the model's cores per layer, 1.14 times in all."
)


@dataclass(frozen=True, kw_only=True)
class PlacedLayer:
    """One row of the table. `tiling` is None where one neuron alone is too much for a core."""

    name: str
    shape: Shape3
    tiling: Tiling | None
    least: Use  # what a core with a single neuron uses
    forms: tuple[tuple[str, Form], ...]  # (source, form) of every connection that is on the chip
    alternatives: tuple[tuple[Form, int | None], ...] = ()  # cores of the layer with its transposed convolution in each form

    @property
    def cores(self) -> int | None:
        return None if self.tiling is None else self.tiling.cores

    @property
    def use(self) -> Use:
        return self.least if self.tiling is None else self.tiling.use


@dataclass(frozen=True, kw_only=True)
class Core:
    """One occupied core: its place on the board and the tile it holds."""

    chip: int
    core: int
    layer: str
    start: Shape3
    size: Shape3
    use: Use


@dataclass(frozen=True, kw_only=True)
class Placement:
    """Layers in order, the readout last unless the host computes it."""

    board: Board
    layers: tuple[PlacedLayer, ...]
    readout: Literal["chip", "host"]
    bits: int  # of the widest weight
    way_out: tuple[str, ...] = ()  # what would make it fit, each tried

    @property
    def cores(self) -> int | None:
        """Cores of the whole network; None if some layer has no tile that fits."""
        parts = [layer.cores for layer in self.layers]
        return None if any(part is None for part in parts) else sum(part for part in parts if part is not None)

    @property
    def fits(self) -> bool:
        return self.cores is not None and self.cores <= self.board.cores

    @property
    def tight(self) -> bool:
        """It fits, but not with the margin that the compiler may need."""
        return self.cores is not None and self.cores <= self.board.cores < MARGIN * self.cores

    @property
    def chips(self) -> int | None:
        return None if self.cores is None else ceil(self.cores / self.board.cores_per_chip)

    @property
    def limiting(self) -> str:
        """The resource that stands in the way, or would first: of the layer that takes most of the board."""
        largest = max(self.layers, key=lambda layer: float("inf") if layer.cores is None else layer.cores)
        return f"{largest.use.tightest(self.board)} ({largest.name})"

    @property
    def verdict(self) -> str:
        return advice.verdict(self)

    def core_list(self) -> tuple[Core, ...]:
        """Every occupied core, layers in order from core 0 of chip 0 on."""
        found: list[Core] = []
        for layer in self.layers:
            if layer.tiling is None:
                continue
            population = layer.tiling.population
            scale = layer.tiling.use.axon_mem // max(1, layer.tiling.tile[1] * layer.tiling.tile[2])
            for start, size in layer.tiling.tiles():
                chip, core = divmod(len(found), self.board.cores_per_chip)
                use = population.use(size, self.board, scale)
                found.append(Core(chip=chip, core=core, layer=layer.name, start=start, size=size, use=use))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        return {
            "board": self.board.name,
            "fits": self.fits,
            "tight": self.tight,
            "verdict": self.verdict,
            "way_out": list(self.way_out),
            "cores": self.cores,
            "cores_available": self.board.cores,
            "chips": self.chips,
            "limiting": self.limiting,
            "readout": self.readout,
            "bits": self.bits,
            "layers": [_row(layer, self.board) for layer in self.layers],
            "model": DISCLAIMER,
            "unknown": list(self.board.unknown),
        }


def _row(layer: PlacedLayer, board: Board) -> dict[str, Any]:
    return {
        "name": layer.name,
        "shape": list(layer.shape),
        "tile": None if layer.tiling is None else list(layer.tiling.tile),
        "cores": layer.cores,
        "use": layer.use.columns(),
        "share": {name: round(share, 6) for name, share in layer.use.shares(board).items()},
        "limiting": layer.use.tightest(board),
        "messages_per_step": None if layer.tiling is None else layer.tiling.messages,
        "connections": [{"source": source, "form": form} for source, form in layer.forms],
        "alternatives": dict(layer.alternatives),
    }


def place(chip: ChipNetwork, *, board: str | Path | Board = "oheo-gulch", readout: ReadoutPlace = "auto") -> Placement:
    """Place a network on a board: tiles, memory, axons and messages per layer, a verdict, and what would make it fit.

    `readout`: "chip" as a layer of integrators, "host" from the spike counts (it is linear in them), "auto" on the chip if it fits.
    """
    if readout not in ("auto", "chip", "host"):
        raise BadArgument(f"readout must be auto, chip or host, got {readout!r}")
    where = board if isinstance(board, Board) else load_board(board)
    placement = place_with_bits(chip, where, readout, bits=8)
    if placement.fits:
        return placement
    return replace(placement, way_out=advice.way_out(chip, placement, readout))


def place_with_bits(chip: ChipNetwork, board: Board, readout: ReadoutPlace, *, bits: int) -> Placement:
    """The placement if no weight had more than `bits` bits."""
    widest = max([weight_bits(s.weight) for s in chip.synapses] + [weight_bits(chip.readout.weight)])
    on_chip = readout != "host"
    populations = _populations(chip, bits, on_chip=on_chip)
    if readout == "auto" and split(populations[-1][0], board) is None:
        on_chip = False
        populations = _populations(chip, bits, on_chip=False)
    layers = _place_all(populations, board)
    return Placement(board=board, layers=layers, readout="chip" if on_chip else "host", bits=min(widest, bits))


Choices = list[tuple[Population, ...]]  # per layer: one population, or one per form of its transposed convolution


def _populations(chip: ChipNetwork, bits: int, *, on_chip: bool) -> Choices:
    choices: Choices = []
    for layer in chip.layers:
        synapses = [s for s in chip.into(layer) if s.source != INPUT or chip.input.kind == "events"]
        forms: Sequence[Form | None] = (
            ("space-to-depth", "sparse") if any(isinstance(s, TransposedConvSynapse) for s in synapses) else (None,)
        )
        inputs = [tuple(connection(s, _source_shape(chip, s), form=form).with_bits(bits) for s in synapses) for form in forms]
        choices.append(tuple(Population(name=layer.name, shape=grid(layer.shape), inputs=i) for i in inputs))
    if on_chip:
        last = chip.layers[-1]
        dense = Connection(source=last.name, source_shape=grid(last.shape), form="dense", bits=min(bits, weight_bits(chip.readout.weight)))
        choices.append((Population(name=READOUT, shape=(chip.readout.classes, 1, 1), inputs=(dense,)),))
    return choices


def _source_shape(chip: ChipNetwork, synapse: Synapse) -> tuple[int, ...]:
    return chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape


def _place_all(choices: Choices, board: Board) -> tuple[PlacedLayer, ...]:
    """Choose the form with the fewest cores, then split again until the groups every layer sends to stand still."""
    chosen = [_cheapest(options, board) for options in choices]
    groups = {population.name: 1 for population, _ in chosen}
    populations = _with_targets([population for population, _ in chosen])
    tilings: list[Tiling | None] = []
    for _ in range(_PASSES):
        tilings = [split(p, board, sum(groups[name] for name in p.to_convolutions)) for p in populations]
        found = {p.name: 1 if t is None else t.counts[0] for p, t in zip(populations, tilings, strict=True)}
        if found == groups:
            break
        groups = found
    return tuple(
        PlacedLayer(
            name=population.name,
            shape=population.shape,
            tiling=tiling,
            least=population.use((1, 1, 1), board),
            forms=tuple((c.source, c.form) for c in population.inputs),
            alternatives=alternatives,
        )
        for population, tiling, (_, alternatives) in zip(populations, tilings, chosen, strict=True)
    )


def _cheapest(options: tuple[Population, ...], board: Board) -> tuple[Population, tuple[tuple[Form, int | None], ...]]:
    if len(options) == 1:
        return options[0], ()
    cores = [None if (tiling := split(option, board)) is None else tiling.cores for option in options]
    order = sorted(range(len(options)), key=lambda i: float("inf") if cores[i] is None else cores[i])  # type: ignore[arg-type,return-value]
    forms = [next(c.form for c in option.inputs if c.form in ("sparse", "space-to-depth")) for option in options]
    return options[order[0]], tuple(zip(forms, cores, strict=True))


def _with_targets(populations: list[Population]) -> list[Population]:
    """Fill in how every population's spikes leave: by pixel to convolutions, by neuron to dense and sparse targets."""
    result = []
    for population in populations:
        leaving = [(target.name, c.form) for target in populations for c in target.inputs if c.source == population.name]
        convolutions = tuple(name for name, form in leaving if form in ("conv", "space-to-depth"))
        to_neurons = any(form in ("dense", "sparse") for _, form in leaving)
        result.append(replace(population, to_convolutions=convolutions, to_neurons=to_neurons))
    return result
