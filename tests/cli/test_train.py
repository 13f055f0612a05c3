"""fsnn-train as a command: what it prints, where, and with which exit code."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.cli.train import fsnn_train
from fsnn_lava.nn.fsnn import FSNN

ROOT = Path(__file__).parents[2]
SMALL = """
data = "digits"
architecture = "12 (F12)"
neuron = "if"
steps = 4
epochs = 2
batch = 32
train_samples = 200
test_samples = 50
"""


@pytest.fixture
def recipe(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


def test_it_trains_and_says_where_the_models_are(recipe, tmp_path, capsys):
    assert fsnn_train([str(recipe), "--out", str(tmp_path / "run")]) == 0
    printed = capsys.readouterr()
    assert printed.out.startswith("2 epochs in ")
    assert str(tmp_path / "run/best.pt") in printed.out
    lines = [line for line in printed.err.splitlines() if line.strip().startswith(("1/2 ", "2/2 "))]
    assert len(lines) == 2 and len(lines[0]) <= 100
    assert " residual " in printed.err and " alpha " in printed.err
    assert FSNN.load(tmp_path / "run/last.pt").metrics["data"] == "digits"


def test_json_is_the_only_thing_on_standard_output(recipe, tmp_path, capsys):
    assert fsnn_train([str(recipe), "--out", str(tmp_path / "run"), "--json", "--set", "epochs=1"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["epochs"] == 1
    assert 0.0 <= result["last_accuracy"] <= result["best_accuracy"] <= 1.0


def test_it_trains_on_the_samples_of_an_npz_file(recipe, tmp_path, capsys):
    samples = {
        name: np.random.default_rng(i).integers(0, 256, (n, 1, 6, 6), np.uint8) for i, (name, n) in enumerate((("x", 9), ("x_train", 40)))
    }
    np.savez(tmp_path / "mine.npz", **samples, y=np.arange(9) % 3, y_train=np.arange(40) % 3)
    arguments = [str(recipe), "--out", str(tmp_path / "run"), "--set", f"data={tmp_path / 'mine.npz'}", "--set", "epochs=1"]
    assert fsnn_train(arguments) == 0
    net = FSNN.load(tmp_path / "run/last.pt")
    assert (net.architecture.input_shape, net.readout.out_features) == ((1, 6, 6), 3)
    np.savez(tmp_path / "mine.npz", x=samples["x"], y=np.arange(9) % 3)
    assert fsnn_train([*arguments[:2], str(tmp_path / "other"), *arguments[3:]]) == 2
    assert "mine.npz has no training samples; add them as x_train and y_train" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--set", "epochs=0"], "'epochs' must be a whole number >= 1, got 0"),
        (["--set", "architecture=12x (F12)"], "unknown suffix 'x'"),
        (["--resume"], "contains no run to resume"),
        (["--threads", "0"], "--threads must be at least 1, got 0"),
        (["--data", "mnist", "--data-dir", "nowhere"], "data set 'mnist' was not found"),
        (["--data", "mnst"], "'data' must be one of 'digits'"),
    ],
)
def test_bad_input_is_one_line_on_stderr_and_exit_code_2(recipe, tmp_path, capsys, options, sentence):
    assert fsnn_train([str(recipe), "--out", str(tmp_path / "run"), *options]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1
    assert printed.err.startswith("fsnn-train: ")
    assert sentence in printed.err


def test_a_diverging_run_ends_with_exit_code_1(recipe, tmp_path, capsys):
    assert fsnn_train([str(recipe), "--out", str(tmp_path / "run"), "--set", "optimiser.learning_rate=1e30"]) == 1
    assert "use a smaller learning rate" in capsys.readouterr().err.splitlines()[-1]


def test_a_second_run_into_the_folder_is_refused_and_resume_of_a_finished_run_changes_nothing(recipe, tmp_path, capsys):
    arguments = [str(recipe), "--out", str(tmp_path / "run"), "--json"]
    assert fsnn_train(arguments) == 0
    first = capsys.readouterr().out
    assert fsnn_train(arguments) == 2
    assert "already contains a run; continue it with --resume" in capsys.readouterr().err
    assert fsnn_train([*arguments, "--resume"]) == 0
    assert capsys.readouterr().out == first


def test_interrupted_by_control_c_it_exits_with_130_and_can_be_resumed(recipe, tmp_path):
    command = [sys.executable, "-m", "fsnn_lava.cli.train", str(recipe), "--out", str(tmp_path / "run"), "--set", "epochs=100000"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True)
    while not (tmp_path / "run/log.jsonl").exists() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate()
    assert process.returncode == 130
    assert errors.splitlines()[-1].startswith("fsnn-train: interrupted")
    assert "Traceback" not in errors
    done = len((tmp_path / "run/log.jsonl").read_text().splitlines())
    assert fsnn_train([str(recipe), "--out", str(tmp_path / "run"), "--resume", "--set", f"epochs={done + 1}"]) == 0


def test_without_a_recipe_the_names_are_pointed_to(capsys):
    assert fsnn_train([]) == 2
    assert capsys.readouterr().err.startswith("fsnn-train: no recipe given: add a .toml file or the name of a shipped one")


def test_the_folder_of_the_data_sets_may_still_be_called_data(recipe, tmp_path, capsys):
    (tmp_path / "sets").mkdir()
    assert fsnn_train([str(recipe), "--out", str(tmp_path / "run"), "--set", "data=mnist", "--data", str(tmp_path / "sets")]) == 2
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith(f"fsnn-train: note: --data {tmp_path / 'sets'} is a folder of data sets: use --data-dir for that")
    assert "data set 'mnist' was not found" in said[1] and str(tmp_path / "sets") in said[1]


def test_recipes_are_listed_and_copied(tmp_path, capsys):
    assert fsnn_train(["--list"]) == 0
    assert "\ndigits " in capsys.readouterr().out
    assert fsnn_train(["--init", str(tmp_path / "my.toml"), "--data", "own.npz"]) == 0
    assert 'data = "own.npz"' in (tmp_path / "my.toml").read_text()
    assert fsnn_train(["--init", str(tmp_path / "my.toml")]) == 2
    assert "already exists" in capsys.readouterr().err
