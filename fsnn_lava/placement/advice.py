"""Advice on a placement: the verdict in words, and what would make a network fit; every suggestion has been tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fsnn_lava.ir.network import READOUT
from fsnn_lava.placement.board import board_names, load_board

if TYPE_CHECKING:
    from fsnn_lava.placement.placement import Outline, PlacedLayer, Placement, ReadoutPlace

_FEWEST_BITS = 4  # fewer bits need fine-tuning, so they are not suggested
_FEWER = {
    "AxonIn": "fewer source neurons (a stride or pooling before it)",
    "Synapses": "fewer input channels or a smaller kernel",
    "Total": "fewer input channels, source neurons or a smaller kernel",
}


def advice_text(placement: Placement) -> str:
    """Return the answer in words, then the reason, and advice on what would help."""
    if placement.answer == "cannot run":
        return f"cannot run on the chip: {'; '.join(placement.obstacles)}; {_fit_in_words(placement)}"
    size = _fit_in_words(placement)
    if placement.answer == "does not fit":
        return size
    loss = f"; it may lose charge or be rejected: {'; '.join(placement.risks)}" if placement.risks else ""
    return f"{placement.answer}: {size}{loss}"


def _fit_in_words(placement: Placement) -> str:
    """Say whether there are enough cores and, if not, which resource is the limit."""
    board = placement.board
    too_large = [layer for layer in placement.layers if layer.tiling is None]
    if too_large:
        return "does not fit: " + "; ".join(_core_overflow(layer, placement) for layer in too_large) + _suggestions(placement)
    largest = max(placement.layers, key=lambda layer: layer.cores or 0)
    if not placement.fits:
        where = f"layer {largest.name!r} alone takes {largest.cores}, limited by {largest.use.tightest(board)}"
        return f"does not fit: the network needs {placement.cores} cores, {board.name} has {board.cores}; {where}{_suggestions(placement)}"
    host = "; the readout is computed by the host from the spike counts" if placement.readout == "host" else ""
    tight = "; this is a tight fit: the compiler may need up to a third more cores than this model" if placement.tight else ""
    return f"it takes {placement.cores} of {board.cores} cores of {board.name}{host}{tight}"


def _suggestions(placement: Placement) -> str:
    return ": " + ", or ".join(placement.way_out) if placement.way_out else ""


def _core_overflow(layer: PlacedLayer, placement: Placement) -> str:
    name = layer.least.tightest(placement.board)
    needs, has = layer.least.columns()[name], placement.board.core_limits[name]
    unit = {"AxonIn": "in-axons", "Neurons": "neurons", "Synapses": "words of synapses"}.get(name, "words of memory")
    return f"a single neuron of layer {layer.name!r} needs {needs} {unit}, a core has {has}"


def advise(outline: Outline, placement: Placement, readout: ReadoutPlace) -> tuple[str, ...]:
    """Return advice on what would make a network fit on this board, or on which board it would fit."""
    found = []
    too_large = [layer for layer in placement.layers if layer.tiling is None]
    if readout == "chip" and _fits(outline, placement, "host", bits=placement.bits):
        found.append("compute the readout on the host (--readout host)")
    for bits in range(placement.bits - 1, _FEWEST_BITS - 1, -1):
        if _fits(outline, placement, readout, bits=bits):
            found.append(f"use {bits} bits")
            break
    if not too_large:
        larger = [name for name in board_names() if load_board(name).cores >= (placement.cores or 0)]
        found.extend([f"use {larger[0]} ({load_board(larger[0]).cores} cores)"] if larger else [])
        widest = max((layer for layer in placement.layers if layer.name != READOUT), key=lambda layer: layer.cores or 0)
        if widest.shape[1] > 1:
            found.append(f"a stride, pooling or fewer channels before layer {widest.name!r}")
        else:
            found.append(f"fewer neurons in layer {widest.name!r}")
    for layer in too_large:
        advice = _FEWER.get(layer.least.tightest(placement.board))
        found.extend([f"give layer {layer.name!r} {advice}"] if advice else [])
    return tuple(found)


def _fits(outline: Outline, placement: Placement, readout: ReadoutPlace, *, bits: int) -> bool:
    from fsnn_lava.placement.placement import place_outline

    return place_outline(outline.with_bits(bits), placement.board, readout).fits
