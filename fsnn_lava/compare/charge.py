"""Charge conservation (E10): what entered a neuron is in its potential or left as spikes. Exact integers for IF, an interval for a leak."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.chip.arithmetic import CLIPPED_HIGH, CLIPPED_LOW
from fsnn_lava.chip.limits import DECAY_UNIT, MESSAGE_MAX, STATE_FRACTION_BITS
from fsnn_lava.chip.network import INPUT, READOUT, ChipNetwork, Layer, Readout, Synapse
from fsnn_lava.compare.batch import Batch, neuron_index
from fsnn_lava.compare.currents import connect, connect_exact, fan_in, incoming, row_sum, total_shift
from fsnn_lava.compare.verdict import OFFENDERS_KEPT, Check

LINK = "integer spikes → backend"
_EPS = 2.0**-53


@dataclass(frozen=True)
class Charge:
    """E10's right side for some neurons, [B, ...] units 2**-6: what arrived, and how much of it rounding may have taken (R).

    int64 for IF, float64 for a leak. u[T] + theta <s> must lie in arrived - lost[1] … arrived - lost[0].
    """

    arrived: NDArray[Any]  # <D> + sum 2**n w.<s>_arrived; for IF and n < 0 already rounded down
    lost: tuple[Any, Any]  # the least and the most of R

    @property
    def low(self) -> NDArray[Any]:
        return self.arrived - self.lost[1]

    @property
    def high(self) -> NDArray[Any]:
        return self.arrived - self.lost[0]

    def violation(self, measured: NDArray[Any]) -> NDArray[Any]:
        """0 inside; how far above (positive) or below (negative) outside."""
        return measured - np.clip(measured, self.low, self.high)


def layer_charge(batch: Batch, layer: Layer) -> Charge:
    """E10's right side of a layer's neurons."""
    chip, synapses = batch.chip, incoming(batch.chip, layer)
    parts = [_arriving(batch, s, batch.arrived(s), max(0, batch.steps - chip.delay(s))) for s in synapses]
    theta = float(np.max(layer.threshold)) * 2.0**STATE_FRACTION_BITS
    return _sum(batch, batch.drives[chip.index(layer.name)], parts, synapses, theta)


def readout_charge(batch: Batch) -> Charge:
    """E10's right side of the readout, [B, classes]."""
    chip, readout = batch.chip, batch.chip.readout
    spikes = batch.result.counts[-1].astype(np.int64) if chip.decay == 0 else batch.result.traces[-1]
    bias = readout.bias.astype(np.int64) << STATE_FRACTION_BITS
    drive = bias * batch.steps if chip.decay == 0 else bias * chip.weight_sum(batch.steps)
    return _sum(batch, drive, [_arriving(batch, readout, spikes, batch.steps)], [readout], 0.0)


def _sum(batch: Batch, drive: NDArray[Any], parts: list[Charge], synapses: Sequence[Synapse | Readout], theta: float) -> Charge:
    slack: Any = 0
    if batch.chip.decay:
        slack = truncation(batch.chip, batch.steps) + rounding(batch, synapses, drive, theta)
    least, most = (sum((part.lost[i] for part in parts), start=0) for i in (0, 1))
    return Charge(drive + sum((part.arrived for part in parts), start=0), (least - slack, most + slack))


def truncation(chip: ChipNetwork, steps: int) -> float:
    """The most that rounding towards zero takes from a leaky neuron: (1 - 2**-12)(A - lambda**(T - 1)) (E10)."""
    return (1 - 1 / DECAY_UNIT) * (chip.weight_sum(steps) - chip.leak ** (steps - 1)) if chip.decay else 0.0


