"""Placement of every layer on the chip: what it uses, and whether it fits. This is a model, not the vendor's compiler."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path
from typing import Any, Literal

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import INPUT, READOUT, ChipNetwork, Synapse, TransposedConvSynapse
from fsnn_lava.ir.relays import relay_chains, relay_name, waits_in_synapse
from fsnn_lava.ir.run_arguments import check_chip
from fsnn_lava.ir.space_to_depth import space_to_depth
from fsnn_lava.ir.stock_delta import stock_neurons
from fsnn_lava.ir.stock_network import stock_network_weights
from fsnn_lava.placement import advice
from fsnn_lava.placement.board import Board, load_board
from fsnn_lava.placement.core_memory import ConnectionMemory, Form, MemoryUse, Shape3, connection_memory, spatial_shape, weight_memory_bits
from fsnn_lava.placement.delays import delays_in_words
from fsnn_lava.placement.obstacles import obstacles, possible_obstacles
from fsnn_lava.placement.tiling import Population, Tiling, split_population
from fsnn_lava.summary import Cell, Summary, shape_text

ReadoutPlace = Literal["auto", "chip", "host"]
Answer = Literal["runs", "runs with loss", "cannot run", "does not fit"]
_PASSES = 4
RELAY_BITS = 8  # bits of the weight from a neuron to its relay
CLIP_PART = ", clip"  # added to the name of a layer for the second neurons of its pairs

MARGIN = 4 / 3  # cores that the compiler uses per core of this model, for the worst layer of the public tables it was fitted to
DISCLAIMER = (
    "This is a model, not the vendor's compiler, and has not been run on silicon. In the two public tables it was fitted to, "
    "the compiler used 1.00 to 1.33 times as many cores per layer as the model, 1.14 times overall."
)


@dataclass(frozen=True, kw_only=True)
class PlacedLayer:
    """One layer of a placement.

    Attributes:
        name: name of the layer; "readout" for the readout.
        shape: (C, H, W); (N, 1, 1) for a dense layer.
        tiling: how it is split over cores; None if a single neuron does not fit on a core.
        least: what a core with a single neuron uses.
        forms: (source, form) of every connection that is on the chip.
    """

    name: str
    shape: Shape3
    tiling: Tiling | None
    least: MemoryUse
    forms: tuple[tuple[str, Form], ...]

    @property
    def cores(self) -> int | None:
        """Cores of this layer; None if a single neuron does not fit on a core."""
        return None if self.tiling is None else self.tiling.cores

    @property
    def use(self) -> MemoryUse:
        """What the fullest core uses; what a single neuron uses if no tile fits."""
        return self.least if self.tiling is None else self.tiling.use


@dataclass(frozen=True, kw_only=True)
class Core:
    """One occupied core: its position on the board and the tile it holds.

    Attributes:
        chip: number of the chip, from 0.
        core: number of the core on its chip, from 0.
        layer: the layer that its tile belongs to.
        start: first channel, row and column of the tile.
        size: channels, rows and columns of the tile.
        use: memory and axons that it takes.
    """

    chip: int
    core: int
    layer: str
    start: Shape3
    size: Shape3
    use: MemoryUse


@dataclass(frozen=True, kw_only=True, repr=False)
class Placement:
    """Where every layer goes on a board, and whether it fits. This is a model, not the vendor's compiler, and has not been run on silicon.

    Attributes:
        board: the board's resources, every number with its source.
        layers: the layers in order, the readout last unless the host computes it.
        readout: "chip", or "host" if the host computes it from the spike counts.
        bits: bits of the widest weight.
        alternatives: (form, cores) of both ways to store transposed convolutions; empty if there are none.
        lowered: which of these is used: "sparse" or "space-to-depth".
        way_out: what would make it fit; each suggestion has been tried. Empty if it fits.
        obstacles: why the chip's neurons cannot run it, each with a fix; empty if no reason is known.
        risks: what may be lost or rejected, depending on the sample, each with a fix.
        delays: how the skips of a network graph are delayed, one sentence each; empty if there are none.
    """

    board: Board
    layers: tuple[PlacedLayer, ...]
    readout: Literal["chip", "host"]
    bits: int
    alternatives: tuple[tuple[str, int | None], ...] = ()
    lowered: str = ""
    way_out: tuple[str, ...] = ()
    obstacles: tuple[str, ...] = ()
    risks: tuple[str, ...] = ()
    delays: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"Placement(board={self.board.name!r}, cores={self.cores}, answer={self.answer!r})"

    def __str__(self) -> str:
        return self._summary().to_text()

    def _repr_html_(self) -> str:
        return self._summary().to_html()

    def _summary(self) -> Summary:
        rows: list[tuple[Cell, ...]] = []
        for layer in self.layers:
            tile = "one neuron does not fit" if layer.tiling is None else shape_text(layer.tiling.tile)
            cores = "-" if layer.cores is None else layer.cores
            limit = layer.use.tightest(self.board)
            rows.append((layer.name, shape_text(layer.shape), tile, cores, f"{limit} {layer.use.shares(self.board)[limit]:.0%}"))
        columns = ("layer", "shape", "tile", "cores", "fullest resource of a core")
        return Summary(title=f"Placement: {self.verdict}", columns=columns, rows=tuple(rows), notes=(*self.delays, DISCLAIMER))

    @property
    def cores(self) -> int | None:
        """Cores of the whole network; None if a layer does not fit on any number of cores."""
        parts = [layer.cores for layer in self.layers]
        return None if any(part is None for part in parts) else sum(part for part in parts if part is not None)

    @property
    def fits(self) -> bool:
        """Whether the board has enough cores. It may still be `tight`."""
        return self.cores is not None and self.cores <= self.board.cores

    @property
    def answer(self) -> Answer:
        """Whether the board can run it: "runs", "runs with loss", "cannot run" (its neurons) or "does not fit" (its cores)."""
        if self.obstacles:
            return "cannot run"
        if not self.fits:
            return "does not fit"
        return "runs with loss" if self.risks else "runs"

    @property
    def runs(self) -> bool:
        """Whether the board can run it, with or without loss."""
        return self.answer in ("runs", "runs with loss")

    @property
    def tight(self) -> bool:
        """Whether it fits, but without the margin that the compiler may need."""
        return self.cores is not None and self.cores <= self.board.cores < MARGIN * self.cores

    @property
    def chips(self) -> int | None:
        """Number of chips needed for these cores; None if some layer has no tile that fits."""
        return None if self.cores is None else ceil(self.cores / self.board.cores_per_chip)

    @property
    def limiting(self) -> str:
        """The resource that runs out first, and the layer that needs most of it."""
        largest = max(self.layers, key=lambda layer: float("inf") if layer.cores is None else layer.cores)
        return f"{largest.use.tightest(self.board)} ({largest.name})"

    @property
    def verdict(self) -> str:
        """The `answer`, then the reason, and what would help."""
        return advice.advice_text(self)

    def core_list(self) -> tuple[Core, ...]:
        """Return every occupied core, layer by layer, starting at core 0 of chip 0."""
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
        """Return the placement as numbers, strings, lists and dicts that json.dumps accepts."""
        return {
            "board": self.board.name,
            "answer": self.answer,
            "obstacles": list(self.obstacles),
            "risks": list(self.risks),
            "delays": list(self.delays),
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
            "transposed_convolutions": self.lowered,
            "alternatives": dict(self.alternatives),
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
    }


def place(
    chip: ChipNetwork, *, board: str | Path | Board = "oheo-gulch", readout: ReadoutPlace = "auto", steps: int | None = None
) -> Placement:
    """Place a network on a board: whether it runs there, its tiles, memory and axons per layer, and what would help if it does not.

    This is a model fitted to public tables, not the vendor's compiler: leave a margin of a third (`Placement.tight`).

    Args:
        chip: the network, from `quantise` or `ChipNetwork.load`.
        board: "oheo-gulch" (one chip, the smallest), "kapoho-point" or "hala-point"; the path of a TOML
            file; or a Board.
        readout: "chip" makes it a layer of integrators; "host" computes it from the spike counts, in which it is linear; "auto" puts it on
            the chip if a core can hold it.
        steps: T of the run; by default that of the network. Long runs may lose charge (`Placement.risks`).

    Returns:
        Cores, memory and axons of every layer. A network that cannot run is not an error: look at `answer`, `obstacles` and `way_out`.

    Raises:
        BadArgument: there is no such board, or `readout` is not one of these.
        BadFile: the board's file is missing or lacks a number.

    Examples:
        >>> placement = fl.place(chip, board="oheo-gulch")
        >>> placement.answer, placement.cores
        ('runs', 2)
    """
    check_chip(chip)
    if readout not in ("auto", "chip", "host"):
        raise BadArgument(f"readout must be auto, chip or host, got {readout!r}")
    where = board if isinstance(board, Board) else load_board(board)
    if not any(isinstance(s, TransposedConvSynapse) for s in chip.synapses):
        outline = _outline_of(chip, where)
        placement = place_outline(outline, where, readout)
    else:
        packed, _ = space_to_depth(chip)
        outlines = {"sparse": _outline_of(chip, where), "space-to-depth": _outline_of(packed, where)}
        chosen = (
            "space-to-depth" if stock_network_weights(packed) <= stock_network_weights(chip) else "sparse"
        )  # the stock graph makes the same choice
        outline = outlines[chosen]
        found = {name: place_outline(each, where, readout) for name, each in outlines.items()}
        placement = replace(found[chosen], lowered=chosen, alternatives=tuple((name, each.cores) for name, each in found.items()))
    placement = replace(
        placement,
        obstacles=tuple(obstacles(chip)),
        risks=tuple(possible_obstacles(chip, steps=steps)),
        delays=tuple(delays_in_words(chip, where)),
    )
    return placement if placement.fits else replace(placement, way_out=advice.advise(outline, placement, readout))


@dataclass(frozen=True, kw_only=True)
class Outline:
    """The part of a network that placement needs: its populations, the readout last, and the bits of its widest weight."""

    populations: tuple[Population, ...]
    bits: int

    def with_bits(self, bits: int) -> Outline:
        """Return the outline of the placement with weights of at most `bits` bits."""
        narrow = [replace(p, inputs=tuple(c.with_bits(bits) for c in p.inputs)) for p in self.populations]
        return Outline(populations=tuple(narrow), bits=min(bits, self.bits))


def _outline_of(chip: ChipNetwork, board: Board) -> Outline:
    """Return the outline of a network; a skip over layers waits in relay neurons where the board's synapses cannot delay it.

    With delta encoding, rates that are clipped at 1 take two neurons (ir/stock_delta.py), each with its own connections.
    """
    found = []
    relays = relay_chains(chip, delays=board.synapse_delay_max > 0)
    parts = range(1 if chip.delta is None else stock_neurons(chip.delta))
    for layer in chip.layers:
        synapses = [s for s in chip.into(layer) if s.source != INPUT or chip.input.kind == "events"]
        inputs = tuple(_connection(chip, s, board, part) for s in synapses for part in (parts if s.source != INPUT else [0]))
        for part in parts:
            name, shape = _part_name(layer.name, part), spatial_shape(layer.shape)
            found.append(Population(name=name, shape=shape, inputs=inputs))
            found += [_relay(name, shape, number) for number in range(1, relays.get(layer.name, 0) + 1)]
    last = chip.layers[-1]
    dense = [
        ConnectionMemory(
            source=_part_name(last.name, part),
            source_shape=spatial_shape(last.shape),
            form="dense",
            bits=weight_memory_bits(chip.readout.weight),
        )
        for part in parts
    ]
    found.append(Population(name=READOUT, shape=(chip.readout.classes, 1, 1), inputs=tuple(dense)))
    return Outline(populations=tuple(found), bits=max(c.bits for p in found for c in p.inputs))


def _part_name(layer: str, part: int) -> str:
    """Return the name of a layer's neurons on the chip: the layer's own, or another for the second of a pair, which clips the rate."""
    return layer if part == 0 else layer + CLIP_PART


def _connection(chip: ChipNetwork, synapse: Synapse, board: Board, part: int) -> ConnectionMemory:
    memory, beyond = connection_memory(synapse, _source_shape(chip, synapse)), chip.chip_delay(synapse) - 1
    source = _part_name(synapse.source, part)
    if synapse.source == INPUT or beyond == 0 or (board.synapse_delay_max > 0 and waits_in_synapse(synapse)):
        return replace(memory, source=source)
    return replace(memory, source=relay_name(source, beyond))


def _relay(name: str, shape: Shape3, number: int) -> Population:
    """Return a population of relays, which repeat the spikes of a layer or of the previous relay through one weight each."""
    source = name if number == 1 else relay_name(name, number - 1)
    alone = ConnectionMemory(source=source, source_shape=shape, form="conv", bits=RELAY_BITS, kernel=(1, 1), groups=shape[0])
    return Population(name=relay_name(name, number), shape=shape, inputs=(alone,))


def place_outline(outline: Outline, board: Board, readout: ReadoutPlace) -> Placement:
    """Return the placement of an outline, without advice."""
    on_chip = readout == "chip" or (readout == "auto" and split_population(outline.populations[-1], board) is not None)
    populations = outline.populations if on_chip else outline.populations[:-1]
    layers = _place_all(_with_targets(populations), board)
    return Placement(board=board, layers=layers, readout="chip" if on_chip else "host", bits=outline.bits)


def _source_shape(chip: ChipNetwork, synapse: Synapse) -> tuple[int, ...]:
    return chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape


def _with_targets(populations: Sequence[Population]) -> list[Population]:
    """Determine how every population sends its spikes: per pixel to convolutions, per neuron to dense and sparse targets."""
    result = []
    for population in populations:
        leaving = [(target.name, c.form) for target in populations for c in target.inputs if c.source == population.name]
        convolutions = tuple(name for name, form in leaving if form == "conv")
        to_neurons = any(form in ("dense", "sparse") for _, form in leaving)
        result.append(replace(population, to_convolutions=convolutions, to_neurons=to_neurons))
    return result


def _place_all(populations: list[Population], board: Board) -> tuple[PlacedLayer, ...]:
    """Repeat the tiling until the number of channel groups that each layer sends to stops changing."""
    groups = {population.name: 1 for population in populations}
    tilings: list[Tiling | None] = []
    for _ in range(_PASSES):
        tilings = [split_population(p, board, sum(groups[name] for name in p.to_convolutions)) for p in populations]
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
        )
        for population, tiling in zip(populations, tilings, strict=True)
    )
