"""Measure the accuracy: correct answers and agreement with their intervals, margins, dead and saturated neurons, clips.

Samples for which a file stores only the answers are counted separately, since those answers cannot be verified.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.verify.accurate import Accurate
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import OFFENDERS_KEPT, Check, Offender
from fsnn_lava.verify.merged_findings import MergedFindings, merge_either, merge_first, merge_total
from fsnn_lava.verify.thresholds import Thresholds
from fsnn_lava.verify.wilson_interval import wilson_interval

LINK = "float network → backend"
ERRORS_KEPT = 500  # listed samples that are answered wrongly, or differently from the float network


class AccuracyCheck(MergedFindings):
    """Counts correct answers; passes or fails only if the user set a threshold."""

    RULES = {
        **dict.fromkeys(("samples", "labelled", "right", "judged", "agreeing", "float_right", "clips", "ties"), merge_total),
        **dict.fromkeys(("recorded", "recorded_labelled", "recorded_right"), merge_total),
        **dict.fromkeys(("float_labelled", "confusion", "rate_sums", "margins"), merge_total),
        **dict.fromkeys(("spiked", "paused"), merge_either),
        "offenders": merge_first(OFFENDERS_KEPT),
        "errors": merge_first(ERRORS_KEPT, key=lambda row: row[0]),
    }

    def __init__(self, chip: ChipNetwork, thresholds: Thresholds) -> None:
        self.chip, self.thresholds = chip, thresholds
        classes = chip.readout.classes
        self.samples = self.labelled = self.right = self.judged = self.agreeing = self.float_right = self.clips = self.ties = 0
        self.recorded = self.recorded_labelled = self.recorded_right = self.float_labelled = 0
        self.confusion = np.zeros((classes, classes), dtype=np.int64)  # [label, answer]
        self.spiked = [np.zeros(layer.shape, dtype=bool) for layer in chip.layers]
        self.paused = [np.zeros(layer.shape, dtype=bool) for layer in chip.layers]
        self.rate_sums = np.zeros(len(chip.layers))
        self.margins: list[float] = []
        self.offenders: list[Offender] = []
        self.errors: list[list[float]] = []  # sample, label, answer, float answer, margin; -1 for an unknown label or answer

    def add(self, batch: Batch, float_answers: NDArray[np.int64] | None) -> None:
        """Add a batch; `float_answers` are the answers of the float network, [B]."""
        result = batch.result
        answers, logits = result.predictions, np.sort(result.logits, axis=1)
        margins = logits[:, -1] - logits[:, -2] if logits.shape[1] > 1 else np.abs(logits[:, -1])
        self.samples += batch.samples
        self.margins += [float(m) for m in margins]
        self.ties += int(np.count_nonzero(margins == 0))
        self.clips += int(result.clip_count.sum())
        for index, counts in enumerate(result.counts):
            self.spiked[index] |= (counts > 0).any(axis=0)
            full = batch.rates[index] >= self.chip.delta.rate_max if self.chip.delta is not None else counts >= batch.steps
            self.paused[index] |= (~full).any(axis=0)
            self.rate_sums[index] += float(batch.rates[index].mean(axis=tuple(range(1, counts.ndim))).sum())
        self._add_errors(batch, answers, float_answers, margins)
        if batch.labels is not None:
            self._add_labels(batch.labels, answers, float_answers)
        if float_answers is not None:
            self.judged += batch.samples
            self.agreeing += int(np.count_nonzero(answers == float_answers))
            for row in np.flatnonzero(answers != float_answers)[: OFFENDERS_KEPT - len(self.offenders)]:
                what = f"answers {answers[row]}, the float network answers {float_answers[row]}; margin {margins[row]:.4g}"
                self.offenders.append({"sample": batch.sample(row), "what": what})

    def _add_errors(
        self, batch: Batch, answers: NDArray[np.int64], float_answers: NDArray[np.int64] | None, margins: NDArray[np.float64]
    ) -> None:
        """List the samples that are misclassified, or classified differently from the float network."""
        labels = np.full(len(answers), -1) if batch.labels is None else batch.labels
        others = np.full(len(answers), -1) if float_answers is None else float_answers
        listed = ((labels >= 0) & (answers != labels)) | ((others >= 0) & (answers != others))
        for row in np.flatnonzero(listed)[: ERRORS_KEPT - len(self.errors)]:
            self.errors.append([batch.sample(row), int(labels[row]), int(answers[row]), int(others[row]), float(margins[row])])

    def _add_labels(self, labels: NDArray[np.int64], answers: NDArray[np.int64], float_answers: NDArray[np.int64] | None) -> None:
        known = labels >= 0
        labels, answers = labels[known], answers[known]
        float_answers = None if float_answers is None else float_answers[known]
        self.labelled += len(labels)
        self.right += int(np.count_nonzero(answers == labels))
        inside = labels < self.chip.readout.classes
        np.add.at(self.confusion, (labels[inside], answers[inside]), 1)
        if float_answers is not None:
            self.float_labelled += len(labels)
            self.float_right += int(np.count_nonzero(float_answers == labels))

    def add_rows(self, answers: NDArray[np.int64], labels: NDArray[np.int64]) -> None:
        """Add samples for which only the recorded answers are known; labels below 0 are unknown."""
        self.recorded += len(answers)
        self.recorded_labelled += int(np.count_nonzero(labels >= 0))
        self.recorded_right += int(np.count_nonzero((answers == labels) & (labels >= 0)))

    def accurate(self) -> Accurate | None:
        """Return the accuracy in numbers; None without labels."""
        if not self.labelled:
            return None
        return Accurate(
            accuracy=self.right / self.labelled,
            interval=wilson_interval(self.right, self.labelled),
            samples=self.labelled,
            float_accuracy=self.float_right / self.float_labelled if self.float_labelled else None,
            agreement=self.agreeing / self.judged if self.judged else None,
            recorded=self.recorded_labelled,
            recorded_accuracy=self.recorded_right / self.recorded_labelled if self.recorded_labelled else None,
        )

    def dead(self) -> float:
        """Return the fraction of neurons that never spiked in any sample."""
        return float(np.mean(np.concatenate([~s.reshape(-1) for s in self.spiked]))) if self.samples else 0.0

    def check(self) -> Check:
        """Return the finding on the accuracy."""
        problems = []
        accuracy = self.right / self.labelled if self.labelled else None
        agreement = self.agreeing / self.judged if self.judged else None
        wanted = self.thresholds
        if wanted.accuracy_min is not None and (accuracy is None or accuracy < wanted.accuracy_min):
            problems.append(
                f"accuracy must be at least {wanted.accuracy_min:.2%}" + ("" if accuracy is not None else ", but there are no labels")
            )
        if wanted.agreement_min is not None and (agreement is None or agreement < wanted.agreement_min):
            problems.append(
                f"agreement must be at least {wanted.agreement_min:.2%}" + ("" if agreement is not None else ", but no model was given")
            )
        if wanted.dead_max is not None and self.dead() > wanted.dead_max:
            problems.append(f"at most {wanted.dead_max:.2%} of the neurons may be silent")
        return Check(
            name="accuracy",
            link=LINK,
            passed=True,
            missed=tuple(problems),
            judges=(wanted.accuracy_min, wanted.agreement_min, wanted.dead_max) != (None, None, None),
            summary="; ".join([self._sentence(), *problems]),
            numbers=self._numbers(accuracy, agreement),
            offenders=tuple(self.offenders),
            series={"confusion": self.confusion, "margins": self.margins, "errors": self.errors},
        )

    def _sentence(self) -> str:
        parts = []
        if self.labelled:
            low, high = wilson_interval(self.right, self.labelled)
            parts.append(f"accuracy {self.right / self.labelled:.2%} ({low:.2%} … {high:.2%}, {self.labelled} samples)")
        if self.judged:
            low, high = wilson_interval(self.agreeing, self.judged)
            own = (
                f"the float network has {self.float_right / self.float_labelled:.2%} and " if self.float_labelled else "the float network "
            )
            parts.append(f"{own}agrees on {self.agreeing / self.judged:.2%} ({low:.2%} … {high:.2%})")
        if self.recorded_labelled:
            share = self.recorded_right / self.recorded_labelled
            parts.append(f"as recorded, {share:.2%} of {self.recorded_labelled} further samples, which were not compared")
        parts.append(f"{self.dead():.2%} of the neurons never {'spiked' if self.chip.delta is None else 'sent a message'}")
        if self.clips:
            parts.append(f"{self.clips} clips")
        if self.ties:
            parts.append(f"{self.ties} ties")
        return ", ".join(parts)

    def _numbers(self, accuracy: float | None, agreement: float | None) -> dict[str, Any]:
        layers = [
            {
                "layer": layer.name,
                "dead": float(np.mean(~spiked)),
                "saturated": float(np.mean(~paused)) if self.samples else 0.0,
                "rate_mean": float(summed) / max(1, self.samples),
            }
            for layer, spiked, paused, summed in zip(self.chip.layers, self.spiked, self.paused, self.rate_sums, strict=True)
        ]
        margins = np.array(self.margins) if self.margins else np.zeros(1)
        return {
            "samples": self.samples,
            "recorded_samples": self.recorded,
            "recorded_accuracy": self.recorded_right / self.recorded_labelled if self.recorded_labelled else None,
            "accuracy": accuracy,
            "accuracy_interval": wilson_interval(self.right, self.labelled) if self.labelled else None,
            "float_accuracy": self.float_right / self.float_labelled if self.float_labelled else None,
            "agreement": agreement,
            "agreement_interval": wilson_interval(self.agreeing, self.judged) if self.judged else None,
            "margin_min": float(margins.min()),
            "margin_median": float(np.median(margins)),
            "ties": self.ties,
            "dead": self.dead(),
            "clips": self.clips,
            "layers": layers,
        }
