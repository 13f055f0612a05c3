"""A layer as one of Lava's own neurons: LIF if it resets to zero, ATRLIF if it subtracts."""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.proc.atrlif.process import ATRLIF
from lava.proc.lif.process import LIF
from numpy.typing import NDArray

from fsnn_lava.backends.lava.stock_order import to_stock_order
from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import Layer, Readout
from fsnn_lava.ir.stock_network import stock_network_bias, stock_network_mantissa, stock_network_offset
from fsnn_lava.limits import DECAY_UNIT, STATE_FRACTION_BITS, STATE_MAX, STOCK_BIAS_MANTISSA_MAX, THRESHOLD_MAX

NO_MEMORY = (DECAY_UNIT - 1) / DECAY_UNIT  # decay of the current, so that nothing remains from the last step
_BIAS_TOO_LARGE = f"a stock process can hold a bias of at most {STOCK_BIAS_MANTISSA_MAX} weight units; use the batched graph"


class StockNeuron:
    """A stock process for a layer, started in the state that gives a potential of zero when its window opens `before` steps later.

    `bias` [*shape] (units 2**-6) may include a sample's input current. ATRLIF's sum of currents is not lowered by spikes and is
    clipped, so neurons with a positive drive start, in both v and r, as far below zero as `steps` steps of firing require. If the state
    that compensates for the bias would fire or be clipped, the process starts at rest without a bias, `late` is set, and `wake` writes
    bias and state when the window opens. `excess_bias` [W, H, C] is the part of the bias that does not fit in 16 bits, in whole weight
    units to be sent to the process at every step, or None.
    """

    def __init__(self, layer: Layer, bias: NDArray[np.int64], *, before: int, steps: int) -> None:
        threshold = to_stock_order(layer.per_neuron(layer.threshold).astype(np.int64))
        self.subtracts = layer.reset == "subtract"
        self.offset = to_stock_order(stock_network_offset(layer)) if self.subtracts else np.zeros_like(threshold)
        given = to_stock_order(stock_network_bias(layer, bias) if self.subtracts else bias)
        mant, exponent, self.excess_bias = _split(given)
        self._below = _room_below(threshold, given, steps) if self.subtracts and layer.decay == 0 else np.zeros_like(given)
        v = _backwards(-self._below, given, layer.decay, before)
        r = _backwards(self.offset - self._below, np.zeros_like(given), layer.decay, before)
        self.late = bool(np.any(np.abs(v) > STATE_MAX) or np.any(np.abs(r) > STATE_MAX))
        self.late = self.late or bool(np.any(_highest(v, given, layer.decay, before) + self._below >= threshold << STATE_FRACTION_BITS))
        self._mant = mant
        if self.late and self.excess_bias is not None:
            raise BadNetwork(f"layer {layer.name!r}: {_BIAS_TOO_LARGE}")
        if self.late:
            mant, v, r = np.zeros_like(mant), np.zeros_like(v), np.zeros_like(r)
        common = {"shape": threshold.shape, "bias_mant": mant, "bias_exp": exponent, "v": v, "name": f"neuron {layer.name}"}
        if self.subtracts:
            self.process = _subtracting(threshold, layer.decay, r, common)
        else:
            self.process = LIF(du=DECAY_UNIT - 1, dv=layer.decay, vth=_one_or_all(threshold), **common)

    def wake(self) -> None:
        """Write the stock neuron's bias and state, one number at a time, while the run is paused right before the window opens."""
        self.process.bias_mant.set(self._mant)
        if self.subtracts:
            self.process.v.set(-self._below)
            self.process.r.set(self.offset - self._below)


def readout_neuron(readout: Readout, *, before: int) -> LIF:
    """Return the readout as a stock neuron: integrators that do not fire, LIF with a threshold just above the highest potential."""
    bias = readout.bias.astype(np.int64) << STATE_FRACTION_BITS
    mant, exponent, excess = _split(bias)
    if excess is not None:
        raise BadNetwork(f"readout: {_BIAS_TOO_LARGE}")
    start = _backwards(np.zeros_like(bias), bias, readout.decay, before)
    return LIF(
        shape=bias.shape,
        du=DECAY_UNIT - 1,
        dv=readout.decay,
        vth=THRESHOLD_MAX + 1,
        bias_mant=mant,
        bias_exp=exponent,
        v=start,
        name="readout",
    )


def _subtracting(threshold: NDArray[np.int64], decay: int, r: NDArray[np.int64], common: dict[str, Any]) -> ATRLIF:
    """Return an ATRLIF that spikes where v - r >= 32 vth, then r += 64 vth; with u = v - r + 32 vth, this is E9."""
    theta, leak = _one_or_all(threshold / 2.0), decay / DECAY_UNIT
    return ATRLIF(delta_i=NO_MEMORY, delta_v=leak, delta_r=leak, delta_theta=0, theta_0=theta, theta_step=0, r=r, **common)


def _one_or_all(values: NDArray[Any]) -> Any:
    """Return a single number if all are equal, as these processes document; they also accept one per neuron."""
    return values.flat[0].item() if np.all(values == values.flat[0]) else values


def _split(bias: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64] | None]:
    """Return the 16-bit mantissa and exponent per neuron, and the excess of the biases that do not fit, in whole weight units."""
    mant, exponent = stock_network_mantissa(bias)
    large = mant << exponent != bias
    if not large.any():
        return mant, exponent, None
    excess = np.where(large, bias >> STATE_FRACTION_BITS, 0)
    return *stock_network_mantissa(bias - (excess << STATE_FRACTION_BITS)), excess


def _room_below(threshold: NDArray[np.int64], bias: NDArray[np.int64], steps: int) -> NDArray[np.int64]:
    """Return how far below zero a driven neuron must start so that firing at every step does not clip its sum of currents."""
    highest = np.maximum(threshold << STATE_FRACTION_BITS, bias) * (steps + 1)
    return np.where(bias > 0, np.clip(highest - STATE_MAX, 0, STATE_MAX - (threshold << STATE_FRACTION_BITS)), 0)


def _backwards(end: NDArray[np.int64], bias: NDArray[np.int64], decay: int, steps: int) -> NDArray[np.int64]:
    """Return the state from which `steps` steps with only a bias lead to `end`. It always exists, since a leak skips no integer."""
    keep = DECAY_UNIT - decay
    state = end
    for _ in range(steps):
        wanted = state - bias
        state = np.sign(wanted) * -(-np.abs(wanted) * DECAY_UNIT // keep)
    return state


def _highest(start: NDArray[np.int64], bias: NDArray[np.int64], decay: int, steps: int) -> NDArray[np.int64]:
    """Return the largest state within `steps` steps, not counting the start."""
    highest = np.full_like(start, -STATE_MAX)
    state = start
    for _ in range(steps):
        state = np.sign(state) * (np.abs(state) * (DECAY_UNIT - decay) // DECAY_UNIT) + bias
        highest = np.maximum(highest, state)
    return highest
