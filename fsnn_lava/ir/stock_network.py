"""The network that Lava's own ("stock") processes run instead of a given one. Integers only; Lava is not imported.

Lava's synapses round their sum to whole weight units before the neuron multiplies it by 2**6; a bias has 16 bits; `LIF` resets to zero
and fires above its threshold; `ATRLIF` can subtract. `stock_equivalent` is the network that these processes actually compute.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, HostDrive, Layer, Readout, Synapse, TransposedConvSynapse
from fsnn_lava.ir.space_to_depth import Factors, space_to_depth
from fsnn_lava.ir.stock_delta import stock_delta_differences


@dataclass(frozen=True, kw_only=True, eq=False)
class Lowered:
    """A network in which every connection is a stock process. A remaining transposed convolution becomes a `Sparse` process."""

    chip: ChipNetwork
    factors: Factors  # how each layer is packed (space_to_depth)


def lower_to_stock(chip: ChipNetwork) -> Lowered:
    """Replace transposed convolutions by convolutions on coarser grids, or leave them to Sparse if that stores fewer weights."""
    plain, factors = space_to_depth(chip)
    if stock_network_weights(plain) <= stock_network_weights(chip):
        return Lowered(chip=plain, factors=factors)
    return Lowered(chip=chip, factors={layer.name: (1, 1) for layer in chip.layers})


def stock_network_weights(chip: ChipNetwork) -> int:
    """Return the number of weights that a stock network stores: shared ones once, those of a transposed convolution (Sparse) one by one."""
    total = 0
    for synapse in chip.synapses:
        weights = synapse.weight.size
        if isinstance(synapse, TransposedConvSynapse):
            source = chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape
            weights *= int(np.prod(source[1:]))
        total += weights
    return total


def stock_equivalent(chip: ChipNetwork) -> tuple[ChipNetwork, list[str]]:
    """Return the network that the stock graph of `chip` computes, spike for spike, and a sentence for each difference from `chip`.

    Weight units are finer where a synapse's exponent is negative (potentials grow by 2**bits, spikes stay the same), pixels enter as a
    bias computed by the host, and thresholds are those that `LIF` compares with. Applying it again changes nothing. With delta
    encoding it is `chip` itself, but Lava's neurons round differently (ir/stock_delta.py).
    """
    if chip.delta is not None:
        return chip, stock_delta_differences(chip)
    said: list[str] = []
    bits = [_finer_bits(chip, layer) for layer in chip.layers]
    layers = tuple(_stock_layer(layer, b, said) for layer, b in zip(chip.layers, bits, strict=True))
    synapses = tuple(_finer_synapse(chip, synapse, bits, said) for synapse in chip.synapses)
    readout = _stock_readout(chip.readout, said)
    made = replace(chip, layers=layers, synapses=synapses, readout=readout)
    if chip.input.kind == "pixels":
        made = _pixels_as_bias(chip, made, bits[0], said)
    elif chip.input.kind == "current" and bits[0]:
        part = 0.5 / float(chip.layers[0].threshold.min())
        said.append(
            f"input: the host rounds its drive to the finer unit, so it changes by up to 1/2 old unit ({part:.1e} of the threshold)"
        )
    _say_limits(made, said)
    return made, said


# --- units -------------------------------------------------------------------------------------------------------------------


def executed_network(chip: ChipNetwork, graph: str) -> ChipNetwork:
    """Return the network that a graph actually runs: the stock equivalent for "stock", otherwise `chip` itself."""
    return stock_equivalent(chip)[0] if graph == "stock" else chip


def _finer_bits(chip: ChipNetwork, layer: Layer) -> int:
    """Return how many bits finer the layer's weight unit must be for every current into it to be a whole number of units."""
    stays = [s for s in chip.into(layer) if not (s.source == INPUT and chip.input.kind == "pixels")]
    bits = max([0, *(-s.exponent for s in stays)])
    if _fires_one_unit_lower(layer) and int(layer.threshold.min()) << bits < 2:
        bits = 1  # a threshold of 1 has no integer below it
    if int(layer.threshold.max()) << bits > limits.THRESHOLD_MAX:
        raise BadNetwork(
            f"layer {layer.name!r}: stock processes need weight units {2**bits} times finer, in which its threshold "
            f"{int(layer.threshold.max())} does not fit in 17 bits; use the batched graph, or export with larger exponents"
        )
    return bits


