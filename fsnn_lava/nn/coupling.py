"""What couples the samples of a batch in training: jointly drawn dropout masks, batch norm's statistics, and the scale of residuals."""

from __future__ import annotations

from collections.abc import Sequence

import torch.nn.functional as nnf
from torch import Tensor, nn

from fsnn_lava.nn.dropout import draw_masks
from fsnn_lava.solvers.solution import every_sample, lengths


class SampleCoupling:
    """The coupling of a forward pass over the whole batch.

    If the pass sees only part of a joint batch, a subclass computes each of these over all parts (training/distributed.py).
    """

    def draw_masks(self, shapes: Sequence[tuple[int, ...]], samples: int, dropped: float, like: Tensor) -> list[Tensor]:
        """Draw dropout masks, [samples, *shape] for every shape."""
        return draw_masks(shapes, samples, dropped, like)

    def batch_norm(self, norm: nn.BatchNorm1d | nn.BatchNorm2d, current: Tensor, *, updates: bool = True) -> Tensor:
        """Normalise with the statistics of the mini-batch, and update the running ones unless `updates` is False (E7)."""
        if updates:
            return norm(current)
        return nnf.batch_norm(current, None, None, norm.weight, norm.bias, True, 0.0, norm.eps)

    def scale(self, constant: Tensor) -> Tensor:
        """Return the scale by which the residuals of a linear system with this constant are divided, [B]."""
        return lengths(constant)

    def stop(self, solved: Tensor) -> bool:
        """Return whether a solver may stop, given which samples are solved."""
        return every_sample(solved)


WHOLE_BATCH = SampleCoupling()
