"""What the chip's stock neurons cannot hold, said before a job is queued. Widths are those that Lava's bit-accurate models declare."""

from __future__ import annotations

import numpy as np

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.stock_network import stock_equivalent
from fsnn_lava.limits import ATRLIF_THRESHOLD_MAX, CURRENT_MAX

_MOST_BITS = 8


def obstacles(chip: ChipNetwork) -> list[str]:
    """A sentence for everything that keeps `chip` from running on a chip as it is; empty if nothing is known to."""
    try:
        network, _ = stock_equivalent(chip)
    except BadNetwork as error:
        return [str(error)]
    return [sentence for layer in network.layers for sentence in _cannot(layer)]


def risks(chip: ChipNetwork, *, steps: int | None = None) -> list[str]:
    """A sentence for everything that may go wrong, depending on the sample; the run or the comparator will tell."""
    try:
        network, _ = stock_equivalent(chip)
    except BadNetwork:
        return []
    return [sentence for layer in network.layers for sentence in _may_not(layer, chip.steps if steps is None else steps)]


def _cannot(layer: Layer) -> list[str]:
    what, threshold, said = f"layer {layer.name!r}", int(layer.threshold.max()), []
    if np.any(layer.threshold != threshold):
        said.append(f"{what}: the chip takes one threshold per layer, this has one per channel; export without --per-channel")
    most = 2 * ATRLIF_THRESHOLD_MAX
    if layer.reset == "subtract" and threshold > most:
        said.append(
            f"{what}: ATRLIF on the chip holds a threshold of {most} weight units, this needs {threshold}; {_fewer(threshold, most)}"
        )
    return said


def _may_not(layer: Layer, steps: int) -> list[str]:
    what, threshold = f"layer {layer.name!r}", int(layer.threshold.max())
    if layer.reset != "subtract":
        return []
    if layer.decay:
        return [
            f"{what}: a leaky neuron that resets by subtraction may need a bias of more than 13 bits; "
            "if it does, train without a leak or export with --reset zero"
        ]
    if threshold * (steps + 1) <= CURRENT_MAX:
        return []
    return [
        f"{what}: ATRLIF keeps the sum of all currents of a sample, {CURRENT_MAX} weight units at most, and a neuron that always fires "
        f"reaches {threshold * (steps + 1)}; {_fewer(threshold, CURRENT_MAX // (steps + 1))}, or run fewer steps"
    ]


def _fewer(threshold: int, most: int) -> str:
    """Halving the weights' range halves the threshold."""
    bits = _MOST_BITS
    while bits > 2 and threshold * 2 ** (bits - _MOST_BITS) > most:
        bits -= 1
    return f"export with --bits {bits}, or with --reset zero"
