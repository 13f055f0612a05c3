"""Relay neurons: how a skip over layers waits where a connection has no delay of its own.

A relay fires one step after its source, so a chain of d - 1 relays behind a layer gives a connection over d layers the delay that
`ChipNetwork.chip_delay` asks for. Connections from one layer share its chain.
"""

from __future__ import annotations

from fsnn_lava.ir.network import INPUT, ChipNetwork, DenseSynapse, Synapse


def waits_in_synapse(synapse: Synapse) -> bool:
    """Whether the synapse itself can hold messages back: a dense one (Lava's DelayDense); convolutions have no delays."""
    return isinstance(synapse, DenseSynapse)


def relay_name(layer: str, number: int) -> str:
    """The name of the relay that fires `number` steps after a layer."""
    return f"relay {number} of {layer}"


def relay_chains(chip: ChipNetwork, *, delays: bool) -> dict[str, int]:
    """Relays behind each layer that needs any, by its name. `delays`: whether dense synapses have delays."""
    found: dict[str, int] = {}
    for synapse in chip.synapses:
        beyond = chip.chip_delay(synapse) - 1
        if synapse.source != INPUT and beyond > 0 and not (delays and waits_in_synapse(synapse)):
            found[synapse.source] = max(found.get(synapse.source, 0), beyond)
    return found
