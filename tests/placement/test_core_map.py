"""The picture of the cores."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

from fsnn_lava.placement.core_map import core_map_svg
from fsnn_lava.placement.placement import place
from tests.helpers.paper_networks import paper_network


def test_the_picture_is_a_valid_svg_with_a_box_per_core():
    placement = place(paper_network("alexnet-f"))
    root = ElementTree.fromstring(core_map_svg(placement))
    titles = [element.text for element in root.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == placement.cores
    assert sum(title.startswith("l2 ") for title in titles) == placement.layers[1].cores
