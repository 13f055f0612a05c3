"""The learning rate of an iteration: linear warm-up, then steps down or half a cosine."""

from __future__ import annotations

import math
from bisect import bisect_right

from fsnn_lava.training.recipe import Recipe


def learning_rate(recipe: Recipe, *, epoch: int, iteration: int) -> float:
    """The scheduled learning rate of epoch `epoch` (0 first) in the run's iteration `iteration` (0 first, counted over all epochs).

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
    """How many times the rate has been multiplied by `decay` before epoch `epoch`."""
    plan = recipe.learning_rate
    return epoch // plan.every if plan.every else bisect_right(plan.milestones, epoch)
