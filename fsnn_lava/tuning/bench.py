"""Bench: what all trials share, and how a candidate is built and tried out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import FsnnError
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.placement.board import Board
from fsnn_lava.placement.cost import ChipCost
from fsnn_lava.placement.cost_count import count_cost_of_messages
from fsnn_lava.placement.placement import place
from fsnn_lava.placement.range import Range
from fsnn_lava.quantisation.quantise import quantise
from fsnn_lava.quantisation.quantise_options import Encoding
from fsnn_lava.running.run import run_batches
from fsnn_lava.tuning.candidate import Candidate
from fsnn_lava.tuning.trial import Trial
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.bounds.clipping import harmfully_clipped

BATCH = 256  # samples per batch


@dataclass(frozen=True, eq=False)
class Bench:
    """What all trials share: the float network, the samples and the board; arrays are raw uint8 samples."""

    net: FSNN
    calibration: NDArray[np.uint8]
    values: NDArray[np.uint8]
    labels: NDArray[np.int64]
    reference: NDArray[np.bool_]  # whether the float network classifies a sample correctly
    board: Board
    families: dict[tuple[Encoding, int, bool], ChipNetwork] = field(default_factory=dict)  # networks rounded so far by this process

    def rounded(self, encoding: Encoding, bits: int, per_channel: bool) -> ChipNetwork:
        """Return the network of a family; its steps and dead bands are replaced by those of a candidate."""
        family = (encoding, bits, per_channel)
        if family not in self.families:
            steps, band = (1, 1.0) if encoding == "delta" else (None, None)
            self.families[family] = quantise(
                self.net, bits=bits, encoding=encoding, per_channel=per_channel, steps=steps, dead_band=band, calibration=self.calibration
            )
        return self.families[family]

    def build(self, candidate: Candidate) -> ChipNetwork:
        """Build the network of a candidate."""
        chip = self.rounded(*candidate.family)
        if chip.delta is None or candidate.dead_band is None:
            return replace(chip, steps=candidate.steps)
        band = max(1, round(candidate.dead_band * chip.delta.one))
        return replace(chip, steps=candidate.steps, delta=replace(chip.delta, dead_bands=(band,) * len(chip.layers)))

    def try_out(self, candidate: Candidate) -> Trial:
        """Try out a candidate: build it, run it on all samples, and compute the cost of a sample."""
        try:
            chip = self.build(candidate)
        except FsnnError as error:
            return Trial(candidate=candidate, failure=str(error))
        right = np.zeros(len(self.values), np.bool_)
        sums = [np.zeros(layer.shape) for layer in chip.layers]
        starts = range(0, len(self.values), BATCH)
        for start, result in zip(starts, run_batches(chip, (self.values[s : s + BATCH] for s in starts), batch=BATCH), strict=True):
            rows = slice(start, start + BATCH)
            right[rows] = result.predictions == self.labels[rows]
            for total, counts in zip(sums, result.counts, strict=True):
                total += counts.sum(axis=0)
            if _clips_change_rates(chip, result, self.values[rows]):
                return Trial(candidate=candidate, failure="sums exceed the range of the chip's registers, which changes rates")
        placement = place(chip, board=self.board)
        cost = count_cost_of_messages(chip, [total / len(self.values) for total in sums], placement, steps=candidate.steps)
        return _trial(candidate, chip, right, self.reference, placement.answer, cost)


def _clips_change_rates(chip: ChipNetwork, result: Result, values: NDArray[np.uint8]) -> bool:
    """Whether a potential, a sum or the readout was clipped in a way that may have changed an answer (E10, E15)."""
    if not result.clip_count.any():
        return False
    if chip.delta is not None or result.clip_count[:, -1].any():
        return True
    batch = Batch(chip=chip, result=result, values=values, labels=None, offset=0)
    return any(bool(harmfully_clipped(batch, index).any()) for index in range(len(chip.layers)))


def _trial(
    candidate: Candidate, chip: ChipNetwork, right: NDArray[np.bool_], reference: NDArray[np.bool_], answer: str, cost: ChipCost
) -> Trial:
    return Trial(
        candidate=candidate,
        samples=len(right),
        right=int(right.sum()),
        lost=int((reference & ~right).sum()),
        gained=int((right & ~reference).sum()),
        answer=answer,
        cores=cost.cores,
        chip_steps=cost.steps,
        messages=cost.messages,
        operations=cost.operations,
        time=_pair(cost.time),
        energy=_pair(cost.energy),
        energy_with_host=_pair(cost.energy_with_host),
        digest=chip.digest(),
    )


def _pair(figure: Range | None) -> tuple[float, float] | None:
    return None if figure is None else (figure.low, figure.high)
