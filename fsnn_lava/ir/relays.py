"""Relay neurons: how messages that skip layers are delayed where a connection cannot delay them itself.

A relay fires one step after its source, so a chain of d - 1 relays behind a layer gives a connection over d layers the delay that
`ChipNetwork.chip_delay` requires. Connections from one layer share its chain.
"""

from __future__ import annotations

from fsnn_lava.ir.network import INPUT, ChipNetwork, DenseSynapse, Synapse


def waits_in_synapse(synapse: Synapse) -> bool:
    """Return whether the synapse itself can delay messages, without relays: a dense one can (Lava's DelayDense), a convolution cannot."""
    return isinstance(synapse, DenseSynapse)


def relay_name(layer: str, number: int) -> str:
    """Return the name of the relay that fires `number` steps after a layer."""
    return f"relay {number} of {layer}"


def relay_chains(chip: ChipNetwork, *, delays: bool) -> dict[str, int]:
    """Return the number of relays behind each layer that needs any, by name. `delays` says whether dense synapses have delays."""
    found: dict[str, int] = {}
    for synapse in chip.synapses:
        beyond = chip.chip_delay(synapse) - 1
        if synapse.source != INPUT and beyond > 0 and not (delays and waits_in_synapse(synapse)):
            found[synapse.source] = max(found.get(synapse.source, 0), beyond)
    return found
