"""Check the sums of delta encoding (E15): every neuron's sum is W times what arrived, exactly."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.delta_sums import expected_delta_readout, expected_sums
from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, Offender, first_offender_layer
from fsnn_lava.verify.merged_findings import MergedFindings, by_place, merge_first, merge_largest, merge_total
from fsnn_lava.verify.neuron_index import first_neuron_indices, neuron_offender

LINK = "integer spikes → backend"


class SumsCheck(MergedFindings):
    """Checks S = sum of 2**n W (what arrived) for every neuron of every sample, and for the readout; a clip of S is a failure."""

    RULES = {
        **dict.fromkeys(("samples", "neurons", "violated", "clips"), merge_total),
        "worst": merge_largest,
        "offenders": merge_first(OFFENDERS_KEPT, key=by_place),
    }

    def __init__(self, chip: ChipNetwork) -> None:
        self.chip = chip
        self.samples = self.neurons = self.violated = self.clips = self.worst = 0
        self.offenders: list[Offender] = []

    def add(self, batch: Batch) -> None:
        """Check the sums of every neuron of a batch."""
        clipped = batch.result.clip_count
        for index, layer in enumerate(self.chip.layers):
            flags = batch.result.clipped[index] != 0
            self._add(batch, index, batch.result.potentials[index], expected_sums(batch, layer), flags)
        flags = np.broadcast_to((clipped[:, -1] > 0)[:, None], batch.result.readout.shape)
        self._add(batch, len(self.chip.layers), batch.result.readout, expected_delta_readout(batch), flags)
        self.clips += int(clipped.sum())
        self.samples += batch.samples
        for row, position in np.argwhere(clipped > 0)[:OFFENDERS_KEPT]:
            what = f"clipped {int(clipped[row, position])} times to 24 bits: its rates no longer match what it received"
            self.offenders.append(neuron_offender(self.chip, batch.sample(row), int(position), None, kind="clip", what=what))
        self.offenders.sort(key=by_place)
        del self.offenders[OFFENDERS_KEPT:]

    def _add(self, batch: Batch, position: int, got: NDArray[Any], expected: NDArray[np.int64], clipped: NDArray[np.bool_]) -> None:
        off = np.where(clipped, 0, got.astype(np.int64) - expected)  # clips are reported separately
        self.neurons += off.size
        self.violated += int(np.count_nonzero(off))
        self.worst = max(self.worst, int(np.abs(off).max(initial=0)))
        for row, flat in first_neuron_indices(off != 0, OFFENDERS_KEPT):
            sum_, wanted, by = (int(a[row].reshape(-1)[flat]) for a in (got, expected, off))
            what = f"its sum is {sum_}, but what arrived adds up to {wanted}: {abs(by)} {'too much' if by > 0 else 'missing'}"
            self.offenders.append(neuron_offender(self.chip, batch.sample(row), position, flat, kind="sum", what=what))

    def check(self) -> Check:
        """Return the finding on the sums."""
        numbers = {
            "samples": self.samples,
            "neurons": self.neurons,  # neurons times samples, including the readout
            "violated": self.violated,
            "worst": self.worst,
            "clips": self.clips,
        }
        passed = self.violated == 0 and self.clips == 0
        return Check(name="sums", link=LINK, passed=passed, summary=self._sentence(), numbers=numbers, offenders=tuple(self.offenders))

    def _sentence(self) -> str:
        if self.violated:
            wrong = f"the sum of what arrived is wrong in {self.violated} of {self.neurons} neurons x samples (E15), by up to {self.worst}"
            return wrong + first_offender_layer(self.offenders, "sum")
        if self.clips:
            return f"sums were clipped {self.clips} times (E15): export with fewer bits, or with a larger vth"
        each = self.neurons // max(1, self.samples)
        return f"every sum is W times what arrived, bit for bit, in all {each} neurons of {self.samples} samples (E15)"
