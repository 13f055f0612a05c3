"""The obstacles to running a network on the chip, found before a job is queued. Bit widths are those of Lava's bit-accurate models."""

from __future__ import annotations

import numpy as np

from fsnn_lava import limits
from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.stock_network import stock_equivalent
from fsnn_lava.placement.chip_bias import constant_bias_obstacles

_MOST_BITS = 8


def obstacles(chip: ChipNetwork) -> list[str]:
    """Return one sentence for each reason why `chip` cannot run on the chip; empty if none is known."""
    if chip.delta is not None:
        return _delta_obstacles(chip)
    try:
        network, _ = stock_equivalent(chip)
    except BadNetwork as error:
        return [str(error)]
    return [*(sentence for layer in network.layers for sentence in _obstacles_of(layer)), *constant_bias_obstacles(network)]


def possible_obstacles(chip: ChipNetwork, *, steps: int | None = None) -> list[str]:
    """Return one sentence for each possible obstacle that depends on the sample; the run or the comparator will detect it."""
    if chip.delta is not None:
        return []
    try:
        network, _ = stock_equivalent(chip)
    except BadNetwork:
        return []
    return [sentence for layer in network.layers for sentence in _risks_of(layer, chip.steps if steps is None else steps)]


def _delta_obstacles(chip: ChipNetwork) -> list[str]:
    """Return the obstacles to delta encoding: the host writes constants into the sums of its neurons, so frames cannot enter."""
    said = [sentence for layer in chip.layers for sentence in (*_several_thresholds(layer), *_wide_shift(layer))]
    if chip.input.kind == "events":
        said.append("backend 'loihi2' supports delta encoding only for a static input; export with --encoding rate")
    return said


def _wide_shift(layer: Layer) -> list[str]:
    shift, most = int(layer.threshold.max()).bit_length() - 1, limits.STOCK_SHIFT_MAX
    if shift <= most:
        return []
    return [
        f"layer {layer.name!r}: its sums are shifted right by {shift} bits, but Lava declares the shift of a sigma-delta neuron with "
        f"3 bits, at most {most}; export with --encoding rate, or run it on another backend"
    ]


def _several_thresholds(layer: Layer) -> list[str]:
    if not np.any(layer.threshold != layer.threshold.max()):
        return []
    return [f"layer {layer.name!r}: the chip has one threshold per layer, but this layer has one per channel; export without --per-channel"]


def _obstacles_of(layer: Layer) -> list[str]:
    what, threshold, said = f"layer {layer.name!r}", int(layer.threshold.max()), _several_thresholds(layer)
    most = limits.CHIP_ATRLIF_THRESHOLD_MAX
    if layer.reset == "subtract" and threshold > most:
        said.append(
            f"{what}: ATRLIF on the chip supports thresholds up to {most} weight units, but this layer has {threshold}; "
            f"{_fewer_bits(threshold, most)}"
        )
    return said


def _risks_of(layer: Layer, steps: int) -> list[str]:
    what, threshold = f"layer {layer.name!r}", int(layer.threshold.max())
    if layer.reset != "subtract":
        return []
    if layer.decay:
        return [
            f"{what}: a leaky neuron that resets by subtraction may need a bias of more than 13 bits; "
            "if it does, train without a leak or export with --reset zero"
        ]
    if threshold * (steps + 1) <= limits.STOCK_CURRENT_MAX:
        return []
    most = limits.STOCK_CURRENT_MAX
    return [
        f"{what}: ATRLIF keeps the sum of all currents of a sample, at most {most} weight units, and a neuron that fires at every step "
        f"reaches {threshold * (steps + 1)}; {_fewer_bits(threshold, most // (steps + 1))}, or run fewer steps"
    ]


def _fewer_bits(threshold: int, most: int) -> str:
    """Say how to export with a threshold of at most `most`: each bit fewer halves it."""
    bits = _MOST_BITS
    while bits > 2 and threshold * 2 ** (bits - _MOST_BITS) > most:
        bits -= 1
    return f"export with --bits {bits}, or with --reset zero"
