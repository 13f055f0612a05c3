"""Which connection of the float network a synapse was rounded from."""

from __future__ import annotations

from fsnn_lava.ir.network import ChipNetwork, Synapse
from fsnn_lava.quantisation.folded_network import FoldedConnection, FoldedNetwork


def counterpart(folded: FoldedNetwork, chip: ChipNetwork, synapse: Synapse) -> FoldedConnection | None:
    """The connection between the same positions; of several, the one with the same number. None if there is none."""
    ends = chip.index(synapse.source), chip.index(synapse.target)
    beside = [one for one in chip.synapses if (chip.index(one.source), chip.index(one.target)) == ends]
    found = [one for one in folded.connections if folded.ends(one) == ends]
    number = next(i for i, one in enumerate(beside) if one is synapse)
    return found[number] if number < len(found) else None
