"""A layer as a stock neuron on the chip, reused for every sample: no bias until its window opens, and silenced after it has closed."""

from __future__ import annotations

from typing import Any

import numpy as np
from lava.proc.atrlif.process import ATRLIF
from lava.proc.lif.process import LIFReset
from numpy.typing import NDArray

from fsnn_lava.backends.lava.stock_neuron import NO_MEMORY
from fsnn_lava.backends.lava.stock_order import to_stock_order
from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import Layer, Readout
from fsnn_lava.ir.stock_network import stock_network_offset
from fsnn_lava.limits import CHIP_BIAS_EXPONENT_MAX, DECAY_UNIT, THRESHOLD_MAX
from fsnn_lava.placement.chip_bias import split_bias, written_bias

_QUIET = -(2**12)  # mantissa; with the largest exponent, 8192 weight units down at every step
_DEEP = 2**22  # half of the state's range, units 2**-6


class ChipNeuron:
    """LIFReset if the layer resets to zero, ATRLIF if it subtracts. The layer has been checked (`placement.obstacles`)."""

    def __init__(self, layer: Layer, *, window: int) -> None:
        self.name = f"layer {layer.name!r}"
        threshold = to_stock_order(layer.per_neuron(layer.threshold).astype(np.int64))
        self.subtracts = layer.reset == "subtract"
        self._layer: Layer | None = layer
        self.offset = to_stock_order(stock_network_offset(layer)) if self.subtracts else np.zeros_like(threshold)
        common = {"shape": threshold.shape, "name": f"neuron {layer.name}"}
        if self.subtracts:
            theta = int(threshold.flat[0]) / 2.0
            leak = layer.decay / DECAY_UNIT
            self.process: Any = ATRLIF(delta_i=NO_MEMORY, delta_v=leak, delta_r=leak, delta_theta=0, theta_0=theta, theta_step=0, **common)
        else:
            self.process = LIFReset(
                du=DECAY_UNIT - 1, dv=layer.decay, vth=int(threshold.flat[0]), reset_interval=window, reset_offset=1, **common
            )

    def rest(self) -> None:
        """Set the neurons' bias and potential to zero (LIFReset clears its own potential at the first step of a window)."""
        self._write(0, 0)
        if self.subtracts:
            for variable in (self.process.i, self.process.v, self.process.r):
                variable.set(np.zeros(variable.shape, dtype=np.int32))

    def wake(self, bias: NDArray[np.int64]) -> None:
        """Write `bias` [*shape], units 2**-6, to the neurons right before their window opens."""
        given = to_stock_order(written_bias(self._layer, bias) if self._layer is not None else bias)
        mantissa, exponent = _chip_mantissa(given, self.name)
        self._write(mantissa, exponent)
        if self.subtracts:
            self.process.r.set(self.offset.astype(np.int32))

    def silence(self) -> None:
        """Lower the potential so far that no spike in flight can make the neurons fire."""
        self._write(_QUIET, CHIP_BIAS_EXPONENT_MAX)
        self.process.v.set(np.full(self.process.v.shape, -_DEEP, dtype=np.int32))

    def potential(self) -> NDArray[np.int64]:
        """Return the neurons' u in Lava's order, units 2**-6."""
        v = np.asarray(self.process.v.get()).astype(np.int64)
        return v - np.asarray(self.process.r.get()).astype(np.int64) + self.offset if self.subtracts else v

    def _write(self, mantissa: Any, exponent: Any) -> None:
        shape = self.process.bias_mant.shape
        self.process.bias_mant.set(np.broadcast_to(np.asarray(mantissa, dtype=np.int32), shape).copy())
        self.process.bias_exp.set(np.broadcast_to(np.asarray(exponent, dtype=np.int32), shape).copy())


class ChipReadout(ChipNeuron):
    """Integrators that do not fire: LIFReset with the highest threshold."""

    def __init__(self, readout: Readout, *, window: int) -> None:
        self.name, self.subtracts, self._layer = "readout", False, None
        self.offset = np.zeros(readout.classes, dtype=np.int64)
        self.process = LIFReset(
            shape=(readout.classes,),
            du=DECAY_UNIT - 1,
            dv=readout.decay,
            vth=THRESHOLD_MAX,
            reset_interval=window,
            reset_offset=1,
            name="readout",
        )


def _chip_mantissa(value: NDArray[np.int64], name: str) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the exact (mantissa, exponent) of each number; raise BadNetwork if one does not fit in 13 and 3 bits."""
    mantissa, exponent, wrong = split_bias(value)
    if np.any(wrong):
        worst = int(np.abs(value[wrong]).max())
        raise BadNetwork(
            f"{name}: the chip stores a bias as 13 bits with an exponent of at most {CHIP_BIAS_EXPONENT_MAX}; "
            f"{int(wrong.sum())} neurons need more, up to {worst}/64 weight units: export with fewer bits, or without a leak"
        )
    return mantissa, exponent
