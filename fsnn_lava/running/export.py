"""Export: fold, quantise, write, read back, and check on data that the integers still are the network. Nothing is left behind half-done."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.errors import CheckFailed
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.quantisation.quantisation_report import QuantisationReport, report
from fsnn_lava.quantisation.quantise import Quantised, quantise_in_full
from fsnn_lava.running.run import run

FOLD_TOLERANCE = 1e-9  # of rates in float64
BATCH = 100

Write = Callable[[ChipNetwork, Path], None]
Read = Callable[[Path], ChipNetwork]


@dataclass(frozen=True)
class Check:
    name: str
    passed: bool
    sentence: str


@dataclass(frozen=True)
class Samples:
    """Raw values with their labels (None: unknown)."""

    values: NDArray[np.uint8]
    labels: NDArray[np.int64] | None


@dataclass(frozen=True)
class Accuracies:
    """Right answers out of `samples`, after the same number of steps."""

    samples: int
    float: int  # as trained, in its own schedule
    folded: int  # folded, float64, pipelined
    integer: int


@dataclass(frozen=True, kw_only=True)
class Exported:
    path: str
    digest: str
    size: int  # bytes
    quantisation: QuantisationReport
    checks: tuple[Check, ...]
    agreement: float  # share of samples on which integers and folded network answer alike
    rate_error: float  # mean |rate - rate| of the last layer, integers against folded, after the same steps
    clipped: tuple[int, ...]  # clips per layer, the readout last
    accuracies: Accuracies | None = None
    kept: bool = True
    notes: tuple[str, ...] = field(default=())

    @property
    def passed(self) -> bool:
        return all(check.passed for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        return {**asdict(self), "passed": self.passed}


def export(
    net: FSNN,
    path: str | Path,
    *,
    write: Write,
    read: Read,
    bits: int = 8,
    input: str | None = None,
    reset: str = "subtract",
    per_channel: bool = False,
    steps: int | None = None,
    calibration: NDArray[np.uint8] | None = None,
    test: Samples | None = None,
    max_drop: float = 1.0,
    force: bool = False,
    notes: dict[str, str] | None = None,
) -> Exported:
    """`path` afterwards holds the network if every check passed (or `force`); otherwise it is as it was before.

    `max_drop`: percentage points of accuracy that integers may lose on `test`, besides chance.
    """
    target = Path(path)
    with atomic_path(target) as temporary:
        made = quantise_in_full(net, bits=bits, input=input, reset=reset, per_channel=per_channel, calibration=calibration, steps=steps)
        made.chip.notes.update(notes or {})
        write(made.chip, temporary)
        back = read(temporary)
        outcome = _examine(net, made, back, test, max_drop, target, temporary.stat().st_size)
        if not outcome.passed and not force:
            raise ExportRefused(outcome)
    return outcome


class ExportRefused(CheckFailed):
    """A check failed and nothing was written; `outcome` says which."""

    def __init__(self, outcome: Exported) -> None:
        failed = "; ".join(check.sentence for check in outcome.checks if not check.passed)
        super().__init__(f"{outcome.path} was not written: {failed} (--force writes it all the same)")
        self.outcome = outcome


def _examine(net: FSNN, made: Quantised, back: ChipNetwork, test: Samples | None, max_drop: float, target: Path, size: int) -> Exported:
    found = report(made)
    samples = test if test is not None else Samples(made.calibration, None)
    values = samples.values[:, : back.steps] if back.input.kind == "events" else samples.values
    result = run(back, values)
    rates, answers = _folded_run(made.folded, values)
    accuracies = None
    if samples.labels is not None:
        accuracies = _accuracies(net, values, samples.labels, answers, result, back.steps)
    checks = [
        _check_back(made.chip, back),
        _check_folding(net, made.folded, values[:8]),
        _check_certificate(made),
        _check_shift(found),
        _check_clips(result, back),
    ]
    if accuracies is not None:
        checks.append(_check_accuracy(accuracies, max_drop))
    return Exported(
        path=str(target),
        digest=back.digest(),
        size=size,
        quantisation=found,
        checks=tuple(checks),
        agreement=float(np.mean(result.predictions == answers)),
        rate_error=float(np.mean(np.abs(result.rates[-1] - rates))),
        clipped=tuple(int(n) for n in result.clip_count.sum(axis=0)),
        accuracies=accuracies,
    )


def _folded_run(folded: FoldedNetwork, values: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Last layer's rates and answers of the folded network in spikes, pipelined as on the chip."""
    rates, answers = [], []
    for start in range(0, len(values), BATCH):
        last = folded.simulate(torch.from_numpy(values[start : start + BATCH])).rates[-1]
        rates.append(last.numpy())
        answers.append(folded.logits(last).argmax(1).numpy())
    return np.concatenate(rates), np.concatenate(answers)