def rounding(batch: Batch, synapses: Sequence[Synapse | Readout], drive: NDArray[Any], theta: float) -> float:
    """The most by which float64 sums can be off: a sum of n terms has a relative error below n 2**-53 on the sum of sizes.

    A trace has 2 T roundings; `arrived` subtracts two and is scaled by lambda**-d, but never leaves [0, A].
    """
    chip, steps = batch.chip, batch.steps
    total = chip.weight_sum(steps)
    error = (float(np.abs(drive).max(initial=0.0)) + theta * total + 2.0**24) * (4 * steps + 8) * _EPS
    for synapse in synapses:
        delay = 0 if isinstance(synapse, Readout) else chip.delay(synapse)
        relative = (2 * steps + fan_in(synapse) + delay + 8) * _EPS
        error += 2.0 ** total_shift(synapse) * row_sum(synapse) * min(2 * total * chip.leak**-delay * relative, total)
    if chip.input.kind == "events":
        source = next(s for s in chip.synapses if s.source == INPUT)
        error += 2.0 ** total_shift(source) * row_sum(source) * MESSAGE_MAX * total * (2 * steps + fan_in(source) + 8) * _EPS
    return error


def _arriving(batch: Batch, synapse: Synapse | Readout, arrived: NDArray[Any], steps: int) -> Charge:
    """2**n w.<s>_arrived, and what floors can take in the `steps` steps in which something may arrive."""
    bits, chip = total_shift(synapse), batch.chip
    if chip.decay:
        return Charge(connect(synapse, arrived) * 2.0**bits, (0.0, chip.weight_sum(steps) * (1 - 2.0**bits) if bits < 0 else 0.0))
    exact = connect_exact(synapse, arrived)
    if bits >= 0:
        return Charge(exact << bits, (0, 0))
    spikes = np.rint(connect(synapse, arrived, weight=synapse.weight != 0)).astype(np.int64)  # in other steps nothing is floored
    lost = np.minimum(spikes, steps) * ((1 << -bits) - 1)
    whole = exact >> -bits
    return Charge(whole, (0, whole + ((lost - exact) >> -bits)))  # sums of floors are whole numbers too: round the lower end up


