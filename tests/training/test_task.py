"""Tasks: their losses and scores on outputs that are known, and a recipe of each that learns."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadData
from fsnn_lava.training.loop import train
from fsnn_lava.training.progress import TrainingProgress
from fsnn_lava.training.recipe import parse_recipe
from fsnn_lava.training.samples import load_samples
from fsnn_lava.training.task import Classes, MultiLabel, Regression, make_task


def test_scores_are_shares_of_what_is_right():
    outputs = torch.tensor([[2.0, -1.0, 0.5], [-0.5, 3.0, 1.0]])
    assert Classes().score(outputs, torch.tensor([0, 2])) == 1.0
    assert MultiLabel().score(outputs, torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]])) == pytest.approx(2 / 3 + 1)
    targets = torch.tensor([[2.0, -1.0, 2.0], [-0.5, 3.0, 1.0]])  # off by 1.5 in one of six
    assert Regression(variance=0.75).score(outputs, targets) == pytest.approx(2 - 1.5**2 / 3 / 0.75)


def test_losses_are_summed_over_samples_and_averaged_over_outputs():
    outputs, targets = torch.randn(4, 3), torch.rand(4, 3).round()
    torch.testing.assert_close(MultiLabel().loss(outputs, targets), 4 * torch.nn.BCEWithLogitsLoss()(outputs, targets))
    torch.testing.assert_close(Regression(1.0).loss(outputs, targets), 4 * torch.nn.MSELoss()(outputs, targets))


@pytest.fixture
def own_file(tmp_path):
    """Values whose sum and largest half are to be found."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 256, (96, 6), dtype=np.uint8)

    def write(task):
        halves = np.stack([values[:, :3].sum(1), values[:, 3:].sum(1)], 1) / 765.0
        y = (halves > 0.5).astype(np.uint8) if task == "multi-label" else halves.astype(np.float32)
        np.savez(tmp_path / "own.npz", x=values[:32], y=y[:32], x_train=values[32:], y_train=y[32:])
        return tmp_path / "own.npz"

    return write


@pytest.mark.parametrize("task", ["multi-label", "regression"])
def test_a_recipe_of_each_task_learns(task, own_file, tmp_path):
    values = {"data": str(own_file(task)), "architecture": "12 (F12)", "neuron": "if", "steps": 8, "epochs": 6, "batch": 16, "task": task}
    recipe = parse_recipe({**values, "dropout": 0.0})
    data = load_samples(recipe)
    assert data.classes == 2
    done = train(recipe, data, tmp_path / "run", progress=TrainingProgress(quiet=True))
    assert done.best_accuracy > (0.8 if task == "multi-label" else 0.3)
    assert fl.FSNN.load(tmp_path / "run" / "best.pt")(torch.from_numpy(data.test.batch(slice(0, 4)))).shape == (4, 2)


def test_a_regression_network_goes_through_export_and_run(own_file, tmp_path, capsys):
    from fsnn_lava.cli.export import fsnn_export
    from fsnn_lava.cli.run import fsnn_run

    path = own_file("regression")
    values = {"data": str(path), "architecture": "12 (F12)", "neuron": "if", "steps": 8, "epochs": 6, "batch": 16, "task": "regression"}
    recipe = parse_recipe({**values, "dropout": 0.0})
    train(recipe, load_samples(recipe), tmp_path / "run", progress=TrainingProgress(quiet=True))
    assert fsnn_export([str(tmp_path / "run" / "best.pt"), str(tmp_path / "net.h5")]) == 0
    assert "calibrated and tested on" in capsys.readouterr().out
    assert fsnn_run([str(tmp_path / "net.h5"), "--backend", "emu", "--model", str(tmp_path / "run" / "best.pt"), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["score"] > 0.3
    assert found["verdict"]["passed"]


@pytest.mark.parametrize(
    ("targets", "task", "sentence"),
    [
        (None, "regression", "task 'regression' needs an .npz with target numbers as y"),
        (np.array([[0.0, 2.0]]), "multi-label", "task 'multi-label' needs y of 0 and 1, one column per label; own has 0 … 2"),
        (np.array([[1.0, 2.0]]), "regression", "the targets of own are all the same"),
    ],
)
def test_targets_of_another_kind_are_refused(targets, task, sentence):
    split = fl.load_data("digits").test
    part = type(split)(split.values[:1], split.labels[:1], targets)
    data = fl.Dataset(name="own", train=part, test=part, normalisation=fl.Normalisation())
    recipe = parse_recipe({"data": "own.npz", "architecture": "4 (F4)", "neuron": "if", "steps": 2, "epochs": 1, "task": task})
    with pytest.raises(BadData, match=sentence):
        make_task(recipe, data)


def test_a_data_set_of_classes_has_no_other_targets(own_file):
    with pytest.raises(BadData, match=r"digits has classes; only an \.npz file can hold other targets, as its y"):
        fl.load_data("digits", targets=True)
    with pytest.raises(BadData, match="y must be a vector of class numbers or one-hot rows"):
        fl.load_data(own_file("regression"))
