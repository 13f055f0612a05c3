"""The learning rate of every iteration."""

from __future__ import annotations

import pytest

from fsnn_lava.training.recipe import Recipe, parse_recipe
from fsnn_lava.training.schedule import learning_rate
from tests.training.test_recipe import SMALL


def rates(plan: dict[str, object], epochs: int) -> list[float]:
    recipe: Recipe = parse_recipe({**SMALL, "optimiser": {"learning_rate": 1.0}, "learning_rate": plan})
    return [learning_rate(recipe, epoch=epoch, iteration=1000) for epoch in range(epochs)]


def test_the_learning_rate_steps_down_after_every_n_epochs_or_at_milestones():
    assert rates({"decay": 0.5, "every": 2}, 5) == [1.0, 1.0, 0.5, 0.5, 0.25]
    assert rates({"decay": 0.5, "milestones": [1, 4]}, 5) == [1.0, 0.5, 0.5, 0.5, 0.25]
    assert rates({}, 3) == [1.0, 1.0, 1.0]


def test_warm_up_rises_linearly_to_the_full_rate():
    recipe = parse_recipe({**SMALL, "optimiser": {"learning_rate": 0.8}, "learning_rate": {"warmup": 4}})
    assert [learning_rate(recipe, epoch=0, iteration=i) for i in range(6)] == pytest.approx([0.2, 0.4, 0.6, 0.8, 0.8, 0.8])


def test_half_a_cosine_falls_from_the_full_rate_towards_zero_after_the_warmup():
    recipe = parse_recipe({**SMALL, "epochs": 4, "learning_rate": {"cosine": True, "warmup": 2}, "optimiser": {"learning_rate": 0.2}})
    rates = [learning_rate(recipe, epoch=epoch, iteration=10) for epoch in range(4)]
    assert rates == pytest.approx([0.2, 0.1 * (1 + 2**-0.5), 0.1, 0.1 * (1 - 2**-0.5)])
    assert learning_rate(recipe, epoch=0, iteration=0) == pytest.approx(0.1)
