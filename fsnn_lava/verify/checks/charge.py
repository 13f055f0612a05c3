"""Check charge conservation (E10): charge that entered a neuron is in its potential or left as spikes. Exact for IF, else an interval."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.limits import STATE_FRACTION_BITS
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.arrived_charge import ArrivedCharge, layer_charge, readout_charge
from fsnn_lava.verify.bounds.clipping import clipped_neurons, harmfully_clipped
from fsnn_lava.verify.bounds.final_potential import above_highest_potential
from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, Offender, first_offender_layer
from fsnn_lava.verify.merged_findings import MergedFindings, by_place, merge_first, merge_largest, merge_total
from fsnn_lava.verify.neuron_index import first_neuron_indices, neuron_offender

LINK = "integer spikes → backend"


class ChargeCheck(MergedFindings):
    """Checks E10 for every neuron of every sample, and for the readout."""

    RULES = {
        **dict.fromkeys(("samples", "neurons", "violated", "harmless", "harmful", "stuck"), merge_total),
        **dict.fromkeys(("worst", "width"), merge_largest),
        "offenders": merge_first(OFFENDERS_KEPT, key=by_place),
    }

    def __init__(self, chip: ChipNetwork) -> None:
        self.chip = chip
        self.samples = self.neurons = self.violated = self.harmless = self.harmful = self.stuck = 0
        self.worst = self.width = 0.0
        self.offenders: list[Offender] = []

    def add(self, batch: Batch) -> None:
        """Check the charge of every neuron of a batch."""
        for index, layer in enumerate(self.chip.layers):
            self._add_layer(batch, index, layer)
        self._add_readout(batch)
        self.samples += batch.samples
        self.offenders.sort(key=by_place)
        del self.offenders[OFFENDERS_KEPT:]

    def _add_layer(self, batch: Batch, index: int, layer: Layer) -> None:
        result, expected = batch.result, layer_charge(batch, layer)
        theta = layer.per_neuron(layer.threshold).astype(np.int64) << STATE_FRACTION_BITS
        spikes = result.counts[index] if self.chip.decay == 0 else result.traces[index]
        measured = theta * spikes + result.potentials[index]
        low, high = clipped_neurons(batch, index)
        violation = expected.violation(measured)
        if layer.reset == "zero":
            violation = np.maximum(violation, 0)  # reset to zero removes more than theta: only the upper bound remains
        if low.any() or high.any():
            violation = np.where(low, np.minimum(violation, 0), violation)  # clipped at the bottom: charge was added
            violation = np.where(high, np.maximum(violation, 0), violation)
        harmful = harmfully_clipped(batch, index)
        self.harmless += int(np.count_nonzero((low | high) & ~harmful))
        self.harmful += int(np.count_nonzero(harmful))
        if self._count(violation, expected):
            for row, flat in first_neuron_indices(violation != 0, OFFENDERS_KEPT):
                self._violated(batch, row, flat, index, measured, expected, violation)
        self._add_stuck(batch, index, layer)
        for row, flat in first_neuron_indices(harmful & (violation == 0), OFFENDERS_KEPT) if harmful.any() else ():
            where = "top" if high[row].reshape(-1)[flat] else "bottom"
            count = int(result.counts[index][row].reshape(-1)[flat])
            what = f"clipped at the {where} with {count} spikes in {batch.steps} steps: its rate no longer follows from its input"
            self.offenders.append(neuron_offender(self.chip, batch.sample(row), index, flat, kind="clip", what=what))

    def _add_stuck(self, batch: Batch, index: int, layer: Layer) -> None:
        """Add neurons that end with more charge than a neuron that fires at its threshold can have."""
        places, highest = above_highest_potential(batch, layer)
        self.stuck += len(highest)
        for place, most in list(zip(zip(*places, strict=True), highest, strict=True))[:OFFENDERS_KEPT]:
            u, count = int(batch.result.potentials[index][place]), int(batch.result.counts[index][place])
            what = (
                f"ends with u = {u} after {count} spikes; a neuron that fires at its threshold ends with at most {int(most)} "
                "(units of 2^-6)"
            )
            flat = int(np.ravel_multi_index(place[1:], layer.shape))
            self.offenders.append(neuron_offender(self.chip, batch.sample(place[0]), index, flat, kind="potential", what=what))

    def _add_readout(self, batch: Batch) -> None:
        expected, measured = readout_charge(batch), batch.result.readout.astype(np.int64)
        clipped = batch.result.clip_count[:, -1]
        violation = np.where((clipped > 0)[:, None], 0, expected.violation(measured))  # which class was clipped is not recorded
        position = len(self.chip.layers)
        self.harmful += int(np.count_nonzero(clipped))
        if self._count(violation, expected):
            for row, flat in first_neuron_indices(violation != 0, OFFENDERS_KEPT):
                self._violated(batch, row, flat, position, measured, expected, violation)
        for row, _ in first_neuron_indices((clipped > 0)[:, None], OFFENDERS_KEPT):
            what = f"the readout was clipped {int(clipped[row])} times: its logits are wrong"
            self.offenders.append(neuron_offender(self.chip, batch.sample(row), position, None, kind="clip", what=what))

    def _violated(
        self, batch: Batch, row: int, flat: int, position: int, measured: NDArray[Any], expected: ArrivedCharge, violation: NDArray[Any]
    ) -> None:
        arrays = (measured, expected.low, expected.high, violation)
        got, low, high, off = (np.broadcast_to(a, measured.shape)[row].reshape(-1)[flat].item() for a in arrays)
        wanted = f"{low:.10g}" if low == high else f"{low:.8g} … {high:.8g}"
        size = f"{abs(off):.6g} {'too much' if off > 0 else 'missing'} (units of 2^-6)"
        what = f"potential and spikes account for {got:.10g}, but {wanted} arrived: {size}"
        numbers: Offender = {"measured": got, "low": low, "high": high, "off": off}
        self.offenders.append({**neuron_offender(self.chip, batch.sample(row), position, flat, kind="charge", what=what), **numbers})

    def _count(self, violation: NDArray[Any], expected: ArrivedCharge) -> int:
        """Count violations, and update the worst one and the width of the intervals."""
        number = int(np.count_nonzero(violation))
        self.neurons += violation.size
        self.violated += number
        self.width = max(self.width, expected.width)
        if number:
            self.worst = max(self.worst, float(np.abs(violation).max()))
        return number

    def check(self) -> Check:
        """Return the finding on the charge."""
        numbers = {
            "samples": self.samples,
            "neurons": self.neurons,  # neurons times samples, including the readout
            "exact": self.neurons - self.harmless - self.harmful if self.width == 0 else 0,
            "violated": self.violated,
            "worst": self.worst,
            "interval": self.width,
            "harmful_clips": self.harmful,
            "above_threshold": self.stuck,
            "harmless_clips": self.harmless,
        }
        passed = self.violated == 0 and self.harmful == 0
        fires = self.stuck == 0
        return Check(
            name="charge", link=LINK, passed=passed and fires, summary=self._sentence(), numbers=numbers, offenders=tuple(self.offenders)
        )

    def _sentence(self) -> str:
        if self.violated:
            sentence = (
                f"charge is not conserved in {self.violated} of {self.neurons} neurons x samples, "
                f"by up to {self.worst:.6g} units of 2^-6 (E10)"
            )
            sentence += first_offender_layer(self.offenders, "charge")
        elif self.stuck:
            sentence = f"{self.stuck} neurons x samples end above their threshold although they could have fired (E9)"
        elif self.harmful:
            sentence = f"clipping changed the rate or logit of {self.harmful} neurons x samples (E10)"
        else:
            rule = "exactly" if self.width == 0 else f"within {self.width:.3g} units of 2^-6"
            kept = self.neurons - self.harmless
            each = f"all {kept // max(1, self.samples)} neurons of {self.samples} samples"
            if self.harmless:
                each = f"{kept} of {self.neurons} neurons x samples"
            sentence = f"charge is conserved {rule} in {each} (E10)"
            if any(layer.reset == "zero" for layer in self.chip.layers):
                sentence = f"no neuron of {self.samples} samples holds more charge than arrived (E10; reset to zero discards some)"
        if self.harmless:
            clipped = f"{self.harmless} were clipped without changing their rate beyond its bound"
            sentence += f"; {clipped}, for which E10 is only an inequality"
        return sentence
