"""The weight of a recipe's cost penalty in each iteration (E17)."""

from __future__ import annotations

from fsnn_lava.training.recipe import Recipe


def penalty_weight(recipe: Recipe, *, iteration: int) -> float:
    """Return mu, the penalty's weight in the run's iteration `iteration` (from 0, counted over all epochs); 0 without a penalty.

    Warm-up reaches the full weight in its last iteration, like that of the learning rate.
    """
    plan = recipe.penalty
    if plan is None:
        return 0.0
    return plan.operations * (min(1.0, (iteration + 1) / plan.warmup) if plan.warmup else 1.0)


def penalty_warmed_up(recipe: Recipe, *, iteration: int) -> bool:
    """Return whether the penalty has its full weight from `iteration` on; always true without a penalty."""
    return recipe.penalty is None or iteration >= recipe.penalty.warmup
