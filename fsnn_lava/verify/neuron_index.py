"""Where a neuron is: its position in its layer from its flat index, and the first neurons of a batch for which something holds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import Layer


def neuron_index(layer: Layer, flat: int) -> list[int]:
    """Position in the layer's shape of the neuron with this flat index."""
    return [int(i) for i in np.unravel_index(flat, layer.shape)]


def first_neurons(mask: NDArray[np.bool_], most: int) -> Iterator[tuple[int, int]]:
    """(row, flat index) of the first `most` entries of [B, ...] that are set; none if `most` is below 0."""
    for position in np.flatnonzero(mask)[: max(0, most)]:
        row, flat = divmod(int(position), mask[0].size)
        yield row, flat
