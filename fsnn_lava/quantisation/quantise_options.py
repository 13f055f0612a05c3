"""Checks of what `quantise` is given: its options, and whether the network's inputs can be made from raw values."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.quantisation.folded_network import FoldedNetwork


def checked_network(net: FSNN) -> FSNN:
    """BadArgument unless `net` is an FSNN whose inputs raw uint8 values can reproduce."""
    if not isinstance(net, FSNN):
        raise BadArgument(f"net must be an FSNN, got {type(net).__name__}; build the network as an FSNN, train it, then quantise it")
    if net.normalisation is None and net.trained_range is not None:
        low, high = net.trained_range
        unit = low >= 0.0 and high <= 1.0
        remedy = "Normalisation(255.0) if they are pixels divided by 255" if unit else "Normalisation(255.0, mean, std)"
        raise BadArgument(
            f"the network has no `normalisation` and was trained on floats from {low:.3g} to {high:.3g}, but the chip takes raw uint8 "
            f"values: say how those floats were made from pixels, for example net.normalisation = fsnn_lava.{remedy}"
        )
    return net


def check_trained_range(net: FSNN | FoldedNetwork, calibration: NDArray[np.uint8]) -> None:
    """BadArgument if a normalisation that was set after training turns raw samples into other floats than those of training."""
    if not isinstance(net, FSNN) or net.trained_range is None:
        return
    low, high = (float(bound) for bound in torch.aminmax(net.normalise(torch.from_numpy(calibration))))
    trained_low, trained_high = net.trained_range
    trained = trained_high - trained_low
    if not trained / 2.0 <= high - low <= trained * 2.0:
        raise BadArgument(
            f"the network was trained on floats from {trained_low:.3g} to {trained_high:.3g}, but its `normalisation` turns the "
            f"calibration samples into {low:.3g} to {high:.3g}: set its divisor, mean and std as in training, or calibrate on more samples"
        )


def check_options(bits: int, reset: str, steps: int | None) -> None:
    """BadArgument unless every option lies in its range."""
    if bits not in limits.WEIGHT_BITS:
        raise BadArgument(f"bits must be between {limits.WEIGHT_BITS[0]} and {limits.WEIGHT_BITS[-1]}, got {bits}")
    if reset not in ("subtract", "zero"):
        raise BadArgument(f"reset must be 'subtract' or 'zero', got {reset!r}")
    if steps is not None and not 1 <= steps <= limits.STEPS_MAX:
        raise BadArgument(f"steps must be between 1 and {limits.STEPS_MAX}, got {steps}")


def check_encoding(encoding: str, dead_band: ArrayLike | None, *, reset: str, per_channel: bool) -> None:
    """BadArgument unless the encoding is known and the other options apply to it."""
    if encoding not in ("rate", "delta"):
        raise BadArgument(f"encoding must be 'rate' or 'delta', got {encoding!r}")
    if encoding == "rate" and dead_band is not None:
        raise BadArgument("dead_band only applies to encoding 'delta'")
    if encoding == "delta" and (reset != "subtract" or per_channel):
        raise BadArgument("encoding 'delta' has no reset, and its thresholds are powers of two: leave out reset and per_channel")
