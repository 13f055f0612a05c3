"""From the float network to integers: fold, round every layer, check what the chip can hold, keep the contraction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.ir.network import INPUT, ChipNetwork, ConvSynapse, DenseSynapse, HostDrive, Input, Layer, Synapse, TransposedConvSynapse
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.operators import Convolution, TransposedConvolution
from fsnn_lava.quantisation import calibration as calibrate
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import Connection, FoldedNetwork, spectral_radius
from fsnn_lava.quantisation.readout_rounding import round_readout
from fsnn_lava.quantisation.rounding import LayerProblem, RoundedLayer, round_layer
from fsnn_lava.quantisation.state_range import StepBound, check_step
from fsnn_lava.version import __version__

Kind = Literal["pixels", "events", "current"]
SEARCH_SAMPLES = 32  # of the calibration batch that scales are searched on
GAIN_MAX = 0.999  # a re-projected network is certified with this much to spare


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantised:
    """A ChipNetwork with what the making of it found out."""

    chip: ChipNetwork
    folded: FoldedNetwork
    calibration: NDArray[np.uint8]
    bits: int
    bounds: tuple[StepBound, ...]
    gain_before: float  # spectral radius of the gains (E11), float network
    gain_after: float  # integer network
    gains: NDArray[np.float64]  # of the integer network, [N, N]
    shrunk: float  # factor on the feedback that kept it a contraction; 1 if none was needed


def quantise(
    net: FSNN | FoldedNetwork,
    *,
    bits: int = 8,
    input: str | None = None,
    reset: str = "subtract",
    per_channel: bool = False,
    calibration: Any = None,
    steps: int | None = None,
) -> ChipNetwork:
    """The network in integers, ready for `fsnn_lava.running.run` and for a file; see `quantise_in_full`."""
    return quantise_in_full(net, bits=bits, input=input, reset=reset, per_channel=per_channel, calibration=calibration, steps=steps).chip


def quantise_in_full(
    net: FSNN | FoldedNetwork,
    *,
    bits: int = 8,
    input: str | None = None,
    reset: str = "subtract",
    per_channel: bool = False,
    calibration: Any = None,
    steps: int | None = None,
) -> Quantised:
    """Weights of `bits` (2 … 8) signed bits; scales chosen on `calibration` (raw uint8, made up if None).

    input: "pixels", "current" or "events"; by default pixels, or events where the calibration batch is a sequence.
    per_channel: every channel has its own unit and threshold. If the float network is a contraction and rounding broke that,
    the feedback is shrunk a little until it holds again (`shrunk` says by how much).
    """
    _check_options(bits, reset, steps)
    folded = net if isinstance(net, FoldedNetwork) else fold(net)
    if steps is not None:
        folded = replace(folded, steps=int(steps))
    values = calibrate.made_up(folded, events=input == "events") if calibration is None else calibrate.checked(calibration, folded)
    kind = _input_kind(input, values, folded)
    folded = _frames(folded, values, kind)
    before = spectral_radius(folded.gains())
    shrunk = 1.0
    for _ in range(8):
        chip = _round_network(_shrink(folded, shrunk), values, kind, bits, reset, per_channel)
        gains = RateMap(chip).gains()
        after = spectral_radius(gains)
        if before >= 1.0 or after < 1.0:
            break
        shrunk *= (GAIN_MAX / after) ** len(folded.layers)
    bounds = check_step(chip, message_max=_message_max(folded, values, kind))
    return Quantised(
        chip=chip,
        folded=folded,
        calibration=values,
        bits=bits,
        bounds=bounds,
        gain_before=before,
        gain_after=after,
        gains=gains,
        shrunk=shrunk,
    )


def _check_options(bits: int, reset: str, steps: int | None) -> None:
    if bits not in limits.WEIGHT_BITS:
        raise BadArgument(f"bits must lie in {limits.WEIGHT_BITS[0]} … {limits.WEIGHT_BITS[-1]}, got {bits}")
    if reset not in ("subtract", "zero"):
        raise BadArgument(f"reset must be 'subtract' or 'zero', got {reset!r}")
    if steps is not None and not 1 <= steps <= limits.STEPS_MAX:
        raise BadArgument(f"steps must lie in 1 … {limits.STEPS_MAX}, got {steps}")


def _input_kind(wanted: str | None, values: NDArray[Any], folded: FoldedNetwork) -> Kind:
    sequence = values.ndim == len(folded.input_shape) + 2
    kind = wanted or ("events" if sequence else "pixels")
    if kind not in ("pixels", "events", "current"):
        raise BadArgument(f"input must be pixels, events or current, got {kind!r}")
    if sequence != (kind == "events"):
        raise BadArgument(f"input {kind!r} does not go with a calibration batch of shape {values.shape}")
    return cast(Kind, kind)


def _frames(folded: FoldedNetwork, values: NDArray[Any], kind: Kind) -> FoldedNetwork:
    """A sequence that is shorter than a run makes the run as long as itself."""
    return folded if kind != "events" or values.shape[1] >= folded.steps else replace(folded, steps=int(values.shape[1]))


def _message_max(folded: FoldedNetwork, values: NDArray[Any], kind: Kind) -> int:
    """The largest raw value to reckon with: what was seen, and for images what the normalisation divides by."""
    full_scale = folded.normalisation.divisor if kind != "events" and folded.normalisation.divisor > 1.0 else 1.0
    return min(limits.MESSAGE_MAX, max(int(values.max(initial=1)), int(np.ceil(full_scale))))


def _shrink(folded: FoldedNetwork, factor: float) -> FoldedNetwork:
    if factor == 1.0 or folded.feedback is None:
        return folded
    return replace(folded, feedback=folded.feedback.with_weight(folded.feedback.weight * factor))


def _round_network(folded: FoldedNetwork, values: NDArray[np.uint8], kind: Kind, bits: int, reset: str, per_channel: bool) -> ChipNetwork:
    decay = round((1.0 - folded.neuron.leak) * limits.DECAY_UNIT)
    some = torch.from_numpy(values[: calibrate.affordable(folded, SEARCH_SAMPLES)])
    raw = folded.average(some, folded.steps)
    rates = folded.solve(some, tol=1e-4, max_steps=50).rates  # a scale is chosen on them, nothing more
    drifts = calibrate.largest_potentials(folded, some.numpy())
    layers, synapses = [], []
    for position, layer in enumerate(folded.layers):
        problem = _problem(folded, position, raw, rates, kind, drifts[position], _message_max(folded, values, kind))
        rounded = round_layer(problem, bits=bits, per_channel=per_channel)
        layers.append(_layer(f"l{position + 1}", layer.shape, rounded, decay, reset))
        synapses.extend(_synapses(folded, position, problem, rounded))
    readout = round_readout(
        folded.readout_weight.numpy(),
        folded.readout_bias.numpy(),
        rates[-1].flatten(1).numpy(),
        bits=bits,
        decay=decay,
        weight_sum=folded.neuron.weight_sum(folded.steps),
    )
    norm = folded.normalisation
    return ChipNetwork(
        input=Input(kind=kind, shape=folded.input_shape, divisor=norm.divisor, mean=norm.mean, std=norm.std),
        layers=tuple(layers),
        synapses=tuple(synapses),
        readout=readout,
        steps=folded.steps,
        host_drive=_host_drive(folded) if kind == "current" else None,
        class_names=folded.class_names,
        notes={"architecture": folded.architecture, "bits": str(bits), "made by": f"fsnn-lava {__version__}"},
    )


def _problem(
    folded: FoldedNetwork,
    position: int,
    raw: torch.Tensor,
    rates: tuple[torch.Tensor, ...],
    kind: Kind,
    drift: float,
    message_max: int,
) -> LayerProblem:
    layer = folded.layers[position]
    connections: list[Connection] = []
    messages: list[torch.Tensor] = []
    if position == 0 and folded.feedback is not None:
        connections.append(folded.feedback)
        messages.append(rates[-1])
    host = position == 0 and kind == "current"
    if not host:
        connections.append(layer.connection)
        messages.append(raw if position == 0 else rates[position - 1])
    return LayerProblem(
        shape=layer.shape,
        connections=tuple(connections),
        messages=tuple(messages),
        bias=np.zeros(layer.shape) if host else layer.bias.numpy(),
        extra=layer.current(raw).numpy() if host else None,
        vth=folded.vth,
        drift=drift,
        message_max=tuple(float(message_max) if m is raw else 1.0 for m in messages),
    )


def _layer(name: str, shape: tuple[int, ...], rounded: RoundedLayer, decay: int, reset: str) -> Layer:
    largest = int(np.abs(rounded.bias).max(initial=0))
    if largest > limits.BIAS_MAX or int(rounded.threshold.max()) > limits.THRESHOLD_MAX:
        raise BadNetwork(
            f"layer {name!r}: a bias of {largest} weight units at a threshold of {int(rounded.threshold.max())} does not fit "
            f"{limits.BIAS_MAX}: its weights are too small beside its biases"
        )
    kind = cast(Literal["subtract", "zero"], reset)
    return Layer(name=name, shape=shape, threshold=rounded.threshold, bias=rounded.bias, scale=rounded.scale, decay=decay, reset=kind)


def _synapses(folded: FoldedNetwork, position: int, problem: LayerProblem, rounded: RoundedLayer) -> list[Synapse]:
    """Feed-forward first, then feedback."""
    target = f"l{position + 1}"
    made = []
    for connection, weight, exponent in zip(problem.connections, rounded.weights, rounded.exponents, strict=True):
        back = connection is folded.feedback
        source = f"l{len(folded.layers)}" if back else INPUT if position == 0 else f"l{position}"
        made.append(_synapse(connection, source, target, weight, exponent))
    return sorted(made, key=lambda s: s.source == f"l{len(folded.layers)}")


def _synapse(connection: Connection, source: str, target: str, weight: NDArray[Any], exponent: int) -> Synapse:
    if exponent not in limits.EXPONENT_RANGE:
        raise BadNetwork(f"synapse {source!r} -> {target!r}: needs exponent {exponent}; the layer's weights differ too much in size")
    operator = connection.operator
    if isinstance(operator, Convolution):
        stride, padding = operator.stride, operator.padding
        return ConvSynapse(source=source, target=target, weight=weight, exponent=exponent, stride=stride, padding=padding)
    if isinstance(operator, TransposedConvolution):
        return TransposedConvSynapse(
            source=source,
            target=target,
            weight=weight,
            exponent=exponent,
            stride=operator.stride,
            padding=operator.padding,
            output_padding=operator.output_padding,
        )
    return DenseSynapse(source=source, target=target, weight=weight, exponent=exponent)


def _host_drive(folded: FoldedNetwork) -> HostDrive:
    first = folded.layers[0]
    weight, bias, operator = first.connection.weight.numpy(), first.bias.numpy(), first.connection.operator
    if isinstance(operator, Convolution):
        return HostDrive(weight=weight, bias=bias, stride=operator.stride, padding=operator.padding)
    return HostDrive(weight=weight, bias=bias)