def _fires_one_unit_lower(layer: Layer) -> bool:
    """Return whether a threshold one unit lower gives the same spikes, as LIF fires only above it, but this layer also at it (no leak)."""
    return layer.reset == "zero" and not layer.strict and layer.decay == 0


def _stock_layer(layer: Layer, bits: int, said: list[str]) -> Layer:
    what = f"layer {layer.name!r}"
    if bits:
        said.append(f"{what}: weight units are {2**bits} times finer, so its potentials are {2**bits} times larger; spikes are the same")
    threshold, strict = layer.threshold << bits, layer.strict
    if _fires_one_unit_lower(layer):
        threshold, strict = threshold - 1, True
        said.append(f"{what}: LIF fires above its threshold, so the threshold is one unit lower; spikes are the same")
    elif layer.reset == "zero" and not layer.strict:
        strict = True
        said.append(
            f"{what}: LIF fires above its threshold, not at it: a potential that equals it exactly (in units of 2**-6) fires a step later"
        )
    if layer.reset == "subtract" and layer.decay:
        said.append(
            f"{what}: ATRLIF leaks and rounds potential and reset separately: its potential differs from E9 by up to "
            f"{atrlif_error(layer.decay):.0f}/64 unit, and a spike that close to the threshold may come a step early or late"
        )
    return replace(layer, threshold=threshold, strict=strict, bias=_bias(layer.bias, bits, what, said), scale=layer.scale / 2**bits)


def runs_as_atrlif(layer: Layer) -> bool:
    """Return whether the layer's stock neuron rounds differently from E9: ATRLIF with a leak."""
    return layer.reset == "subtract" and layer.decay > 0


def stock_network_offset(layer: Layer) -> NDArray[np.int64]:
    """Return the initial r of a stock ATRLIF neuron, [*shape]: half the threshold, units 2**-6, so that u = v - r + offset starts at 0."""
    return (layer.per_neuron(layer.threshold).astype(np.int64) << (limits.STATE_FRACTION_BITS - 1)) + layer.strict


