"""Hold out samples to tune on: only training samples, preferably those that training held out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.data import Split
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.fsnn import FSNN

CALIBRATION_SAMPLES = 128
SAMPLES_MAX = 10_000


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Disjoint samples for calibration and evaluation, all from the training set."""

    calibration: NDArray[np.uint8]
    values: NDArray[np.uint8]
    labels: NDArray[np.int64]
    unseen: bool  # whether training held out the evaluation samples

    @property
    def sentence(self) -> str:
        """Description of the held-out samples."""
        seen = "which training held out" if self.unseen else "which it was trained on: only differences in accuracy are meaningful"
        return f"{len(self.labels):,} training samples, {seen}"


def hold_out(split: Split, net: FSNN, *, samples: int | None, seed: int) -> HeldOut:
    """Hold out `samples` for evaluation, CALIBRATION_SAMPLES for calibration; evaluate on the recipe's `validation` samples if it has any.

    Otherwise both are drawn with `seed`. By default, all available samples are evaluated, at most SAMPLES_MAX.
    """
    kept_back = int(net.metrics.get("validation", 0))
    order = np.random.RandomState(1).permutation(len(split))  # as training does (training/samples.py)
    unseen = 0 < kept_back < len(split) - CALIBRATION_SAMPLES
    pool = order[:kept_back] if unseen else np.random.RandomState(seed).permutation(len(split))
    rest = order[kept_back:] if unseen else pool
    most = len(pool) if unseen else len(pool) - min(CALIBRATION_SAMPLES, len(pool) // 2)
    wanted = min(SAMPLES_MAX, most) if samples is None else samples
    if not 1 <= wanted <= most:
        raise BadArgument(f"--samples must be between 1 and {most}, the number of available training samples; got {wanted}")
    judged, calibration = np.sort(pool[:wanted]), np.sort(rest[-CALIBRATION_SAMPLES:] if unseen else rest[wanted:][:CALIBRATION_SAMPLES])
    return HeldOut(split.batch(calibration), split.batch(judged), np.asarray(split.labels)[judged], unseen)
