"""Export: fold, quantise, write, read back, run, and check that it is still the same network. If a check fails, no file is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass
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
from fsnn_lava.nn.neurons import SigmaDelta
from fsnn_lava.quantisation.calibration import affordable_calibration_samples
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.quantisation.quantisation_report import QuantisationReport, measure_quantisation
from fsnn_lava.quantisation.quantise import Kind, Quantised, Reset, quantise_in_full
from fsnn_lava.quantisation.quantise_options import Encoding
from fsnn_lava.running.run import run
from fsnn_lava.verify.check import Check
from fsnn_lava.verify.export_checks import (
    Accuracies,
    check_exported_accuracy,
    check_exported_clips,
    check_exported_contraction,
    check_exported_equilibrium,
    check_exported_file,
    check_exported_folding,
)

BATCH = 100
FOLDING_SAMPLES = 8  # number of samples on which folding is checked
RUN_BUDGET = 2e11  # multiplications of a run in float64, about half a minute
EQUILIBRIUM_TOLERANCE = 1e-4  # for the rates with which delta encoding is compared if the network was trained in spikes

Write = Callable[[ChipNetwork, Path], None]
Read = Callable[[Path], ChipNetwork]
Phase = Callable[[str], AbstractContextManager[None]]  # entered with the name of a phase that takes long


def silent_export_phase(name: str) -> AbstractContextManager[None]:
    """Return a phase of the export that prints nothing."""
    return nullcontext()


@dataclass(frozen=True)
class Samples:
    """Raw values with their labels (None: unknown)."""

    values: NDArray[np.uint8]
    labels: NDArray[np.int64] | None


@dataclass(frozen=True, kw_only=True)
class Exported:
    """What was written (or refused), and what the checks of the export found."""

    path: str
    digest: str
    size: int  # bytes
    quantisation: QuantisationReport
    checks: tuple[Check, ...]
    agreement: float  # fraction of samples for which the integer and the folded network give the same answer
    rate_error: float  # mean |rate - rate| of the last layer, integer against folded network, after the same steps
    clipped: tuple[int, ...]  # clips per layer, the readout last
    accuracies: Accuracies | None = None

    @property
    def passed(self) -> bool:
        """Whether every check of the export passed."""
        return all(check.passed for check in self.checks)

    def as_dict(self) -> dict[str, Any]:
        """Return the export as JSON values."""
        checks = [{"name": check.name, "passed": check.passed, "sentence": check.summary} for check in self.checks]
        return {**asdict(self), "checks": checks, "passed": self.passed}


def export(
    net: FSNN,
    path: str | Path,
    *,
    write: Write,
    read: Read,
    bits: int = 8,
    input: Kind | None = None,
    reset: Reset = "subtract",
    per_channel: bool = False,
    steps: int | None = None,
    encoding: Encoding | None = None,
    dead_band: Sequence[float] | None = None,
    calibration: NDArray[np.uint8] | None = None,
    test: Samples | None = None,
    max_drop: float = 1.0,
    force: bool = False,
    notes: dict[str, str] | None = None,
    phase: Phase = silent_export_phase,
) -> Exported:
    """Export the network: quantise it and write it to `path`. If a check fails, raise ExportRefused and write nothing, unless `force`.

    `write` and `read` determine the format. `bits`, `input`, `reset`, `per_channel`, `steps`, `encoding`, `dead_band` and
    `calibration` are passed to `quantise`.
    `max_drop`: percentage points of accuracy that the integers may lose on `test`, allowing for chance. `phase` is called with the
    name of each phase that takes long.
    """
    target = Path(path)
    with atomic_path(target) as temporary:
        with phase("rounding to integers"):
            made = quantise_in_full(
                net,
                bits=bits,
                input=input,
                reset=reset,
                per_channel=per_channel,
                calibration=calibration,
                steps=steps,
                encoding=encoding,
                dead_band=dead_band,
            )
        made.chip.notes.update(notes or {})
        with phase("writing and reading back"):
            write(made.chip, temporary)
            back = read(temporary)
        outcome = _examine(net, made, back, test, max_drop, target, temporary.stat().st_size, phase)
        if not outcome.passed and not force:
            raise ExportRefused(outcome)
    return outcome


def affordable_export_samples(folded: FoldedNetwork, most: int, steps: int) -> int:
    """Return how many samples (2 … `most`) the export can run in float64 within RUN_BUDGET."""
    return affordable_calibration_samples(folded, most, budget=RUN_BUDGET / steps)


class ExportRefused(CheckFailed):
    """A check failed and nothing was written; `outcome` says which check."""

    def __init__(self, outcome: Exported) -> None:
        failed = "; ".join(check.summary for check in outcome.checks if not check.passed)
        super().__init__(f"{outcome.path} was not written: {failed} (use --force to write it anyway)")
        self.outcome = outcome


def _examine(
    net: FSNN, made: Quantised, back: ChipNetwork, test: Samples | None, max_drop: float, target: Path, size: int, phase: Phase
) -> Exported:
    with phase("measuring the shift of the equilibrium"):
        found = measure_quantisation(made)
    samples = (
        test
        if test is not None
        else Samples(made.calibration[: affordable_export_samples(made.folded, len(made.calibration), back.steps)], None)
    )
    values = samples.values[:, : back.steps] if back.input.kind == "events" else samples.values
    with phase(f"running {len(values)} samples in integers"):
        result = run(back, values)
    with phase(f"running {len(values)} samples in float64"):
        settles = back.delta is not None and not isinstance(made.folded.neuron, SigmaDelta)  # trained in spikes, run in changes
        rates, answers = _folded_run(made.folded, values, None if settles else back.steps)
    accuracies = None
    if samples.labels is not None:
        with phase(f"running {len(values)} samples as trained"):
            accuracies = _accuracies(net, values, samples.labels, answers, result, back.steps if back.delta is None else net.steps)
    checks = [
        check_exported_file(made.chip, back),
        check_exported_folding(net, made.folded, values[:FOLDING_SAMPLES]),
        check_exported_contraction(made),
        check_exported_equilibrium(found),
        check_exported_clips(result),
    ]
    if accuracies is not None:
        checks.append(check_exported_accuracy(accuracies, max_drop))
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


def _folded_run(folded: FoldedNetwork, values: NDArray[np.uint8], steps: int | None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return the folded network's last rates and answers, after `steps` steps pipelined as on the chip, or at equilibrium."""
    rates, answers = [], []
    for start in range(0, len(values), BATCH):
        part = torch.from_numpy(values[start : start + BATCH])
        last = (folded.simulate(part, steps) if steps else folded.solve(part, tol=EQUILIBRIUM_TOLERANCE)).rates[-1]
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
