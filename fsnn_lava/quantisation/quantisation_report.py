"""What quantisation did to a network: range used, share clipped, SQNR, errors, and how far the equilibrium shifts (E12)."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.rate_map import Drive, RateMap
from fsnn_lava.quantisation.calibration import affordable_calibration_samples, largest_calibration_potentials
from fsnn_lava.quantisation.counterpart import counterpart
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.quantisation.quantise import Quantised
from fsnn_lava.quantisation.rounding import largest_integer
from fsnn_lava.quantisation.state_range import state_headroom, sum_headroom

SAMPLES = 64  # taken from the calibration batch
TOLERANCE = 1e-6  # largest |f(a) - a| of the equilibria
NEAR = 1e-5  # the same for the float32 rates that the search starts from


@dataclass(frozen=True)
class SynapseRow:
    """How well the integers of one synapse (or the readout) represent its weights."""

    name: str
    exponent: int
    range_used: float  # largest |integer|, relative to the largest that `bits` allow
    clipped: float  # share of the weights that were clipped
    sqnr: float  # dB


@dataclass(frozen=True)
class LayerRow:
    """The errors of one layer at the float equilibrium of the calibration data."""

    name: str
    threshold: str
    threshold_error: float  # largest |threshold * scale / vth - 1|
    drive_error: float  # rms error of current / threshold
    defect: float  # mean over samples of ||f_q(a*) - a*||
    shift: float  # mean over samples of ||a*_q - a*||
    shift_bound: float | None  # mean over samples of its bound (E12); None without a certificate
    bound_holds: bool  # for every sample
    headroom: float  # how many times the largest potential (E15: sum or drive) of a calibration run fits the state


@dataclass(frozen=True)
class QuantisationReport:
    """Figures of a quantised network, measured on its calibration batch."""

    bits: int
    synapses: tuple[SynapseRow, ...]
    layers: tuple[LayerRow, ...]
    gain_before: float  # spectral radius of the gains (E11), float network
    gain_after: float  # integer network
    shrunk: float  # factor on the feedback that kept the network a contraction; 1 if none was needed
    logit_error: float  # rms error of the logits at the equilibrium
    converged: bool  # both equilibria were found

    @property
    def certified(self) -> bool:
        """Whether the equilibrium of the integer network is certified to be unique."""
        return self.gain_after < 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return the quantisation report as JSON values."""
        return asdict(self)


def measure_quantisation(made: Quantised) -> QuantisationReport:
    """Compare the integer network with the folded one it came from, on the calibration batch."""
    chip, folded = made.chip, made.folded
    values = made.calibration[: affordable_calibration_samples(folded, SAMPLES)]
    tensor = torch.from_numpy(values)
    near = folded.single().solve(tensor, tol=NEAR, max_steps=200)
    most = 200 if near.converged else 20
    point = folded.solve(tensor, tol=TOLERANCE, max_steps=most, start=tuple(rate.double() for rate in near.rates))
    exact = tuple(rates.numpy() for rates in point.rates)
    rate_map = RateMap(chip)
    drive = rate_map.drive(_run_values(chip, values))
    shifted = rate_map.solve_drive(drive, tol=TOLERANCE, max_steps=most, start=exact)
    layers = _layer_rows(made, rate_map, drive, exact, shifted.rates)
    wanted = folded.logits(point.rates[-1]).numpy()
    return QuantisationReport(
        bits=made.bits,
        synapses=tuple(_synapse_rows(made)),
        layers=layers,
        gain_before=made.gain_before,
        gain_after=made.gain_after,
        shrunk=made.shrunk,
        logit_error=float(np.sqrt(np.mean((_readout_logits(chip, shifted.rates[-1]) - wanted) ** 2))),
        converged=point.converged and shifted.converged,
    )


