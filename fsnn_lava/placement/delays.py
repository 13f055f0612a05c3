"""How the skips of a network graph are delayed on a board: in dense synapses with delays, or in relay neurons."""

from __future__ import annotations

from fsnn_lava.ir.network import INPUT, ChipNetwork
from fsnn_lava.ir.relays import relay_chains, waits_in_synapse
from fsnn_lava.placement.board import Board


def delays_in_words(chip: ChipNetwork, board: Board) -> list[str]:
    """Return one sentence for each way in which skips are delayed; empty for a chain of layers."""
    has_delays = board.synapse_delay_max > 0
    skips = [s for s in chip.synapses if s.source != INPUT and chip.chip_delay(s) > 1]
    waiting = [s for s in skips if has_delays and waits_in_synapse(s)]
    said = []
    if waiting:
        longest = max(chip.chip_delay(s) for s in waiting)
        said.append(f"{_number(len(waiting), 'dense skip')} in synapses, up to {longest} steps")
    relays = relay_chains(chip, delays=has_delays)
    if relays:
        neurons = sum(chip.layer(name).size * number for name, number in relays.items())
        why = "convolutions have no delays" if has_delays else "the board's synapses have no delays"
        said.append(f"{_number(len(skips) - len(waiting), 'skip')} in {neurons:,} relay neurons, because {why}")
    return said


def _number(number: int, what: str) -> str:
    return f"{number} {what} waits" if number == 1 else f"{number} {what}s wait"
