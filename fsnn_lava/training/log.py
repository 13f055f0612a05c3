"""The log of a training run: one JSON line per epoch in DIR/log.jsonl."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from fsnn_lava.errors import BadFile
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.training.run_folder import LOG


@dataclasses.dataclass(frozen=True)
class EpochRecord:
    """One epoch. Rates and residual are measured on the evaluation samples; solver figures are means over the epoch.

    Epochs are evaluated on the validation samples if the recipe holds some out, otherwise on the test samples; the other accuracy is
    None.
    """

    epoch: int  # full epochs done, 1 after the first
    loss: float
    train_accuracy: float
    test_accuracy: float | None
    firing_rates: list[float]  # spikes per step and neuron, one per layer
    equilibrium_residual: float  # mean over samples of max |f(a[T]) - a[T]| of the last layer
    solver_steps: float
    solver_residual: float | None  # relative, of the worst sample; None with the Jacobian-free gradient
    alpha: float | None
    learning_rate: float
    seconds: float
    validation_accuracy: float | None = None
    operations: float | None = None  # synaptic operations per sample (E17); None in logs of older versions

    @property
    def judged_by(self) -> str:
        """The samples that `accuracy` refers to: "validation" or "test"."""
        return "test" if self.validation_accuracy is None else "validation"

    @property
    def accuracy(self) -> float:
        """The accuracy by which the best epoch is chosen."""
        accuracy = self.test_accuracy if self.validation_accuracy is None else self.validation_accuracy
        assert accuracy is not None
        return accuracy


def append_record(path: Path, record: dict[str, Any]) -> None:
    """Append one JSON line to the log."""
    try:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")
    except OSError as error:
        raise BadFile(f"cannot write {path}: {error.strerror or error}") from error


def read_log(folder: Path) -> list[dict[str, Any]]:
    """Read the epochs in DIR/log.jsonl."""
    path = folder / LOG
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except OSError as error:
        raise BadFile(f"cannot read the log {path}: {error.strerror or error}") from error
    except json.JSONDecodeError as error:
        raise BadFile(f"{path}: every line must be JSON: {error}") from error


def rewrite_records(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """Replace the contents of the log by `records`, dropping epochs that will be repeated."""
    with atomic_path(path) as temporary:
        temporary.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
