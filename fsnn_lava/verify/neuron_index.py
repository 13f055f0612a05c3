"""Where a neuron is: its position in its layer from its flat index, the first neurons for which something holds, and their offenders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import READOUT, ChipNetwork, Layer
from fsnn_lava.verify.check import Offender


def neuron_index(layer: Layer, flat: int) -> list[int]:
    """Position in the layer's shape of the neuron with this flat index."""
    return [int(i) for i in np.unravel_index(flat, layer.shape)]


def first_neuron_indices(mask: NDArray[np.bool_], most: int) -> Iterator[tuple[int, int]]:
    """(row, flat index) of the first `most` entries of [B, ...] that are set; none if `most` is below 0."""
    for position in np.flatnonzero(mask)[: max(0, most)]:
        row, flat = divmod(int(position), mask[0].size)
        yield row, flat


def neuron_offender(chip: ChipNetwork, sample: int, position: int, flat: int | None, *, kind: str, what: str) -> Offender:
    """A neuron of the layer at `position`, the readout's coming last; `flat` None stands for the whole layer."""
    layer = chip.layers[position] if position < len(chip.layers) else None
    neuron: Offender = {} if flat is None else {"neuron": neuron_index(layer, flat) if layer else [flat]}
    return {"sample": sample, "position": position, "layer": layer.name if layer else READOUT, **neuron, "kind": kind, "what": what}


def by_place(offender: Offender) -> tuple[int, int]:
    """Sort by sample, then by layer, so that the origin of a fault comes before its consequences."""
    return offender["sample"], offender["position"]


def first_layer(offenders: Sequence[Offender], kind: str) -> str:
    """The end of a sentence that names the layer of the first offender of a kind; empty if those kept are all of other kinds.

    ValueError if the list is empty: then the totals, which may come from a file, contradict each other.
    """
    if not offenders:
        raise ValueError(f"there is a violation ({kind}) but none is listed")
    return next((f"; the first is in layer {offender['layer']!r}" for offender in offenders if offender["kind"] == kind), "")
