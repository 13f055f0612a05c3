"""The number of weight bits with which a network runs on the chip: fewer bits make thresholds and biases smaller."""

from __future__ import annotations

from collections.abc import Callable

from fsnn_lava.errors import CheckFailed
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.limits import WEIGHT_BITS
from fsnn_lava.placement.board import Board
from fsnn_lava.placement.placement import Placement, place

FEWEST = 4  # fewer bits need fine-tuning


def bits_for_board(rounded: Callable[[int], ChipNetwork], board: Board, *, most: int = WEIGHT_BITS[-1], steps: int | None = None) -> int:
    """Return the largest number of bits, at most `most`, with which the board runs the network; `rounded(bits)` makes the network.

    Networks that run without loss are preferred to those that may lose charge.

    Raises:
        CheckFailed: it does not run with any number of bits; the message says why.
    """
    lossy: int | None = None
    tried: Placement | None = None
    for bits in range(most, min(most, FEWEST) - 1, -1):
        tried = place(rounded(bits), board=board, steps=steps)
        if tried.answer == "runs":
            return bits
        lossy = bits if lossy is None and tried.runs else lossy
    if lossy is None:
        why = "" if tried is None else f": with {tried.bits} bits it {tried.verdict}"
        raise CheckFailed(f"{board.name} cannot run this network with {min(most, FEWEST)} to {most} bits{why}")
    return lossy
