"""The float counterpart of a synapse: the connection that it was rounded from."""

from __future__ import annotations

from fsnn_lava.ir.network import ChipNetwork, Synapse
from fsnn_lava.quantisation.folded_network import FoldedConnection, FoldedNetwork


def counterpart(folded: FoldedNetwork, chip: ChipNetwork, synapse: Synapse) -> FoldedConnection | None:
    """Return the float counterpart of a synapse, the connection between the same positions (the matching one, if several), or None."""
    ends = chip.index(synapse.source), chip.index(synapse.target)
    beside = [one for one in chip.synapses if (chip.index(one.source), chip.index(one.target)) == ends]
    found = [one for one in folded.connections if folded.ends(one) == ends]
    number = next(i for i, one in enumerate(beside) if one is synapse)
    return found[number] if number < len(found) else None
