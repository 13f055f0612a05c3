"""Check the dead band (E14): the rate that every neuron sent is within its dead band of the rate that it reached. Exact, in integers."""

from __future__ import annotations

import numpy as np

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.stock_delta import dead_band_tolerance
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.delta_sums import rates_of_delta_sums, told_rates
from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, Offender
from fsnn_lava.verify.merged_findings import MergedFindings, merge_first, merge_largest, merge_total
from fsnn_lava.verify.neuron_index import first_neuron_indices, neuron_index

LINK = "integer spikes → backend"


class DeadBandCheck(MergedFindings):
    """Checks for every neuron of every sample that |y - told| is less than the dead band, and the rate sent is between 0 and the largest.

    For `stock` neurons it may differ by the amount that their two dead bands and the dropped bits explain (ir/stock_delta.py).
    """

    RULES = {
        **dict.fromkeys(("neurons", "violated"), merge_total),
        "share": merge_largest,
        "offenders": merge_first(OFFENDERS_KEPT),
    }

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        self.chip, self.stock = chip, stock
        self.neurons = self.violated = 0
        self.share = 0.0  # the largest |y - told|, relative to the dead band
        self.offenders: list[Offender] = []

    def add(self, batch: Batch) -> None:
        """Check the dead band of every neuron of a batch."""
        delta = batch.delta
        for index, layer in enumerate(self.chip.layers):
            told, reached, band = told_rates(batch, index), rates_of_delta_sums(batch, layer), delta.dead_bands[index]
            off, most = np.abs(reached - told), dead_band_tolerance(delta, index, batch.result.counts[index]) if self.stock else band
            wrong = (off >= most) & (batch.result.clipped[index] == 0)
            if not self.stock:
                wrong |= ((told < 0) | (told > delta.ceiling)) & (batch.result.clipped[index] == 0)
            self.neurons += off.size
            self.violated += int(np.count_nonzero(wrong))
            self.share = max(self.share, float((off / most).max(initial=0.0)))
            for row, flat in first_neuron_indices(wrong, OFFENDERS_KEPT):
                one, other = int(reached[row].reshape(-1)[flat]), int(told[row].reshape(-1)[flat])
                what = f"its rate is {one}, but it reported {other} (units of 2^-{delta.rate_bits}); the dead band is {band}"
                if len(self.offenders) < OFFENDERS_KEPT:
                    neuron = neuron_index(layer, flat)
                    self.offenders.append({"sample": batch.sample(row), "layer": layer.name, "neuron": neuron, "what": what})

    def check(self) -> Check:
        """Return the finding on the dead bands."""
        allowed = "what the dead bands and dropped bits of Lava's neurons allow" if self.stock else "its dead band"
        if self.violated:
            summary = f"in {self.violated} of {self.neurons} neurons x samples, the rate reported is not within {allowed} (E14)"
        else:
            summary = f"every neuron reported its rate to within {allowed}, the furthest off by {self.share:.0%} of it (E14)"
        numbers = {"neurons": self.neurons, "violated": self.violated, "share": self.share}
        passed = self.violated == 0
        return Check(name="dead band", link=LINK, passed=passed, summary=summary, numbers=numbers, offenders=tuple(self.offenders))
