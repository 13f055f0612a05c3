"""From the float network to integers: fold, round every layer, check the chip's ranges, and keep the contraction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from fsnn_lava import limits
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import INPUT, ChipNetwork, DeltaEncoding, Input
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.neurons import IF, LIF, SigmaDelta
from fsnn_lava.nn.operator_norm import spectral_radius
from fsnn_lava.quantisation.calibration import (
    affordable_calibration_samples,
    checked_calibration,
    largest_calibration_potentials,
    synthetic_calibration,
)
from fsnn_lava.quantisation.chip_parts import chip_host_drive, chip_layer, chip_synapses
from fsnn_lava.quantisation.dead_band import DeadBandSearch, checked_bands, rate_coding_error
from fsnn_lava.quantisation.delta_rounding import round_delta_layer, round_delta_readout
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.quantisation.layer_problem import LayerProblem
from fsnn_lava.quantisation.quantise_options import check_encoding, check_options, check_trained_range, checked_network
from fsnn_lava.quantisation.readout_rounding import round_readout
from fsnn_lava.quantisation.rounding import round_layer
from fsnn_lava.quantisation.state_range import StepBound, check_state_range, state_range_bounds
from fsnn_lava.version import __version__

Kind = Literal["pixels", "events", "current"]
Reset = Literal["subtract", "zero"]
Encoding = Literal["rate", "delta"]
SEARCH_SAMPLES = 32  # of the calibration batch, on which scales are searched
DEAD_BAND_BUDGET = 2e8  # multiplications per step of a run in the search for dead bands
PROJECTED_GAIN = 0.999  # what shrinking the feedback aims for


@dataclass(frozen=True, kw_only=True, eq=False)
class Quantised:
    """A ChipNetwork, and what was measured while it was made."""

    chip: ChipNetwork
    folded: FoldedNetwork
    calibration: NDArray[np.uint8]
    bits: int
    bounds: tuple[StepBound, ...]
    gain_before: float  # spectral radius of the gains (E11), float network
    gain_after: float  # integer network
    gains: NDArray[np.float64]  # of the integer network, [N, N]
    shrunk: float  # factor on the feedback that kept the network a contraction; 1 if none was needed


def quantise(
    net: FSNN | FoldedNetwork,
    *,
    bits: int = 8,
    input: Kind | None = None,
    reset: Reset = "subtract",
    per_channel: bool = False,
    calibration: ArrayLike | None = None,
    steps: int | None = None,
    encoding: Encoding | None = None,
    dead_band: ArrayLike | None = None,
) -> ChipNetwork:
    """Fold and round a trained network to integers.

    Where the float network is a contraction and the rounded one is not, the feedback is shrunk a little until it is again. To write a file
    that is read back and compared with the model before it is kept, use fsnn-export.

    Args:
        net: a trained network, in eval or training mode; it is not modified. Give it a `normalisation`, unless it was trained on raw
            values: the chip sees raw uint8 pixels, and a network that was trained on other floats without one is rejected. (You
            may also pass a FoldedNetwork.)
        bits: signed bits per weight, 2 to 8. 8 is what the chip stores; for 4, fine-tune through the rounding first
            (see "Choosing the solver, bits and steps").
        input: "pixels" sends raw values through the quantised first connection, "events" one frame of them per step; "current" lets the
            host compute the first connection in float64. By default "pixels", or "events" if `calibration` is a sequence.
        reset: "subtract" is what the equations need. "zero" discards charge at every spike, so rates no longer approach the equilibrium;
            only for hardware that cannot subtract.
        per_channel: give every channel its own unit and threshold. Finer where channels differ in size, but not every target has
            thresholds per neuron, so it is off by default.
        calibration: raw uint8 samples, [B, *shape] or [B, T, *shape], on which scales are chosen. By default synthetic ones; some training
            samples are better.
        steps: T of a run. By default as trained; for "delta" as many as its dead bands need on the calibration batch,
            unless they are those of `SigmaDelta` neurons trained in the schedule of the chip: a single layer, or "pipelined".
        encoding: "rate" sends spikes, whose average is the rate. "delta" sends graded messages, each a change of the rate (E14): the same
            equilibrium in fewer messages and steps. It runs on the emulator and as Lava processes, with events too. By default "delta" for
            a network of `SigmaDelta` neurons, otherwise "rate".
        dead_band: for "delta" only: the smallest change that is sent, spikes per step; one number, or one per layer. By default that of
            `SigmaDelta` neurons, otherwise the largest that keep the rates as close to the equilibrium as the spikes that they replace.

    Returns:
        The integer network, ready to be run or saved.

    Raises:
        BadArgument: an option is out of range, the calibration batch does not fit the network, or `net` was trained on floats that are not
            raw values, and has no `normalisation`.
        BadNetwork: the network exceeds the chip's ranges, or a weight is not finite.

    Examples:
        >>> chip = fl.quantise(net, bits=6, calibration=pixels)
        >>> chip.notes["bits"]
        '6'
    """
    return quantise_in_full(
        net,
        bits=bits,
        input=input,
        reset=reset,
        per_channel=per_channel,
        calibration=calibration,
        steps=steps,
        encoding=encoding,
        dead_band=dead_band,
    ).chip


def quantise_in_full(
    net: FSNN | FoldedNetwork,
    *,
    bits: int = 8,
    input: Kind | None = None,
    reset: Reset = "subtract",
    per_channel: bool = False,
    calibration: ArrayLike | None = None,
    steps: int | None = None,
    encoding: Encoding | None = None,
    dead_band: ArrayLike | None = None,
) -> Quantised:
    """`quantise`, together with everything that was measured along the way.

    If the float network is a contraction and the rounded one is not, the feedback is shrunk a little until it is again
    (`shrunk` says by how much).
    """
    check_options(bits, reset, steps)
    folded = net if isinstance(net, FoldedNetwork) else fold(checked_network(net))
    encoding = encoding or own_encoding(folded.neuron)
    check_encoding(encoding, dead_band, reset=reset, per_channel=per_channel)
    bands = checked_bands(dead_band, len(folded.layers))
    if encoding == "rate":
        folded = in_spikes(folded)
    if steps is not None and encoding == "rate":
        folded = replace(folded, steps=int(steps))
    if calibration is None:
        values = synthetic_calibration(folded, events=input == "events")
    else:
        values = checked_calibration(calibration, folded)
        check_trained_range(net, values)
    kind = _input_kind(input, values, folded)
    folded = _limit_steps(folded, values, kind)
    if bands is None and isinstance(folded.neuron, SigmaDelta):
        bands, steps = (folded.neuron.dead_band,) * len(folded.layers), steps or _trained_steps(net, folded)
    before = spectral_radius(folded.gains())
    shrunk = 1.0
    for _ in range(8):
        chip = _round_network(_shrink(folded, shrunk), values, kind, bits, reset, per_channel, encoding)
        gains = RateMap(chip).gains()
        after = spectral_radius(gains)
        if before >= 1.0 or after < 1.0:
            break
        shrunk *= (PROJECTED_GAIN / after) ** folded.longest_loop()
    if chip.delta is not None:
        chip = _with_dead_bands(chip, chip.delta, folded, values, bands, steps)
        bounds = state_range_bounds(chip, message_max=_message_max(folded, values, kind))
    else:
        bounds = check_state_range(chip, message_max=_message_max(folded, values, kind))
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


def own_encoding(neuron: LIF) -> Encoding:
    """The encoding that a network is exported with unless another is wanted: that of its neurons."""
    return "delta" if isinstance(neuron, SigmaDelta) else "rate"


def in_spikes(folded: FoldedNetwork) -> FoldedNetwork:
    """The same with neurons that spike; BadArgument if its rates may exceed 1."""
    if folded.neuron.rate_max != 1.0:
        raise BadArgument("the network has the activation 'relu': its rates may exceed 1, which spikes cannot; use encoding 'delta'")
    return replace(folded, neuron=IF()) if isinstance(folded.neuron, SigmaDelta) else folded


def _trained_steps(net: FSNN | FoldedNetwork, folded: FoldedNetwork) -> int | None:
    """The network's own steps if they are those of the chip, whose schedule a single layer always has; otherwise None."""
    return folded.steps if len(folded.layers) == 1 or (isinstance(net, FSNN) and net.schedule == "pipelined") else None


