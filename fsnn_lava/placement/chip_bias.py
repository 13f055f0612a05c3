"""The bias of a Loihi 2 neuron: a signed 13-bit mantissa and a 3-bit exponent. Integers only; Lava is not imported."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.input_current import input_current
from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.stock_network import stock_network_bias
from fsnn_lava.limits import CHIP_BIAS_EXPONENT_MAX, CHIP_BIAS_MANTISSA_MAX, STATE_FRACTION_BITS


def split_bias(value: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.bool_]]:
    """Split each bias, units 2**-6, into (mantissa, exponent), and also return where they do not represent it exactly."""
    exponent = np.zeros_like(value)
    for _ in range(CHIP_BIAS_EXPONENT_MAX):
        exponent = exponent + (np.abs(value >> exponent) > CHIP_BIAS_MANTISSA_MAX)
    mantissa = value >> exponent
    return mantissa, exponent, (mantissa << exponent != value) | (np.abs(mantissa) > CHIP_BIAS_MANTISSA_MAX)


def written_bias(layer: Layer, bias: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what is written to the layer's neurons for `bias`, [..., *shape], units 2**-6."""
    return stock_network_bias(layer, bias) if layer.reset == "subtract" else bias


def bias_obstacle(layer: Layer, bias: NDArray[np.int64]) -> str:
    """Return a sentence if the chip cannot store this bias [..., *shape], units 2**-6, in every neuron; otherwise ""."""
    given = written_bias(layer, bias)
    wrong = split_bias(given)[2]
    if not wrong.any():
        return ""
    worst, where = int(np.abs(given[wrong]).max()), wrong.reshape(-1, *layer.shape).any(axis=0)
    fix = "export with fewer bits, or with --reset zero" if layer.reset == "subtract" and layer.decay else "export with fewer bits"
    return (
        f"layer {layer.name!r}: the chip stores a bias as 13 bits with an exponent of at most {CHIP_BIAS_EXPONENT_MAX}; "
        f"{int(where.sum())} neurons need more, up to {worst}/64 weight units: {fix}"
    )


def sample_bias_obstacle(network: ChipNetwork, values: NDArray[np.uint8]) -> str:
    """Return the bias obstacle for samples that enter as a bias of layer 1; `network` is a stock equivalent (ir/stock_network.py)."""
    if network.input.kind == "events":
        return ""
    return bias_obstacle(network.layers[0], input_current(network, values).astype(np.int64))


def constant_bias_obstacles(network: ChipNetwork) -> list[str]:
    """Return the bias obstacles that do not depend on the sample: the biases of the layers and, for layer 1, those of a blank input."""
    said = []
    for layer in network.layers:
        if layer is network.layers[0] and network.input.kind != "events":
            said.append(sample_bias_obstacle(network, np.zeros((1, *network.input.shape), np.uint8)))
        else:
            said.append(bias_obstacle(layer, layer.bias.astype(np.int64) << STATE_FRACTION_BITS))
    return [sentence for sentence in said if sentence]
