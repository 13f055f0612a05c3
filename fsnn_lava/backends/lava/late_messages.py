"""Record the messages that come too late to be delivered, in shared memory that the parent process reads after a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.lava.shared_memory import shared_array


@dataclass(frozen=True, kw_only=True, eq=False)
class LateMessages:
    """Messages of the last `delay` steps, which a feedback synapse no longer delivers."""

    delay: int
    counts: NDArray[np.int32]  # [B, n]
    traces: NDArray[np.float64]  # [B, n]; with delta encoding, the sum of their changes


def late_messages(shape: tuple[int, int], delays: Sequence[int]) -> tuple[LateMessages, ...]:
    """Return empty records of late messages in shared memory, one per delay."""
    return tuple(LateMessages(delay=d, counts=shared_array(shape, np.int32), traces=shared_array(shape, np.float64)) for d in delays)
