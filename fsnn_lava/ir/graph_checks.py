"""Checks for the graph of an integer network: feedback closes a cycle, and the input reaches every layer (E13)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from fsnn_lava.ir.layers import INPUT
from fsnn_lava.ir.validation import require

if TYPE_CHECKING:
    from fsnn_lava.ir.network import ChipNetwork


def check_graph(chip: ChipNetwork) -> None:
    """Raise BadNetwork unless every feedback connection closes a cycle, and the network's input reaches every layer."""
    targets: dict[str, set[str]] = {INPUT: set(), **{layer.name: set() for layer in chip.layers}}
    for synapse in chip.synapses:
        targets[synapse.source].add(synapse.target)
    if chip.input.kind == "current":
        require(
            not targets[INPUT],
            "with input kind 'current' the host computes the input of the first layer: no connection may come from 'input'",
        )
        targets[INPUT].add(chip.layers[0].name)
    for synapse in chip.feedback:
        require(
            synapse.source == synapse.target or synapse.source in _reached(targets, [synapse.target]),
            f"{synapse}: it goes back to an earlier layer but does not close a cycle, because nothing leads from {synapse.target!r} to "
            f"{synapse.source!r}; put layer {synapse.source!r} before {synapse.target!r}",
        )
    fed = _reached(targets, [INPUT])
    for layer in chip.layers:
        require(layer.name in fed, f"layer {layer.name!r}: no connection leads to it from the input, directly or through other layers")


def is_chain(chip: ChipNetwork) -> bool:
    """Return whether every layer has exactly one forward connection, from the layer before it (the first from the input or the host)."""
    for position, layer in enumerate(chip.layers):
        forward = [synapse for synapse in chip.into(layer) if chip.is_forward(synapse)]
        wanted = 0 if position == 0 and chip.host_drive is not None else 1
        if len(forward) != wanted or any(chip.chip_delay(synapse) > 1 for synapse in forward):
            return False
    return True


def _reached(targets: dict[str, set[str]], starts: Iterable[str]) -> set[str]:
    """Return the names that can be reached from any of `starts` over at least one connection; `targets` lists where connections end."""
    found: set[str] = set()
    new = set(starts)
    while new:
        new = {target for name in new for target in targets[name]} - found
        found |= new
    return found
