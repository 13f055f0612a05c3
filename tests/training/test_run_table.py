"""What a training run prints: a header, a table that fits 100 characters, and a note when alpha is at its limit."""

from __future__ import annotations

import dataclasses

from fsnn_lava.training.loop import TrainingLoop
from fsnn_lava.training.progress import TrainingProgress
from fsnn_lava.training.run_table import WIDTHS, epoch_row, run_table_remark, run_table_titles
from fsnn_lava.training.samples import load_samples
from tests.training.test_log import RECORD
from tests.training.test_loop import small


def test_the_table_fits_100_characters_and_its_columns_stand_under_their_titles():
    large = dataclasses.replace(
        RECORD, epoch=1000, loss=123.4567, train_accuracy=1.0, test_accuracy=1.0, solver_steps=30.0, seconds=99999.9
    )
    titles = run_table_titles("test")
    for record in (RECORD, large):
        row = epoch_row(record, epochs=1000, limit=0.5)
        assert len(row) == len(titles) == sum(WIDTHS) + len(WIDTHS) - 1 <= 100
    assert titles.split() == ["epoch", "loss", "train", "test", "firing", "rates", "residual", "products", "alpha", "lr", "s"]
    assert "valid." in run_table_titles("validation")


def test_a_row_shows_the_range_of_the_rates_the_solver_and_whether_alpha_is_at_its_limit():
    row = epoch_row(RECORD, epochs=16, limit=0.5)
    assert row.split() == [
        "3/16",
        "0.5000",
        "75.00%",
        "50.00%",
        "0.062",
        "–",
        "0.125",
        "0.25",
        "2.5",
        "→",
        "1e-03",
        "-0.500=",
        "0.05",
        "1.2",
    ]
    free = dataclasses.replace(RECORD, solver_residual=None, alpha=None, firing_rates=[0.125])
    assert epoch_row(free, epochs=16, limit=None).split()[4:8] == ["0.125", "0.25", "–", "–"]
    assert " -0.500  " in epoch_row(RECORD, epochs=16, limit=1.0)


def test_three_epochs_at_the_limit_are_remarked_once():
    said = [
        run_table_remark([{"alpha": alpha} for alpha in alphas], 0.25)
        for alphas in ([0.25], [0.25] * 2, [-0.25] * 3, [0.25] * 4, [0.2] * 3)
    ]
    assert [one is not None for one in said] == [False, False, True, False, False]
    assert "alpha has been at its limit, 0.25, for 3 epochs" in said[2]
    assert run_table_remark([{"alpha": 0.1}, *[{"alpha": 0.25}] * 3], 0.25) is not None
    assert run_table_remark([{"alpha": None}] * 3, None) is None


def test_a_run_says_data_network_parameters_device_and_solver(tmp_path, capsys):
    recipe = small(epochs=1)
    TrainingLoop(recipe, load_samples(recipe), tmp_path, TrainingProgress()).introduce()
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in said[:5]] == ["data", "network", "parameters", "device", "solver"]
    assert "digits: " in said[0] and " samples to train, " in said[0] and said[0].endswith("1x8x8, 10 classes")
    assert said[5:] == ["", run_table_titles("test")]


def test_with_a_penalty_the_operations_take_the_place_of_the_rates():
    record = dataclasses.replace(RECORD, operations=1234567.4)
    assert run_table_titles("test", penalised=True).split()[4] == "operations"
    row = epoch_row(record, epochs=16, limit=0.5, penalised=True)
    assert row.split()[4] == "1,234,567" and len(row) == len(run_table_titles("test"))
    assert epoch_row(RECORD, epochs=16, limit=0.5, penalised=True) == epoch_row(RECORD, epochs=16, limit=0.5)  # a log of an older version
