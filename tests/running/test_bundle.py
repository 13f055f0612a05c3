from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.data import load
from fsnn_lava.errors import BadArgument, BadFile, CheckFailed
from fsnn_lava.running.bundle import bundle_requirements, check_bundle, write_bundle
from hw_tests.networks import one_neuron
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.paper_networks import paper_network


@pytest.fixture
def made(tmp_path):
    chip = conv_network(seed=2)
    chip.save(tmp_path / "net.h5")
    values = np.random.default_rng(0).integers(0, 256, (9, *chip.input.shape), dtype=np.uint8)
    return write_bundle(tmp_path / "net.h5", values, tmp_path / "job", labels=np.arange(9) % 5, steps=8)


def test_a_package_holds_what_a_run_needs_and_passes_its_own_check(made):
    assert {path.name for path in made.iterdir()} == {
        "network.h5", "inputs.npz", "expected.json", "manifest.json", "requirements.txt", "run.sh", "README.txt", "lib",
    }  # fmt: skip
    assert "lava-nc==0.10.0" in (made / "requirements.txt").read_text()
    assert "--steps 8 " in (made / "run.sh").read_text()
    assert "not been run on silicon" in (made / "README.txt").read_text()
    assert list(made.rglob("__pycache__")) == list((made / "lib").rglob("*.h5")) == []
    inputs = load(str(made / "inputs.npz")).test
    assert inputs.labels.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 3]
    assert check_bundle(made)[1] == "the emulator gives the expected results on 8 samples, 8 steps"


def test_a_package_states_the_python_it_was_made_on_and_the_one_it_is_for(made):
    here = platform.python_version()
    assert f"on Python {here}, to be run on Python 3.10." in (made / "README.txt").read_text()
    assert json.loads((made / "expected.json").read_text())["python"] == here
    assert check_bundle(made)[2] == f"made on Python {here}, this is {here}; the boards' machines run 3.10"


@pytest.mark.parametrize(("version", "numpy"), [("3.10.13", f"numpy=={np.__version__}"), ("3.13.0", "numpy"), ("3.1.0", "numpy")])
def test_versions_are_pinned_only_on_the_python_of_the_boards(monkeypatch, version, numpy):
    monkeypatch.setattr(platform, "python_version", lambda: version)
    lines = bundle_requirements().splitlines()
    assert numpy in lines
    assert "lava-nc==0.10.0" in lines
    assert any(f"made on Python {version}" in line for line in lines) == (version != "3.10.13")


