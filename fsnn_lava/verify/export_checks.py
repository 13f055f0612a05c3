"""The checks of an export: is the file that was written still the network that was trained?"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.quantisation.quantisation_report import QuantisationReport
from fsnn_lava.quantisation.quantise import Quantised
from fsnn_lava.verify.check import Check

FOLD_TOLERANCE = 1e-9  # for rates in float64


@dataclass(frozen=True)
class Accuracies:
    """Correct answers out of `samples`, after the same number of steps."""

    samples: int
    float: int  # as trained, in its own schedule
    folded: int  # folded, float64, pipelined
    integer: int


def check_exported_file(written: ChipNetwork, back: ChipNetwork) -> Check:
    """Check that the network read back from the exported file is the one that was written."""
    same = written.digest() == back.digest()
    summary = "the file reads back as the network that was written" if same else "the file reads back as a different network"
    return Check(name="file", passed=same, summary=summary)


@torch.no_grad()
def check_exported_folding(net: FSNN, folded: FoldedNetwork, values: NDArray[np.uint8]) -> Check:
    """Compare the rate maps of the network and of the folded one at random rates, both in float64."""
    exact = copy.deepcopy(net).double().eval()
    images = torch.from_numpy(values)
    drive, random = folded.drive(images), torch.Generator().manual_seed(0)
    shapes = folded.sources.shapes
    given = [torch.rand(len(values), *shape, dtype=torch.float64, generator=random) for shape in shapes]
    average = exact.average(exact.normalise(images), folded.steps)
    unfolded_rates = exact.rate_map(average)(given)
    folded_rates = fold(net).around(given, drive)
    gap = max(float((a - b).abs().max()) for a, b in zip(folded_rates, unfolded_rates, strict=True))
    return Check(name="folding", passed=gap <= FOLD_TOLERANCE, summary=f"folded and unfolded rates differ by at most {gap:.1e} in float64")


def check_exported_contraction(made: Quantised) -> Check:
    """Check that a certified float network is still certified in integers."""
    before, after = made.gain_before, made.gain_after
    if before >= 1.0:
        return Check(name="contraction", passed=True, summary=f"the float network is not certified either (gain bound {before:.3f})")
    shrunk = "" if made.shrunk == 1.0 else f", after shrinking the feedback by {100 * (1 - made.shrunk):.2f} %"
    return Check(name="contraction", passed=after < 1.0, summary=f"gain bound {before:.3f} in float, {after:.3f} in integers{shrunk}")


def check_exported_equilibrium(found: QuantisationReport) -> Check:
    """Check that the shift of the exported network's equilibrium is within its bound (E12)."""
    name = "equilibrium"
    if not found.certified:
        return Check(name=name, passed=True, summary="not certified, so there is no bound on its shift")
    if not found.converged:
        return Check(name=name, passed=False, summary="no equilibrium was found")
    last = found.layers[-1]
    held = all(row.bound_holds for row in found.layers)
    return Check(name=name, passed=held, summary=f"shifted by {last.shift:.3g} in the last layer, bound {last.shift_bound:.3g}")


def check_exported_clips(result: Result) -> Check:
    """Check for harmful clips: clipping is harmless at the bottom in a silent neuron and at the top in a saturated one, not elsewhere."""
    harmful = 0
    for clipped, counts in zip(result.clipped, result.counts, strict=True):
        harmless = (clipped == 0) | ((clipped == 1) & (counts == 0)) | ((clipped == 2) & (counts == result.steps))
        harmful += int(np.count_nonzero(clipped if result.messages is not None else ~harmless))  # every clip of a sum is a failure (E15)
    readout = int(result.clip_count[:, -1].sum())
    if harmful or readout:
        summary = f"{harmful} neurons lost charge by clipping, and the readout was clipped {readout} times"
        return Check(name="head-room", passed=False, summary=summary)
    clips = int(result.clip_count[:, :-1].sum())
    return Check(name="head-room", passed=True, summary="nothing was clipped" if clips == 0 else f"{clips} clips, all of them harmless")


def check_exported_accuracy(found: Accuracies, max_drop: float) -> Check:
    """Check the accuracy: the drop may exceed `max_drop` percentage points by one standard error, which can be due to chance."""
    drop = 100.0 * (found.folded - found.integer) / found.samples
    p = found.folded / found.samples
    chance = 100.0 * math.sqrt(max(p * (1 - p), 1 / found.samples) / found.samples)
    shares = [100.0 * n / found.samples for n in (found.float, found.folded, found.integer)]
    summary = f"accuracy {shares[0]:.2f} % float, {shares[1]:.2f} % folded, {shares[2]:.2f} % in integers ({found.samples} samples)"
    return Check(name="accuracy", passed=drop <= max_drop + chance, summary=summary)
