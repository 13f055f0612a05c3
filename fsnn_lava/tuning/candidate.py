"""Candidate: one way to export a network; and the list of candidates to try."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

from fsnn_lava.placement.chip_window import ChipWindow
from fsnn_lava.quantisation.quantise_options import Encoding

BITS = (8, 6, 5, 4)
SHARES = (1.0, 0.75, 0.5, 0.375, 0.25)  # fractions of the steps that the network was trained with
DEAD_BANDS = (0.02, 0.05, 0.1, 0.15, 0.2, 0.3)  # spikes per step
TURNS = (0, 1, 2, 3, 5)  # around the longest loop, for delta encoding
WINDOWS = (3, 4, 5, 6, 7)  # 2**k chip steps


@dataclass(frozen=True, kw_only=True, order=True)
class Candidate:
    """Arguments for `quantise`; candidates of one `family` differ only in steps and dead band, so the family is rounded once."""

    encoding: Encoding
    bits: int
    per_channel: bool
    steps: int
    dead_band: float | None = None  # spikes per step; None with rate coding

    @property
    def family(self) -> tuple[Encoding, int, bool]:
        """Encoding, bits, and whether units are per channel."""
        return self.encoding, self.bits, self.per_channel

    def __str__(self) -> str:
        band = "" if self.dead_band is None else f" η = {self.dead_band:g},"
        units = ", units per channel" if self.per_channel else ""
        return f"{self.encoding},{band} T = {self.steps}, {self.bits} bits{units}"

    def to_dict(self) -> dict[str, Any]:
        """Return the fields by name."""
        return asdict(self)


def candidates(
    *, steps: int, layers: int, encodings: Iterable[Encoding] = ("rate", "delta"), bits: Iterable[int] = BITS, loop: int | None = None
) -> tuple[Candidate, ...]:
    """Return all candidates for a network that was trained with `steps` steps.

    `loop` is the number of steps around its longest loop, by default the number of layers.
    """
    found: list[Candidate] = []
    for encoding, width in product(dict.fromkeys(encodings), dict.fromkeys(bits)):
        if encoding == "rate":
            options = product((False, True), rate_steps(steps, layers))
            found += [Candidate(encoding="rate", bits=width, per_channel=each, steps=t) for each, t in options]
        else:
            pairs = product(DEAD_BANDS, delta_steps(steps, layers, loop or layers))
            found += [Candidate(encoding="delta", bits=width, per_channel=False, steps=t, dead_band=band) for band, t in pairs]
    return tuple(found)


def rate_steps(steps: int, layers: int) -> list[int]:
    """Return candidate steps for rate coding: fractions of the trained steps, and the numbers that fill a window of the chip."""
    return sorted({max(1, round(share * steps)) for share in SHARES} | set(_window_steps(layers, most=steps)))


def delta_steps(steps: int, layers: int, loop: int) -> list[int]:
    """Return candidate steps for delta encoding, at most the trained ones: turns around the longest loop, and windows of rate coding."""
    turns = {1 + turn * loop for turn in TURNS} | set(_window_steps(layers, most=steps))
    return sorted(t for t in turns if t <= max(steps, 1 + loop))


def _window_steps(layers: int, *, most: int) -> list[int]:
    """Return the largest T that fits each window of the chip."""
    found = []
    for exponent in WINDOWS:
        extra = ChipWindow(steps=0, layers=layers).used
        largest = 2**exponent - 1 - extra
        if 1 <= largest <= most:
            found.append(largest)
    return found
