"""Tiling: split a population [C, H, W] into equal tiles [c, h, w], one per core, using as few cores as memory allows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from fsnn_lava.placement.board import Board
from fsnn_lava.placement.core_memory import ConnectionMemory, MemoryUse, Shape3


@dataclass(frozen=True, kw_only=True)
class Population:
    """A layer or the readout: its neurons, its incoming connections, and how it sends its spikes."""

    name: str
    shape: Shape3
    inputs: tuple[ConnectionMemory, ...]
    to_convolutions: tuple[str, ...] = ()  # names of target populations reached by shared kernels
    to_neurons: bool = False  # whether some target is dense or sparse, which takes one map entry per neuron

    @property
    def size(self) -> int:
        """Number of neurons."""
        return self.shape[0] * self.shape[1] * self.shape[2]

    def use(self, tile: Shape3, board: Board, target_groups: int = 1) -> MemoryUse:
        """Return what a core with `tile` uses; `target_groups` is the number of channel groups of its target convolutions."""
        incoming = [connection.use(tile, self.shape, board) for connection in self.inputs]
        pixels, neurons = tile[1] * tile[2], tile[0] * tile[1] * tile[2]
        return MemoryUse(
            axon_in=sum(use.axon_in for use in incoming),
            neurons=neurons,
            synapses=sum(use.synapses for use in incoming),
            axon_map=(pixels if self.to_convolutions else 0) + (neurons if self.to_neurons else 0),
            axon_mem=pixels * target_groups if self.to_convolutions else 0,
            neuron_words=board.neuron_words,
        )


@dataclass(frozen=True, kw_only=True)
class Tiling:
    """A population cut into tiles of at most [c, h, w], one per core."""

    population: Population
    tile: Shape3
    use: MemoryUse  # of the largest tile

    @property
    def counts(self) -> Shape3:
        """Number of tiles along channels, rows and columns."""
        c, h, w = (ceil(n / t) for n, t in zip(self.population.shape, self.tile, strict=True))
        return (c, h, w)

    @property
    def cores(self) -> int:
        """Number of cores: one per tile."""
        return self.counts[0] * self.counts[1] * self.counts[2]

    @property
    def messages(self) -> int:
        """Number of incoming messages per step if every source neuron spikes."""
        return self.cores * sum(connection.reach(self.tile, self.population.shape) for connection in self.population.inputs)

    def tiles(self) -> Iterator[tuple[Shape3, Shape3]]:
        """Yield (first index, size) of every tile; channels vary slowest."""
        (c, h, w), (_, nh, nw) = self.tile, self.counts
        for index in range(self.cores):
            start = (index // (nh * nw) * c, index // nw % nh * h, index % nw * w)
            size = tuple(min(t, n - s) for t, n, s in zip(self.tile, self.population.shape, start, strict=True))
            yield start, (size[0], size[1], size[2])


def split_population(population: Population, board: Board, target_groups: int = 1) -> Tiling | None:
    """Return the tiling with the fewest cores and, among those, the least memory per core; None if not even one neuron fits."""
    best: tuple[int, int] | None = None
    found: Tiling | None = None
    channels, rows, columns = population.shape
    for c in _sizes(channels):
        for h in _sizes(rows):
            for w in _sizes(columns):
                cores = ceil(channels / c) * ceil(rows / h) * ceil(columns / w)
                if c * h * w > board.neurons_per_core or (best is not None and cores > best[0]):
                    continue
                use = population.use((c, h, w), board, target_groups)
                if use.fits(board) and (best is None or (cores, use.total) < best):
                    best, found = (cores, use.total), Tiling(population=population, tile=(c, h, w), use=use)
    return found


def _sizes(whole: int) -> list[int]:
    """Return candidate tile sizes: the smallest for each number of tiles, largest first."""
    return sorted({ceil(whole / parts) for parts in range(1, whole + 1)}, reverse=True)
