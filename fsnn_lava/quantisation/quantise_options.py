"""The options of `quantise`: their checks and defaults, and whether the network's inputs can be made from raw values."""

from __future__ import annotations

from numbers import Integral
from pathlib import PurePath
from typing import Literal

from numpy.typing import ArrayLike

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.neurons import LIF, SigmaDelta
from fsnn_lava.nn.raw_values import fault_of_floats

Encoding = Literal["rate", "delta"]


def checked_network(net: FSNN) -> FSNN:
    """Return `net`; BadArgument unless it is an FSNN whose inputs can be reproduced from raw uint8 values."""
    if not isinstance(net, FSNN):
        path = isinstance(net, (str, PurePath))
        remedy = "read it with FSNN.load first" if path else "build the network as an FSNN, train it, then quantise it"
        raise BadArgument(f"net must be an FSNN, got {type(net).__name__}; {remedy}")
    if net.normalisation is None and net.trained_range is not None:
        low, high = net.trained_range
        unit = low >= 0.0 and high <= 1.0
        remedy = "Normalisation(255.0) if they are pixels divided by 255" if unit else "Normalisation(255.0, mean, std)"
        raise BadArgument(
            f"the network has no `normalisation` and was trained on floats from {low:.3g} to {high:.3g}, but the chip takes raw uint8 "
            f"values: specify how those floats were computed from pixels, for example net.normalisation = fsnn_lava.{remedy}"
        )
    if net.normalisation is not None and net.trained_range is not None:
        low, high = net.trained_range
        if (fault := fault_of_floats(low, high, net.normalisation)) is not None:
            raise BadArgument(
                f"the network was trained on floats from {low:.3g} to {high:.3g}, and {fault}: on the chip it would see other inputs; "
                "train it on raw uint8 values, or set net.normalisation to how those floats were computed from pixels"
            )
    return net


def check_options(bits: int, reset: str, steps: int | None) -> None:
    """Raise BadArgument unless every option of `quantise` is in range."""
    if not isinstance(bits, Integral) or bits not in limits.WEIGHT_BITS:
        raise BadArgument(f"bits must be an integer between {limits.WEIGHT_BITS[0]} and {limits.WEIGHT_BITS[-1]}, got {bits!r}")
    if reset not in ("subtract", "zero"):
        raise BadArgument(f"reset must be 'subtract' or 'zero', got {reset!r}")
    if steps is not None and not (isinstance(steps, Integral) and not isinstance(steps, bool) and 1 <= int(steps) <= limits.STEPS_MAX):
        raise BadArgument(f"steps must be an integer between 1 and {limits.STEPS_MAX}, got {steps!r}")


def check_encoding(encoding: str, dead_band: ArrayLike | None, *, reset: str, per_channel: bool) -> None:
    """Raise BadArgument unless the encoding is known and the other options of `quantise` apply to it."""
    if encoding not in ("rate", "delta"):
        raise BadArgument(f"encoding must be 'rate' or 'delta', got {encoding!r}")
    if encoding == "rate" and dead_band is not None:
        raise BadArgument("dead_band only applies to encoding 'delta'")
    if encoding == "delta" and (reset != "subtract" or per_channel):
        raise BadArgument("encoding 'delta' has no reset, and its thresholds are powers of two: leave out reset and per_channel")


def own_encoding(neuron: LIF) -> Encoding:
    """Return the default encoding for quantising a network: that of its neurons."""
    return "delta" if isinstance(neuron, SigmaDelta) else "rate"
