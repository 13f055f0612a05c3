"""A run can be watched: a picture and TensorBoard's events are updated after every epoch, and neither can end the run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from fsnn_lava.cli.train import fsnn_train
from fsnn_lava.errors import BackendMissing, BadArgument, BadFile
from fsnn_lava.training.curves import curves, tensorboard_curves
from fsnn_lava.training.log import read_log
from fsnn_lava.training.loop import train
from fsnn_lava.training.progress import TrainingProgress
from fsnn_lava.training.recipe import parse_recipe
from fsnn_lava.training.samples import load_samples

RECIPE = {
    "data": "digits", "architecture": "8-12 (F8)", "neuron": "if",
    "steps": 4, "epochs": 3, "batch": 32, "train_samples": 96, "test_samples": 20,
}  # fmt: skip


def run(folder: Path, *watchers, epochs: int = 3, resume: bool = False) -> None:
    recipe = parse_recipe({**RECIPE, "epochs": epochs})
    train(recipe, load_samples(recipe), folder, progress=TrainingProgress(quiet=True, watchers=watchers), resume=resume)


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """Return what TensorBoard itself reads in `folder`: tag → (step, value)."""
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator", reason="tensorboard is not installed")
    reader = accumulator.EventAccumulator(str(folder))
    reader.Reload()
    return {tag: [(event.step, event.value) for event in reader.Scalars(tag)] for tag in reader.Tags()["scalars"]}


def test_the_picture_is_another_one_after_every_epoch_and_never_a_half(tmp_path):
    seen = []
    run(tmp_path / "run", curves(tmp_path / "c.png"), lambda _: seen.append((tmp_path / "c.png").read_bytes()))
    assert len(set(seen)) == 3
    assert all(picture.startswith(b"\x89PNG") and picture.endswith(b"IEND\xaeB`\x82") for picture in seen)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.png", "run"]


def test_what_tensorboard_reads_is_the_log_epoch_by_epoch(tmp_path):
    seen = []
    run(tmp_path / "run", tensorboard_curves(tmp_path / "board"), lambda _: seen.append(len(scalars(tmp_path / "board")["loss"])))
    assert seen == [1, 2, 3]
    found, records = scalars(tmp_path / "board"), read_log(tmp_path / "run")
    for key in ("loss", "train_accuracy", "test_accuracy", "equilibrium_residual", "solver_residual", "alpha"):
        assert found[key] == [(record["epoch"], pytest.approx(record[key], rel=1e-6)) for record in records]
    assert found["firing_rate/2"] == [(record["epoch"], pytest.approx(record["firing_rates"][1], rel=1e-6)) for record in records]


def test_a_resumed_run_continues_the_picture_and_the_events(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    run(tmp_path / "run", tensorboard_curves(tmp_path / "board"), epochs=2)
    run(
        tmp_path / "run",
        tensorboard_curves(tmp_path / "board"),
        tensorboard_curves(tmp_path / "late"),
        curves(tmp_path / "c.svg"),
        epochs=3,
        resume=True,
    )
    for folder in ("board", "late"):  # the second one was not there from the beginning
        assert [step for step, _ in scalars(tmp_path / folder)["loss"]] == [1, 2, 3]
    assert "after epoch 3" in (tmp_path / "c.svg").read_text()


def test_what_is_not_available_is_reported_before_the_first_epoch(tmp_path, monkeypatch, capsys):
    with pytest.raises(BadArgument, match=r"--curves: the name must end in one of \.png, \.svg, \.pdf, got .*c\.xyz"):
        curves(tmp_path / "c.xyz")
    with pytest.raises(BadFile, match="there is no folder"):
        curves(tmp_path / "absent" / "c.png")
    for name in [name for name in sys.modules if name.partition(".")[0] == "tensorboard"] + ["torch.utils.tensorboard"]:
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "tensorboard", None)
    with pytest.raises(BackendMissing, match="needs the package tensorboard, which is not installed: pip install tensorboard"):
        tensorboard_curves(tmp_path / "board")
    recipe = Path(__file__).parents[2] / "train" / "digits.toml"
    assert fsnn_train([str(recipe), "--out", str(tmp_path / "run"), "--tensorboard", str(tmp_path / "board")]) == 3
    assert capsys.readouterr().err.startswith("fsnn-train: --tensorboard needs the package tensorboard")
    assert list(tmp_path.iterdir()) == []


def test_a_picture_that_can_no_longer_be_written_does_not_end_the_run(tmp_path):
    (tmp_path / "pictures").mkdir()
    watcher = curves(tmp_path / "pictures" / "c.png")
    (tmp_path / "pictures").rmdir()
    run(tmp_path / "run", watcher)
    assert len(read_log(tmp_path / "run")) == 3


def test_the_command_draws_what_it_trains(tmp_path, capsys):
    recipe = tmp_path / "small.toml"
    recipe.write_text("".join(f"{key} = {value!r}\n" for key, value in RECIPE.items()))
    assert fsnn_train([str(recipe), "--out", str(tmp_path / "run"), "--curves", str(tmp_path / "c.png")]) == 0
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.startswith("3 epochs in ")