def _readout_logits(chip: ChipNetwork, last: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the logits of the last layer's rates, [B, classes]."""
    readout = chip.readout
    return (last.reshape(len(last), -1) @ readout.weight.T.astype(np.float64) * 2.0**readout.exponent + readout.bias) * readout.scale


def _run_values(chip: ChipNetwork, values: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return values[:, : chip.steps] if chip.input.kind == "events" else values


def _layer_rows(
    made: Quantised,
    rate_map: RateMap,
    drive: Drive,
    exact: tuple[NDArray[np.float64], ...],
    shifted: tuple[NDArray[np.float64], ...],
) -> tuple[LayerRow, ...]:
    chip, folded = made.chip, made.folded
    after = rate_map.apply(exact, drive)
    defects = np.stack([_lengths(a - b) for a, b in zip(after, exact, strict=True)])  # [N, B]
    shifts = np.stack([_lengths(a - b) for a, b in zip(shifted, exact, strict=True)])
    gains = made.gains
    bounds = _shift_bounds(gains, defects) if made.gain_after < 1.0 else None
    sizes = np.array([[np.sqrt(layer.size)] for layer in chip.layers])
    slack = (
        2 * _shift_bounds(gains, TOLERANCE * sizes) if made.gain_after < 1.0 else np.zeros_like(sizes)
    )  # both equilibria are solved up to it
    got = rate_map.currents(exact, drive)
    wanted = _currents(folded, torch.from_numpy(made.calibration[: len(exact[0])]), exact)
    if chip.delta is None:
        headroom = state_headroom(chip, largest_calibration_potentials(folded, made.calibration[: len(exact[0])]))
    else:
        headroom = sum_headroom(chip.delta, drive, got)
    rows = []
    for i, layer in enumerate(chip.layers):
        ratio = got[i] / layer.per_neuron(layer.threshold) - wanted[i] / folded.layers[i].vth
        rows.append(
            LayerRow(
                name=layer.name,
                threshold=_threshold_text(layer),
                threshold_error=float(np.abs(layer.threshold * layer.scale / folded.layers[i].vth - 1.0).max()),
                drive_error=float(np.sqrt(np.mean(ratio**2))),
                defect=float(defects[i].mean()),
                shift=float(shifts[i].mean()),
                shift_bound=None if bounds is None else float(bounds[i].mean()),
                bound_holds=bounds is None or bool(np.all(shifts[i] <= bounds[i] + slack[i])),
                headroom=headroom[i],
            )
        )
    return tuple(rows)


def _shift_bounds(gains: NDArray[np.float64], defects: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return bounds on the shift: (1 - M_q)^-1 times the defects, [N, B] (E12)."""
    return np.linalg.solve(np.eye(len(gains)) - gains, defects).astype(np.float64)


def _currents(folded: FoldedNetwork, values: torch.Tensor, rates: tuple[NDArray[np.float64], ...]) -> list[NDArray[np.float64]]:
    """Return the currents into each layer of the folded network at these rates, [B, *shape]."""
    return [current.numpy() for current in folded.currents([torch.from_numpy(r) for r in rates], folded.drive(values))]


def _lengths(difference: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.sqrt(np.square(difference).reshape(len(difference), -1).sum(axis=1))


def _threshold_text(layer: Layer) -> str:
    low, high = int(layer.threshold.min()), int(layer.threshold.max())
    return str(low) if low == high else f"{low} … {high}"


def _synapse_rows(made: Quantised) -> list[SynapseRow]:
    chip, folded, top = made.chip, made.folded, largest_integer(made.bits)
    rows = []
    for synapse in chip.synapses:
        connection = counterpart(folded, chip, synapse)
        if connection is None:
            raise AssertionError(f"{synapse} has no matching connection")
        scale = np.broadcast_to(chip.layer(synapse.target).scale, chip.layer(synapse.target).shape[:1])
        step = np.expand_dims(scale * 2.0**synapse.exponent, tuple(i for i in range(synapse.weight.ndim) if i != connection.target_axis))
        rows.append(
            _synapse_row(f"{synapse.source} -> {synapse.target}", connection.weight.numpy(), synapse.weight, step, synapse.exponent, top)
        )
    readout = chip.readout
    step = readout.scale * 2.0**readout.exponent
    rows.append(_synapse_row("readout", folded.readout_weight.numpy(), readout.weight, step, readout.exponent, top))
    return rows


def _synapse_row(name: str, weight: NDArray[Any], integers: NDArray[Any], step: NDArray[Any], exponent: int, top: int) -> SynapseRow:
    noise = float(np.sum((integers * step - weight) ** 2))
    signal = float(np.sum(weight**2))
    return SynapseRow(
        name=name,
        exponent=exponent,
        range_used=float(np.abs(integers.astype(np.int64)).max(initial=0)) / top,
        clipped=float(np.mean(np.abs(weight / step) > top + 0.5)),
        sqnr=float("inf") if noise == 0.0 else float(10.0 * np.log10(signal / noise)) if signal else 0.0,
    )