@torch.no_grad()
def _accuracies(
    net: FSNN, values: NDArray[np.uint8], labels: NDArray[np.int64], answers: NDArray[np.int64], result: Result, steps: int
) -> Accuracies:
    right = 0
    for start in range(0, len(values), BATCH):
        logits = net(torch.from_numpy(values[start : start + BATCH]), steps)
        right += int((logits.argmax(1).numpy() == labels[start : start + BATCH]).sum())
    return Accuracies(len(labels), right, int(np.sum(answers == labels)), int(np.sum(result.predictions == labels)))


def _check_back(written: ChipNetwork, back: ChipNetwork) -> Check:
    same = written.digest() == back.digest()
    return Check(
        "file", same, "the file read back is the network written" if same else "the file read back is another network than was written"
    )


@torch.no_grad()
def _check_folding(net: FSNN, folded: FoldedNetwork, values: NDArray[np.uint8]) -> Check:
    """Rate map of the network itself against that of the folded one, at random rates, both in float64."""
    exact = copy.deepcopy(net).double().eval()
    images = torch.from_numpy(values)
    shape = folded.layers[-1].shape
    last = torch.rand(len(values), *shape, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    average = exact.average(exact.normalise(images), folded.steps)
    theirs = exact.rate_map(average)(last)
    mine = fold(net).around(last, folded.drive(images))
    gap = max(float((a - b).abs().max()) for a, b in zip(mine, theirs, strict=True))
    return Check("folding", gap <= FOLD_TOLERANCE, f"folded and unfolded rates differ by at most {gap:.1e} in float64")


def _check_certificate(made: Quantised) -> Check:
    before, after = made.gain_before, made.gain_after
    shrunk = "" if made.shrunk == 1.0 else f", after the feedback was shrunk by {100 * (1 - made.shrunk):.2f} %"
    if before >= 1.0:
        return Check("contraction", True, f"the float network has no certificate (gain bound {before:.3f}), so there is none to lose")
    return Check("contraction", after < 1.0, f"gain bound {before:.3f} in float, {after:.3f} in integers{shrunk}")


def _check_shift(found: QuantisationReport) -> Check:
    if not found.certified:
        return Check("equilibrium", True, "without a certificate its shift has no bound")
    if not found.converged:
        return Check("equilibrium", False, "the equilibrium was not found")
    held = all(row.bound_holds for row in found.layers)
    last = found.layers[-1]
    return Check("equilibrium", held, f"moved by {last.shift:.3g} in the last layer, bound {last.shift_bound:.3g}")


def _check_clips(result: Result, chip: ChipNetwork) -> Check:
    """A clip is harmless in a neuron that stays silent, at the bottom; anywhere else a rate or an answer is wrong."""
    harmful = 0
    for clipped, counts in zip(result.clipped, result.counts, strict=True):
        harmless = (clipped == 0) | ((clipped == 1) & (counts == 0)) | ((clipped == 2) & (counts == result.steps))
        harmful += int(np.sum(~harmless))
    readout = int(result.clip_count[:, -1].sum())
    if harmful or readout:
        return Check("head-room", False, f"{harmful} neurons lost charge to clipping and the readout was clipped {readout} times")
    silent = int(result.clip_count[:, :-1].sum())
    return Check("head-room", True, "nothing was clipped" if silent == 0 else f"{silent} clips, all of them harmless")


def _check_accuracy(found: Accuracies, max_drop: float) -> Check:
    """The drop may exceed `max_drop` by one standard error of the accuracy itself, which answers that differ at random explain."""
    drop = 100.0 * (found.folded - found.integer) / found.samples
    p = found.folded / found.samples
    chance = 100.0 * math.sqrt(max(p * (1 - p), 1 / found.samples) / found.samples)
    shares = [100.0 * n / found.samples for n in (found.float, found.folded, found.integer)]
    sentence = f"accuracy {shares[0]:.2f} % float, {shares[1]:.2f} % folded, {shares[2]:.2f} % in integers ({found.samples} samples)"
    return Check("accuracy", drop <= max_drop + chance, sentence)