def _with_dead_bands(
    chip: ChipNetwork,
    delta: DeltaEncoding,
    folded: FoldedNetwork,
    values: NDArray[np.uint8],
    bands: tuple[float, ...] | None,
    steps: int | None,
) -> ChipNetwork:
    """`chip` with the dead bands and steps that were given, or with those that suit the calibration batch."""
    few = values[: affordable_calibration_samples(folded, SEARCH_SAMPLES, budget=DEAD_BAND_BUDGET)]
    if bands is None:
        chosen = DeadBandSearch(chip, few).choose(rate_coding_error(folded, few), folded.steps)
        bands, steps = chosen.bands, steps or chosen.steps
    elif steps is None:
        steps = DeadBandSearch(chip, few).steps_of(bands)
    integers = tuple(max(1, round(band * delta.one)) for band in bands)
    return replace(chip, steps=steps, delta=replace(delta, dead_bands=integers))


def _input_kind(wanted: str | None, values: NDArray[np.uint8], folded: FoldedNetwork) -> Kind:
    sequence = values.ndim == len(folded.input_shape) + 2
    kind = wanted or ("events" if sequence else "pixels")
    if kind not in ("pixels", "events", "current"):
        raise BadArgument(f"input must be pixels, events or current, got {kind!r}")
    if sequence != (kind == "events"):
        raise BadArgument(f"input {kind!r} does not match a calibration batch of shape {values.shape}: only events are sequences [B, T, …]")
    return cast(Kind, kind)


def _limit_steps(folded: FoldedNetwork, values: NDArray[np.uint8], kind: Kind) -> FoldedNetwork:
    """Limit the steps of a run to the length of the calibration sequences."""
    return folded if kind != "events" or values.shape[1] >= folded.steps else replace(folded, steps=int(values.shape[1]))


