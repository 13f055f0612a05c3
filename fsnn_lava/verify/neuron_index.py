"""Index neurons: position in a layer from a flat index, the first neurons for which something holds, and offenders made from them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import READOUT, ChipNetwork, Layer
from fsnn_lava.verify.check import Offender


def neuron_index(layer: Layer, flat: int) -> list[int]:
    """Return the position in the layer's shape of the neuron with this flat index."""
    return [int(i) for i in np.unravel_index(flat, layer.shape)]


def first_neuron_indices(mask: NDArray[np.bool_], most: int) -> Iterator[tuple[int, int]]:
    """Yield (row, flat index) of the first `most` set entries of [B, ...]; none if `most` is negative."""
    for position in np.flatnonzero(mask)[: max(0, most)]:
        row, flat = divmod(int(position), mask[0].size)
        yield row, flat


def neuron_offender(chip: ChipNetwork, sample: int, position: int, flat: int | None, *, kind: str, what: str) -> Offender:
    """Return an offender for a neuron of the layer at `position`, the readout being last; if `flat` is None, for the whole layer."""
    layer = chip.layers[position] if position < len(chip.layers) else None
    neuron: Offender = {} if flat is None else {"neuron": neuron_index(layer, flat) if layer else [flat]}
    return {"sample": sample, "position": position, "layer": layer.name if layer else READOUT, **neuron, "kind": kind, "what": what}