def test_the_check_runs_from_the_folder_alone_and_says_what_the_chip_lacks(made):
    clean = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "NXSDKHOST")}
    done = subprocess.run(
        ["sh", str(made / "run.sh"), "--check"],
        env={**clean, "PYTHON": sys.executable, "NOSLURM": "1"},
        cwd=made.parent,
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert done.returncode == 3, done.stderr
    assert "files are unchanged" in done.stdout
    assert "backend loihi2 cannot run here; missing: " in done.stdout
    assert "lava-loihi" in done.stdout


@pytest.mark.parametrize("script", sorted((Path(__file__).parents[2] / "deploy").glob("*.s*")), ids=lambda path: path.name)
def test_a_shell_script_can_be_parsed_and_says_how_it_is_used(script):
    assert subprocess.run(["sh", "-n", str(script)], capture_output=True).returncode == 0
    done = subprocess.run(["sh", str(script)], capture_output=True, text=True)
    assert done.returncode == 2
    assert "usage: " in done.stderr


def test_a_changed_file_is_noticed(made):
    with open(made / "network.h5", "ab") as file:
        file.write(b"x")
    with pytest.raises(CheckFailed, match=r"1 of \d+ files are missing or changed; the first is network\.h5"):
        check_bundle(made)


def test_other_results_than_at_home_are_noticed(made):
    stored = json.loads((made / "expected.json").read_text())
    stored["stock"]["sha256"] = "0" * 64
    (made / "expected.json").write_text(json.dumps(stored))
    sums = json.loads((made / "manifest.json").read_text())
    del sums["expected.json"]
    (made / "manifest.json").write_text(json.dumps(sums))
    with pytest.raises(CheckFailed, match=r"different results here \(stock\)"):
        check_bundle(made)


def test_a_folder_that_is_not_a_package_is_refused(tmp_path):
    with pytest.raises(BadFile, match="is not a folder made by fsnn-run --package"):
        check_bundle(tmp_path)


def test_an_existing_folder_is_not_touched_and_nothing_half_is_left(tmp_path):
    dense_network().save(tmp_path / "net.h5")
    values = np.zeros((2, 7), dtype=np.uint8)
    (tmp_path / "job").mkdir()
    with pytest.raises(BadArgument, match="already exists"):
        write_bundle(tmp_path / "net.h5", values, tmp_path / "job")
    with pytest.raises(BadArgument, match=r"labels must be one per sample, \[2\]"):
        write_bundle(tmp_path / "net.h5", values, tmp_path / "other", labels=np.zeros(3, dtype=np.int64))
    with pytest.raises(BadArgument, match="values must be raw uint8"):
        write_bundle(tmp_path / "net.h5", values[:, :3], tmp_path / "other")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["job", "net.h5"]


def test_a_network_or_samples_that_the_board_cannot_run_are_not_packaged(tmp_path):
    one_neuron(threshold=9001).save(tmp_path / "net.h5")
    value = np.array([[3]], dtype=np.uint8)
    with pytest.raises(CheckFailed, match="no package was made: on oheo-gulch this network cannot run on the chip: layer 'l1': ATRLIF"):
        write_bundle(tmp_path / "net.h5", value, tmp_path / "job")
    paper_network("alexnet-f").save(tmp_path / "large.h5")
    large = np.zeros((1, 3, 32, 32), dtype=np.uint8)
    with pytest.raises(CheckFailed, match=r"no package was made: on oheo-gulch this network .*does not fit: the network needs"):
        write_bundle(tmp_path / "large.h5", large, tmp_path / "job")
    one_neuron(threshold=10, bias=4090).save(tmp_path / "odd.h5")
    with pytest.raises(CheckFailed, match=r"the chip cannot take these samples\. layer 'l1': the chip stores a bias as 13 bits"):
        write_bundle(tmp_path / "odd.h5", np.array([[3], [7]], dtype=np.uint8), tmp_path / "job")
    assert not (tmp_path / "job").exists()
    np.savez(tmp_path / "data.npz", x=value, y=np.array([0]))
    assert fsnn_run([str(tmp_path / "net.h5"), "--data", str(tmp_path / "data.npz"), "--package", str(tmp_path / "job")]) == 1


def test_fsnn_run_makes_a_package_of_the_first_samples(tmp_path, capsys):
    dense_network().save(tmp_path / "net.h5")
    np.savez(tmp_path / "data.npz", x=np.full((5, 7), 9, dtype=np.uint8), y=np.arange(5) % 3)
    command = [str(tmp_path / "net.h5"), "--data", str(tmp_path / "data.npz"), "--limit", "2", "--package", str(tmp_path / "job")]
    assert fsnn_run(command) == 0
    assert "copy it to the machine with the board" in capsys.readouterr().out
    assert len(load(str(tmp_path / "job" / "inputs.npz")).test) == 2
    assert fsnn_run(command) == 2
    assert "fsnn-run: " in capsys.readouterr().err


def test_the_chip_backend_exits_with_3_and_says_what_to_do(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("NOSLURM", "1")
    monkeypatch.delenv("NXSDKHOST", raising=False)
    dense_network().save(tmp_path / "net.h5")
    assert fsnn_run([str(tmp_path / "net.h5"), "--backend", "loihi2"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "missing: " in said
    assert "lava-loihi" in said
    assert "NXSDKHOST" in said