def _message_max(folded: FoldedNetwork, values: NDArray[np.uint8], kind: Kind) -> int:
    """The largest raw value to expect: the largest in the calibration data, and for images the divisor of the normalisation."""
    full_scale = folded.normalisation.divisor if kind != "events" and folded.normalisation.divisor > 1.0 else 1.0
    return min(limits.MESSAGE_MAX, max(int(values.max(initial=1)), int(np.ceil(full_scale))))


def _shrink(folded: FoldedNetwork, factor: float) -> FoldedNetwork:
    """The same with all feedback multiplied by a factor."""
    if factor == 1.0:
        return folded
    shrunk = [one if folded.is_forward(one) else one.with_weight(one.weight * factor) for one in folded.connections]
    return replace(folded, connections=tuple(shrunk))


def _round_network(
    folded: FoldedNetwork, values: NDArray[np.uint8], kind: Kind, bits: int, reset: Reset, per_channel: bool, encoding: Encoding
) -> ChipNetwork:
    decay = round((1.0 - folded.neuron.leak) * limits.DECAY_UNIT) if encoding == "rate" else 0
    samples = torch.from_numpy(values[: affordable_calibration_samples(folded, SEARCH_SAMPLES)])
    raw = folded.average(samples, folded.steps)
    rates = tuple(rate.double() for rate in folded.single().solve(samples, tol=1e-4, max_steps=50).rates)
    potential_max = largest_calibration_potentials(folded, samples.numpy()) if encoding == "rate" else (0.0,) * len(folded.layers)
    layers, synapses, rate_bits = [], [], limits.RATE_BITS[-1]
    for position, layer in enumerate(folded.layers):
        problem = _problem(folded, position, raw, rates, kind, potential_max[position], _message_max(folded, values, kind))
        if encoding == "rate":
            rounded = round_layer(problem, bits=bits, per_channel=per_channel)
        else:
            found = round_delta_layer(problem, tuple(one for one in problem.connections if one.source == INPUT), bits=bits)
            rounded, rate_bits = found.rounded, min(rate_bits, found.rate_bits)
        layers.append(chip_layer(layer.name, layer.shape, rounded, decay, reset))
        synapses.extend(chip_synapses(folded, problem, rounded))
    exact = folded.readout_weight.numpy(), folded.readout_bias.numpy(), rates[-1].flatten(1).numpy()
    if encoding == "rate":
        readout = round_readout(*exact, bits=bits, decay=decay, weight_sum=folded.neuron.weight_sum(folded.steps))
    else:
        readout = round_delta_readout(*exact, bits=bits)
    norm = folded.normalisation
    return ChipNetwork(
        input=Input(kind=kind, shape=folded.input_shape, divisor=norm.divisor, mean=norm.mean, std=norm.std),
        layers=tuple(layers),
        synapses=tuple(synapses),
        readout=readout,
        steps=folded.steps,
        host_drive=chip_host_drive(folded) if kind == "current" else None,
        class_names=folded.class_names,
        notes={"architecture": folded.architecture, "bits": str(bits), "made by": f"fsnn-lava {__version__}"},
        delta=_encoding(folded, kind, rate_bits, len(layers)) if encoding == "delta" else None,
    )


def _encoding(folded: FoldedNetwork, kind: Kind, rate_bits: int, layers: int) -> DeltaEncoding:
    """Delta encoding with the smallest dead bands; frames of events have the weights of the neuron's leak (E3)."""
    decay = round((1.0 - folded.neuron.leak) * limits.DECAY_UNIT) if kind == "events" else 0
    activation = folded.neuron.activation if isinstance(folded.neuron, SigmaDelta) else "clip"
    return DeltaEncoding(rate_bits=rate_bits, dead_bands=(1,) * layers, frame_decay=decay, activation=activation)


def _problem(
    folded: FoldedNetwork,
    position: int,
    raw: torch.Tensor,
    rates: tuple[torch.Tensor, ...],
    kind: Kind,
    potential_max: float,
    message_max: int,
) -> LayerProblem:
    layer = folded.layers[position]
    into = folded.into(layer)
    host = kind == "current" and any(one.source == INPUT for one in into)
    back, ahead = [one for one in into if not folded.is_forward(one)], [one for one in into if folded.is_forward(one)]
    connections = tuple(back + [one for one in ahead if not host or one.source != INPUT])
    return LayerProblem(
        shape=layer.shape,
        connections=connections,
        messages=tuple(raw if one.source == INPUT else rates[folded.positions[one.source]] for one in connections),
        bias=np.zeros(layer.shape) if host else layer.bias.numpy(),
        host_current=folded.outside(layer, raw).numpy() if host else None,
        vth=layer.vth,
        potential_max=potential_max,
        message_max=tuple(float(message_max) if one.source == INPUT else 1.0 for one in connections),
        rate_max=folded.neuron.rate_max,
    )