class ChargeCheck:
    """E10 for every neuron of every sample, and for the readout."""

    def __init__(self, chip: ChipNetwork) -> None:
        self.chip = chip
        self.neurons = self.violated = self.listed = self.harmful = 0
        self.worst = 0.0
        self.width = 0.0
        self.offenders: list[dict[str, Any]] = []

    def add(self, batch: Batch) -> None:
        for index, layer in enumerate(self.chip.layers):
            self._add_layer(batch, index, layer)
        self._add_readout(batch)
        self.offenders.sort(key=lambda o: (o["sample"], o["position"]))
        del self.offenders[OFFENDERS_KEPT:]

    def _add_layer(self, batch: Batch, index: int, layer: Layer) -> None:
        result, expected = batch.result, layer_charge(batch, layer)
        theta = layer.per_neuron(layer.threshold).astype(np.int64) << STATE_FRACTION_BITS
        spikes = result.counts[index].astype(np.int64) if self.chip.decay == 0 else result.traces[index]
        measured = result.potentials[index].astype(np.int64) + theta * spikes
        violation = expected.violation(measured)
        flags, counts = result.clipped[index], result.counts[index]
        low, high = (flags & CLIPPED_LOW) > 0, (flags & CLIPPED_HIGH) > 0
        if layer.reset == "zero":
            violation = np.maximum(violation, 0)  # a reset to zero takes more than theta: only an upper bound is left
        violation = np.where(low, np.minimum(violation, 0), violation)  # clipped at the bottom: charge was added
        violation = np.where(high, np.maximum(violation, 0), violation)
        harmless = (low & ~high & (counts == 0)) | (high & ~low & (counts == batch.steps))
        harmful = (low | high) & ~harmless
        self.neurons += violation.size
        self.listed += int(np.count_nonzero(harmless & (flags > 0)))
        self.harmful += int(np.count_nonzero(harmful))
        self.width = max(self.width, float(np.max(expected.high - expected.low, initial=0)))
        self._count(violation)
        for row, flat in _first(violation != 0):
            self._charge_offender(batch, index, row, flat, measured, expected, violation)
        for row, flat in _first(harmful & (violation == 0)):
            where = "top" if high.reshape(len(high), -1)[row, flat] else "bottom"
            what = f"clipped at the {where} with {int(counts.reshape(len(counts), -1)[row, flat])} spikes in {batch.steps} steps: its rate is not what its input says"
            self.offenders.append({"sample": batch.sample(row), "position": index, "layer": layer.name, "neuron": neuron_index(layer, flat), "kind": "clip", "what": what})

    def _charge_offender(self, batch: Batch, index: int, row: int, flat: int, measured: Any, expected: Charge, violation: Any) -> None:
        layer = self.chip.layers[index]
        got, low, high, off = (np.broadcast_to(a, measured.shape).reshape(batch.samples, -1)[row, flat].item() for a in (measured, expected.low, expected.high, violation))
        self.offenders.append(
            {"sample": batch.sample(row), "position": index, "layer": layer.name, "neuron": neuron_index(layer, flat), "kind": "charge", "measured": got, "low": low, "high": high, "off": off, "what": _sentence(got, low, high, off)}
        )

    def _add_readout(self, batch: Batch) -> None:
        expected, measured = readout_charge(batch), batch.result.readout.astype(np.int64)
        clips = batch.result.clip_count[:, -1]
        violation = np.where((clips > 0)[:, None], 0, expected.violation(measured))  # which class was clipped is not recorded
        self.neurons += violation.size
        self.harmful += int(np.count_nonzero(clips))
        self._count(violation)
        for row, flat in _first(violation != 0):
            got, low, high, off = (np.broadcast_to(a, measured.shape)[row, flat].item() for a in (measured, expected.low, expected.high, violation))
            self.offenders.append(
                {"sample": batch.sample(row), "position": len(self.chip.layers), "layer": READOUT, "neuron": [flat], "kind": "charge", "measured": got, "low": low, "high": high, "off": off, "what": _sentence(got, low, high, off)}
            )
        for row, _ in _first((clips > 0)[:, None]):
            what = f"the readout was clipped {int(clips[row])} times: its logits are wrong"
            self.offenders.append({"sample": batch.sample(row), "position": len(self.chip.layers), "layer": READOUT, "kind": "clip", "what": what})

    def _count(self, violation: NDArray[Any]) -> None:
        self.violated += int(np.count_nonzero(violation))
        self.worst = max(self.worst, float(np.abs(violation).max(initial=0)))

    def check(self) -> Check:
        passed = self.violated == 0 and self.harmful == 0
        rule = "exactly" if self.width == 0 else f"within {self.width:.3g} units of 2^-6"
        if passed:
            summary = f"charge is conserved {rule} in all {self.neurons} neurons (E10)"
        elif self.violated:
            first = self.offenders[0]
            summary = f"charge is not conserved in {self.violated} of {self.neurons} neurons, by up to {self.worst:.6g} units of 2^-6 (E10); the first is in layer {first['layer']!r}"
        else:
            summary = f"{self.harmful} neurons were clipped so that their rate or logit changed (E10)"
        if self.listed:
            summary += f"; {self.listed} clips of silent or saturated neurons changed no rate"
        numbers = {"neurons": self.neurons, "violated": self.violated, "worst": self.worst, "interval": self.width, "harmful_clips": self.harmful, "harmless_clips": self.listed}
        return Check(name="charge", link=LINK, passed=passed, summary=summary, numbers=numbers, offenders=tuple(self.offenders))


def _first(mask: NDArray[np.bool_]) -> Iterator[tuple[int, int]]:
    """(row, flat index) of the first OFFENDERS_KEPT set entries of [B, ...]."""
    for position in np.flatnonzero(mask)[:OFFENDERS_KEPT]:
        row, flat = divmod(int(position), mask[0].size)
        yield row, flat


def _sentence(measured: float, low: float, high: float, off: float) -> str:
    wanted = f"{low:.6g}" if low == high else f"{low:.6g} … {high:.6g}"
    return f"potential and spikes hold {measured:.6g}, what arrived is {wanted}: {abs(off):.6g} {'too much' if off > 0 else 'missing'} (units 2^-6)"
