"""The cost penalty of a recipe: its warm-up, what it does to a network, and what a run records."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.training.log import read_log
from fsnn_lava.training.loop import TrainingLoop
from fsnn_lava.training.penalty import penalty_warmed_up, penalty_weight
from fsnn_lava.training.recipe import parse_recipe, read_recipe
from fsnn_lava.training.samples import load_samples
from tests.training.test_log import RECORD
from tests.training.test_loop import QUIET, SMALL, run, same, small


def test_the_weight_grows_linearly_and_reaches_its_full_value_in_the_last_iteration_of_the_warm_up():
    recipe = small(penalty={"operations": 0.5, "warmup": 4})
    assert [penalty_weight(recipe, iteration=i) for i in (0, 1, 3, 4, 99)] == [0.125, 0.25, 0.5, 0.5, 0.5]
    assert [penalty_warmed_up(recipe, iteration=i) for i in (-2, 3, 4)] == [False, False, True]
    assert penalty_weight(small(penalty={"operations": 0.5}), iteration=0) == 0.5
    assert penalty_weight(small(), iteration=0) == 0.0 and penalty_warmed_up(small(), iteration=-2)


def test_a_recipe_with_a_penalty_reads_back_and_a_wrong_one_is_refused():
    recipe = small(penalty={"operations": 1e-5, "warmup": 7})
    assert read_recipe(recipe.to_toml(), where="again") == recipe
    with pytest.raises(BadFile, match=r"recipe: 'penalty\.operations' must be a number > 0, got 0"):
        parse_recipe({**SMALL, "penalty": {"operations": 0}})
    with pytest.raises(BadFile, match=r"key 'penalty\.operations' is missing"):
        parse_recipe({**SMALL, "penalty": {"warmup": 3}})


def test_a_penalty_lowers_the_operations_and_a_resumed_run_is_the_same(tmp_path):
    free, penalised = small(epochs=2), small(epochs=2, penalty={"operations": 0.01, "warmup": 2})
    run(free, tmp_path / "free")
    run(penalised, tmp_path / "whole")
    operations = [read_log(tmp_path / name)[-1]["operations"] for name in ("free", "whole")]
    assert 0 < operations[1] < 0.9 * operations[0]
    run(small(epochs=1, penalty={"operations": 0.01, "warmup": 2}), tmp_path / "parts")
    run(penalised, tmp_path / "parts", resume=True)
    same(tmp_path / "whole", tmp_path / "parts")


def test_an_epoch_that_began_after_the_warm_up_beats_any_that_did_not(tmp_path):
    recipe = small(penalty={"operations": 0.1, "warmup": 10})  # 7 batches: epochs 1 and 2 begin before it is over
    training = TrainingLoop(recipe, load_samples(recipe), tmp_path, QUIET)
    training.best_epoch, training.best_accuracy = 1, 0.5
    accuracies = {2: (0.6, True), 3: (0.1, True)}
    for epoch, (accuracy, best) in accuracies.items():
        assert training._is_best(replace(RECORD, epoch=epoch, test_accuracy=accuracy)) == best
    training.best_epoch, training.best_accuracy = 3, 0.1
    assert not training._is_best(replace(RECORD, epoch=4, test_accuracy=0.1))
    assert training._is_best(replace(RECORD, epoch=4, test_accuracy=0.2))