def stock_network_bias(layer: Layer, bias: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the bias of a stock ATRLIF process for `bias`, [..., *shape], units 2**-6: it also cancels the leak of the offset, rounded."""
    return bias - (layer.decay * stock_network_offset(layer) + limits.DECAY_UNIT // 2) // limits.DECAY_UNIT


def atrlif_error(decay: int) -> float:
    """Return a bound on the error of a stock network, |u(ATRLIF) - u(E9)|, in units of 2**-6, if both spike at the same steps.

    With k = 1 - decay/4096, each step multiplies the difference by k and adds less than 1 for each of three roundings towards zero
    (of v, of r, of E9's u) and at most 1/2 for that of the offset: 3.5 / (1 - k).
    """
    return 3.5 * limits.DECAY_UNIT / decay


def _bias(bias: NDArray[np.int32], bits: int, what: str, said: list[str]) -> NDArray[np.int32]:
    """Return the bias in finer units, rounded to a 16-bit mantissa << exponent."""
    exact = bias.astype(np.int64) << bits
    rounded = stock_network_mantissa(exact)[0] << stock_network_mantissa(exact)[1]
    if not np.array_equal(exact, rounded):
        lost = int(np.abs(exact - rounded).max())
        number, largest = int((exact != rounded).sum()), int(np.abs(exact).max())
        said.append(f"{what}: {number} biases need more than 16 bits and are rounded, by up to {lost} of {largest} units per step")
    if int(np.abs(rounded).max(initial=0)) > limits.BIAS_MAX:
        raise BadNetwork(
            f"{what}: expressed in units {2**bits} times finer, its bias exceeds the range of the potential; use the batched graph"
        )
    return rounded.astype(np.int32)


def stock_network_mantissa(value: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return (mantissa, exponent) of each number: 16 bits signed, with the smallest exponent, rounded half to even."""
    exponent = np.zeros_like(value)
    while True:
        found = np.rint(value / 2.0**exponent).astype(np.int64)
        large = np.abs(found) > limits.STOCK_BIAS_MANTISSA_MAX
        if not large.any():
            return found, exponent
        exponent = exponent + large


def _finer_synapse(chip: ChipNetwork, synapse: Synapse, bits: list[int], said: list[str]) -> Synapse:
    fraction = -(limits.STATE_FRACTION_BITS + synapse.exponent)
    if fraction > 0 and not (synapse.source == INPUT and chip.input.kind == "pixels"):
        said.append(f"{synapse}: its currents are no longer rounded down to 2**-6 unit, so they are up to 2**-6 unit larger per step")
    return replace(synapse, exponent=synapse.exponent + bits[chip.index(synapse.target)])


def _stock_readout(readout: Readout, said: list[str]) -> Readout:
    bits = max(0, -readout.exponent)
    if bits:
        said.append(f"readout: weight units are {2**bits} times finer, so its potentials are {2**bits} times larger; logits are the same")
    bias = _bias(readout.bias, bits, "readout", said)
    return replace(readout, exponent=readout.exponent + bits, bias=bias, scale=readout.scale / 2**bits)


# --- input -------------------------------------------------------------------------------------------------------------------


def _pixels_as_bias(chip: ChipNetwork, made: ChipNetwork, bits: int, said: list[str]) -> ChipNetwork:
    """Return the same network, except that the host computes the input synapse once per sample and writes it as a bias."""
    synapse, *others = [s for s in chip.synapses if s.source == INPUT]
    layer = made.layers[0]
    if others or synapse.target != layer.name:
        raise BadNetwork(
            f"{(others or [synapse])[-1]}: stock processes take pixels as a bias of the first layer, via one connection; "
            "use the batched graph, or input kind 'events'"
        )
    drive = _drive(synapse, chip, layer, bits)
    rest = tuple(s for s in made.synapses if s.source != INPUT)
    if synapse.exponent + bits < 0:
        part = 0.5 / float(layer.threshold.min())
        said.append(
            f"input: pixels enter as a bias of whole weight units, rounded by up to 1/2 unit ({part:.1e} of the threshold) per step"
        )
    else:
        said.append("input: pixels enter as a bias that the host computes once per sample; the current is the same")
    return replace(made, input=replace(chip.input, kind="current"), synapses=rest, host_drive=drive)


def _drive(synapse: Synapse, chip: ChipNetwork, layer: Layer, bits: int) -> HostDrive:
    unit = layer.scale * 2.0 ** (synapse.exponent + bits)  # physical value of one weight times one pixel
    per_channel = np.broadcast_to(unit, layer.shape[:1])
    zero = np.zeros(layer.shape)
    if isinstance(synapse, DenseSynapse):
        return HostDrive(weight=synapse.weight * per_channel[:, None], bias=zero)
    if not isinstance(synapse, ConvSynapse):
        raise BadNetwork(f"{synapse}: stock processes do not support pixels through a transposed convolution; use the batched graph")
    (down, right), kernel = synapse.dilation, synapse.weight.shape[2:]
    whole = np.zeros((layer.shape[0], chip.input.shape[0], down * (kernel[0] - 1) + 1, right * (kernel[1] - 1) + 1))
    outer, inner = layer.shape[0] // synapse.groups, synapse.weight.shape[1]
    for group in range(synapse.groups):
        rows = slice(group * outer, (group + 1) * outer)
        whole[rows, group * inner : (group + 1) * inner, ::down, ::right] = synapse.weight[rows]
    return HostDrive(weight=whole * per_channel[:, None, None, None], bias=zero, stride=synapse.stride, padding=synapse.padding)


# --- limits ------------------------------------------------------------------------------------------------------------------


def _say_limits(chip: ChipNetwork, said: list[str]) -> None:
    for layer in chip.layers:
        charge = int(layer.threshold.max()) * (chip.steps + 1)
        if layer.reset == "subtract" and layer.decay == 0 and charge > limits.STOCK_CURRENT_MAX:
            said.append(
                f"layer {layer.name!r}: ATRLIF keeps the sum of all currents of a sample, at most {limits.STOCK_CURRENT_MAX} units, "
                f"and a neuron that fires at every step reaches {charge}; the run checks the charge of every neuron"
            )
