"""Prepare a connection to scatter messages: layout and compiled loop, made in the parent process so that no child has to compile."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.compiled.lava_step import lava_synapse_step
from fsnn_lava.compiled.patches import Patches
from fsnn_lava.compiled.scatter import scatter_form
from fsnn_lava.limits import STATE_FRACTION_BITS


class Scatter:
    """Compute `scatter(messages, out)`: out [B, targets] = shift(weight @ messages, 6 + exponent), units 2**-6.

    messages [B, sources] uint8: spikes, or any numbers if `graded`. `wide`: the sum may not fit in 32 bits. With `changes`, messages are
    the signed changes of delta encoding, int32, and out = 2**exponent (weight @ messages) (E15).
    """

    def __init__(
        self,
        patches: Patches,
        *,
        exponent: int,
        sources: int,
        targets: int,
        graded: bool,
        out: type,
        wide: bool,
        changes: bool = False,
    ) -> None:
        self.sources, self.targets, self._graded = sources, targets, graded
        self._weight = np.array(patches.blocks)  # a writable copy: compiled code is specialised on whether an array is writable
        self._form = scatter_form(patches)
        self._row_spans, self._column_spans = np.array(patches.row_spans), np.array(patches.column_spans)
        self._bits = exponent if changes else STATE_FRACTION_BITS + exponent
        self._total = np.zeros(targets, dtype=np.int64 if wide else np.int32)
        self._places = np.zeros(sources + 1, dtype=np.int32)
        self(np.zeros((0, 1), dtype=np.int32 if changes else np.uint8), np.zeros((0, targets), dtype=out))

    def __call__(self, messages: NDArray[Any], out: NDArray[Any]) -> None:
        layout = (self._weight, self._form, self._row_spans, self._column_spans)
        lava_synapse_step(messages, self._graded, *layout, self._bits, self._total, self._places, out)
