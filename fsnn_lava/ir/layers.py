"""The parts of a ChipNetwork other than its connections: input, layers, readout, and what the host computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.ir.validation import checked_decay, checked_exponent, checked_integers, checked_pair, checked_scale, checked_shape, require

INPUT = "input"
READOUT = "readout"


@dataclass(frozen=True, kw_only=True, eq=False)
class Input:
    """What a network takes as input, and how raw values were converted for the float network: x = (value / divisor - mean) / std (E8).

    Attributes:
        kind: "pixels": [B, *shape] uint8, sent as graded messages at every step through the input synapse.
            "events": [B, T, *shape] uint8, one message per step through the input synapse.
            "current": [B, *shape] uint8; the host computes F¹x + b¹ once per sample, and there is no input synapse.
        shape: (N,) or (C, H, W).
        divisor: what raw values are divided by first.
        mean: one per channel, or one for all.
        std: one per channel, or one for all.
    """

    kind: Literal["pixels", "events", "current"]
    shape: tuple[int, ...]
    divisor: float = 255.0
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)

    def __post_init__(self) -> None:
        require(self.kind in ("pixels", "events", "current"), f"input: kind must be pixels, events or current, got {self.kind!r}")
        object.__setattr__(self, "shape", checked_shape(self.shape, "input"))
        object.__setattr__(self, "divisor", float(self.divisor))
        object.__setattr__(self, "mean", tuple(float(m) for m in self.mean))
        object.__setattr__(self, "std", tuple(float(s) for s in self.std))
        require(np.isfinite(self.divisor) and self.divisor > 0, f"input: divisor must be positive, got {self.divisor}")
        require(bool(np.all(np.isfinite(self.mean))), "input: mean must be finite")
        require(bool(np.all(np.isfinite(self.std)) and np.all(np.array(self.std) > 0)), "input: std must be positive and finite")


@dataclass(frozen=True, kw_only=True, eq=False)
class Layer:
    """Spiking neurons of a ChipNetwork (E9). One weight unit equals `scale` in the float network's potential.

    Attributes:
        name: used by the connections; not "input" or "readout".
        shape: (N,) or (C, H, W).
        threshold: int32, () or [C] along the first axis of `shape`; weight units.
        bias: int32 [*shape], added at every step; weight units.
        scale: float64, () or [C]: one weight unit in units of the float network's potential.
        decay: what the potential loses per step, in units of 1/4096; 0 for IF.
        reset: "subtract" subtracts the threshold from the potential at a spike; "zero" sets it to zero and discards the remaining charge.
        strict: spike at u > threshold, as Lava's stock LIF does, instead of u >= threshold.
    """

    name: str
    shape: tuple[int, ...]
    threshold: NDArray[np.int32] = field(repr=False)
    bias: NDArray[np.int32] = field(repr=False)
    scale: NDArray[np.float64] = field(repr=False)
    decay: int = 0
    reset: Literal["subtract", "zero"] = "subtract"
    strict: bool = False

    def __post_init__(self) -> None:
        what = f"layer {self.name!r}"
        require(self.name not in ("", INPUT, READOUT), f"{what}: this name is reserved")
        shape = checked_shape(self.shape, what)
        object.__setattr__(self, "shape", shape)
        threshold = checked_integers(self.threshold, np.int32, 1, limits.THRESHOLD_MAX, f"{what}: threshold")
        require(threshold.shape in ((), shape[:1]), f"{what}: threshold must be one number or one per channel, got {threshold.shape}")
        object.__setattr__(self, "threshold", threshold)
        bias = checked_integers(self.bias, np.int32, -limits.BIAS_MAX, limits.BIAS_MAX, f"{what}: bias")
        require(bias.shape == shape, f"{what}: bias must have shape {shape}, got {bias.shape}")
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "scale", checked_scale(self.scale, shape, what))
        object.__setattr__(self, "decay", checked_decay(self.decay, what))
        object.__setattr__(self, "strict", bool(self.strict))
        require(self.reset in ("subtract", "zero"), f"{what}: reset must be 'subtract' or 'zero', got {self.reset!r}")

    @property
    def size(self) -> int:
        """Number of neurons in the layer."""
        return int(np.prod(self.shape))

    @property
    def leak(self) -> float:
        """Share of the potential that remains after a step (lambda of E1); 1 for IF."""
        return (limits.DECAY_UNIT - self.decay) / limits.DECAY_UNIT

    def per_neuron(self, value: NDArray[Any]) -> NDArray[Any]:
        """Broadcast `threshold` or `scale` to one value per neuron.

        Args:
            value: () or [C] along the first axis of `shape`.

        Returns:
            A read-only view, [*shape].
        """
        return np.broadcast_to(value.reshape(value.shape + (1,) * (len(self.shape) - value.ndim)), self.shape)


@dataclass(frozen=True, kw_only=True, eq=False)
class Readout:
    """Non-spiking integrators after the last layer: u <- trunc(u (4096 - decay) / 4096) + 2**6 (2**exponent weight @ s + bias).

    Attributes:
        weight: int8 [classes, N], N the neurons of the last layer.
        bias: int32 [classes], added at every step; weight units.
        scale: float64, (): one weight unit in units of the float network's logits.
        exponent: the weights are multiplied by 2**exponent.
        decay: as for the layers.
    """

    weight: NDArray[np.int8] = field(repr=False)
    bias: NDArray[np.int32] = field(repr=False)
    scale: NDArray[np.float64] = field(repr=False)
    exponent: int = 0
    decay: int = 0

    def __post_init__(self) -> None:
        weight = checked_integers(self.weight, np.int8, -limits.WEIGHT_MAX, limits.WEIGHT_MAX, "readout: weight")
        require(weight.ndim == 2, f"readout: weight must be [classes, N], got {weight.shape}")
        object.__setattr__(self, "weight", weight)
        bias = checked_integers(self.bias, np.int32, -limits.BIAS_MAX, limits.BIAS_MAX, "readout: bias")
        require(bias.shape == weight.shape[:1], f"readout: bias must have shape {weight.shape[:1]}, got {bias.shape}")
        object.__setattr__(self, "bias", bias)
        scale = checked_scale(self.scale, (), "readout")
        object.__setattr__(self, "scale", scale)
        object.__setattr__(self, "exponent", checked_exponent(self.exponent, "readout"))
        object.__setattr__(self, "decay", checked_decay(self.decay, "readout"))

    @property
    def classes(self) -> int:
        """Number of outputs of the readout layer."""
        return int(self.weight.shape[0])


@dataclass(frozen=True, kw_only=True, eq=False)
class HostDrive:
    """What the host computes once per sample for input kind "current": F¹x + b¹ on raw values, in the float network's units (E8).

    Attributes:
        weight: float64 [N, N_in], or [C_out, C_in, kH, kW] for a convolution.
        bias: float64, one per neuron of the first layer.
        stride: of the convolution.
        padding: of the convolution.
    """

    weight: NDArray[np.float64] = field(repr=False)
    bias: NDArray[np.float64] = field(repr=False)
    stride: tuple[int, int] = (1, 1)
    padding: tuple[int, int] = (0, 0)

    def __post_init__(self) -> None:
        for name in ("weight", "bias"):
            array = np.array(getattr(self, name), dtype=np.float64)
            require(bool(np.all(np.isfinite(array))), f"host drive: {name} must be finite")
            array.setflags(write=False)
            object.__setattr__(self, name, array)
        for name in ("stride", "padding"):
            object.__setattr__(self, name, checked_pair(getattr(self, name), f"host drive: {name}"))
        require(self.weight.ndim in (2, 4), f"host drive: weight must be [N, N_in] or [C_out, C_in, kH, kW], got {self.weight.shape}")
