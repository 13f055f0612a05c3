"""The schedule of the learning rate: linear warm-up, then steps down or half a cosine."""

from __future__ import annotations

import math
from bisect import bisect_right

from fsnn_lava.training.recipe import Recipe


def learning_rate(recipe: Recipe, *, epoch: int, iteration: int) -> float:
    """Return the scheduled learning rate in epoch `epoch` and iteration `iteration` of the whole run (both from 0).

    Warm-up reaches the full rate in its last iteration: iteration i has (i + 1) / warmup of it.
    """
    plan = recipe.learning_rate
    if plan.cosine:
        factor = 0.5 * (1.0 + math.cos(math.pi * epoch / recipe.epochs))
    else:
        factor = plan.decay ** _drops(recipe, epoch)
    warm = min(1.0, (iteration + 1) / plan.warmup) if plan.warmup else 1.0
    return recipe.optimiser.learning_rate * factor * warm


def _drops(recipe: Recipe, epoch: int) -> int:
    """Return how many times the rate has been multiplied by `decay` before epoch `epoch`."""
    plan = recipe.learning_rate
    return epoch // plan.every if plan.every else bisect_right(plan.milestones, epoch)
