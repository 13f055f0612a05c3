"""The table of a placement."""

from __future__ import annotations

from fsnn_lava.placement.placement import place
from fsnn_lava.placement.placement_table import placement_table, placement_table_by_core
from tests.helpers.paper_networks import paper_network


def test_the_table_has_the_compilers_columns_and_the_warning():
    placement = place(paper_network("fashion"))
    text = placement_table(placement)
    assert "|  AxonIn| Neurons|Synapses| AxonMap| AxonMem|   Total|   Cores|" in text
    assert "|   2.50%|   2.44%|  80.00%|   0.62%|   0.00%|  67.00%|       4| l1" in text
    assert "not the vendor's compiler, and has not been run on silicon" in text
    assert len(placement_table_by_core(placement).splitlines()) == 1 + 5
