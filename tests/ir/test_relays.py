"""Relay neurons: one chain per source, as long as its longest skip that no synapse can hold back."""

from __future__ import annotations

from fsnn_lava.ir.relays import relay_chains, relay_name
from tests.helpers.chip_networks import conv_network, skip_network
from tests.ir.test_graph_checks import CHAIN, graph


def test_a_chain_needs_none():
    assert relay_chains(conv_network(), delays=False) == {}


def test_convolutions_have_no_delays():
    assert relay_chains(skip_network(), delays=True) == {"l1": 1}


def test_dense_skips_need_relays_only_where_synapses_have_no_delays():
    chip = graph(*CHAIN, ("c", "d"), ("a", "c"), ("a", "d"), ("b", "d"), ("input", "d"), layers=4)
    assert relay_chains(chip, delays=True) == {}
    assert relay_chains(chip, delays=False) == {"a": 2, "b": 1}
    assert relay_name("a", 2) == "relay 2 of a"
