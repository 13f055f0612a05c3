"""fsnn-run: what it prints, writes and returns. The network is random; the comparison itself is tested elsewhere."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.cli.compare import fsnn_compare
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.errors import BadFile
from fsnn_lava.formats import results
from fsnn_lava.ir.network import ChipNetwork, DenseSynapse, Input, Layer, Readout
from fsnn_lava.models.find import find_model
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_delta import as_delta
from tests.helpers.naive_simulator import assert_same
from tests.helpers.strategies import random_network, random_values


def network(seed: int = 1, **options: object) -> ChipNetwork:
    return random_network(
        np.random.default_rng(seed), **{"kind": "pixels", "layers": 2, "decay": 0, "reset": "subtract", "strict": False, **options}
    )  # type: ignore[arg-type]


@pytest.fixture
def files(tmp_path: Path) -> tuple[ChipNetwork, np.ndarray, np.ndarray, Path]:
    """A network in net.h5 and twelve samples for it in own.npz."""
    chip = network()
    rng = np.random.default_rng(1)
    values, labels = random_values(rng, chip, 12), rng.integers(0, chip.readout.classes, 12)
    chip.save(tmp_path / "net.h5")
    np.savez(tmp_path / "own.npz", x=values, y=labels)
    return chip, values, labels, tmp_path


def arguments(folder: Path, *more: str, backend: str = "emu") -> list[str]:
    return [str(folder / "net.h5"), "--backend", backend, "--data", str(folder / "own.npz"), *more]


def test_the_results_file_is_the_run(files: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    chip, values, labels, folder = files
    out = folder / "results.h5"
    assert fsnn_run(arguments(folder, "--out", str(out), "--batch", "5", "--spikes", "--no-compare", "--detail", "9")) == 0
    found, expected = results.read_results(out), fl.run(chip, values, spikes=True)
    assert_same(found.result, expected.part(slice(0, 9)))
    np.testing.assert_array_equal(found.rows["readout"], expected.readout)
    np.testing.assert_array_equal(found.rows["labels"], labels)
    assert found.provenance.data == "own"
    said = capsys.readouterr().out
    assert f"accuracy {(expected.predictions == labels).mean():.2%}" in said
    assert f"wrote {out}" in said


def test_json_has_every_number(files: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    chip, values, labels, folder = files
    assert fsnn_run(arguments(folder, "--json", "--limit", "7", "--steps", "5", "--no-compare")) == 0
    found = json.loads(capsys.readouterr().out)
    expected = fl.run(chip, values[:7], steps=5)
    assert (found["samples"], found["steps"], found["backend"], found["digest"]) == (7, 5, "emu", chip.digest())
    assert found["accuracy"] == (expected.predictions == labels[:7]).mean()
    assert found["operations_per_sample"] == expected.operations.mean()
    assert found["clips"] == expected.clip_count.sum()
    assert found["rates"] == pytest.approx([counts.mean() / 5 for counts in expected.counts], abs=0, rel=1e-12)


def test_the_comparison_decides_the_exit_code(files: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    *_, folder = files
    assert fsnn_run(arguments(folder, "--json")) == 0
    assert json.loads(capsys.readouterr().out)["verdict"]["passed"] is True


def test_thresholds_ask_for_more_than_the_bounds(files: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    *_, folder = files
    assert fsnn_run(arguments(folder, "--json", "--residual-max", "0", "--accuracy-min", "1")) == 1
    failed = [check["name"] for check in json.loads(capsys.readouterr().out)["verdict"]["checks"] if check["mark"] == "MISS"]
    assert failed == ["residual", "accuracy"]


def test_a_failed_comparison_exits_with_one(files: tuple, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from fsnn_lava.backends.emulator.run import Emulator

    *_, folder = files
    honest = Emulator.run

    def bent(self: Emulator, values: np.ndarray, **options: object) -> object:
        result = honest(self, values, **options)  # type: ignore[arg-type]
        return replace(result, potentials=(result.potentials[0] + 64, *result.potentials[1:]))

    monkeypatch.setattr(Emulator, "run", bent)
    assert fsnn_run(arguments(folder)) == 1
    assert "FAIL" in capsys.readouterr().out


@pytest.mark.parametrize("to_file", [False, True], ids=["in memory", "to a file"])
def test_a_regression_network_is_scored_by_the_variance_it_explains(
    files: tuple, to_file: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    chip, values, _, folder = files
    targets = fl.run(chip, values).logits + np.linspace(-1.0, 1.0, len(values))[:, None]
    replace(chip, notes={**chip.notes, "task": "regression"}).save(folder / "net.h5")
    np.savez(folder / "own.npz", x=values, y=targets.astype(np.float32))
    out = ["--out", str(folder / "results.h5")] if to_file else []
    assert fsnn_run(arguments(folder, "--json", "--batch", "5", *out)) == 0
    found = json.loads(capsys.readouterr().out)
    lost = (np.linspace(-1.0, 1.0, len(values)) ** 2).sum() * targets.shape[1] / ((targets - targets.mean(0)) ** 2).sum()
    assert found["score"] == pytest.approx(1 - lost, rel=1e-5)
    assert found["accuracy"] is None
    assert fsnn_run(arguments(folder)) == 0
    said = capsys.readouterr().out
    assert f"explained variance {1 - lost:.4f} (12 samples)" in said
    assert "PASS" in said


def test_a_flat_network_takes_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chip = ChipNetwork(
        input=Input(kind="pixels", shape=(64,)),
        layers=(Layer(name="a", shape=(5,), threshold=900, bias=np.zeros(5, int), scale=1.0),),
        synapses=(DenseSynapse(source="input", target="a", weight=np.arange(320).reshape(5, 64) % 7 - 3),),
        readout=Readout(weight=np.ones((10, 5), int), bias=np.zeros(10, int), scale=1.0),
        steps=3,
        notes={"data": "digits"},
    )
    chip.save(tmp_path / "flat.h5")
    assert fsnn_run([str(tmp_path / "flat.h5"), "--backend", "emu", "--limit", "4", "--json", "--no-compare"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] == "digits"  # what the network says it was trained on


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--limit", "0"], "--limit must be at least 1, got 0"),
        (["--steps", "0"], "steps must be an integer between 1 and 65535, got 0"),
        (["--batch", "-1"], "batch must be at least 1, got -1"),
        (["--no-compare", "--report", "x.html"], "remove --no-compare"),
        (["--no-compare", "--accuracy-min", "0.5"], "remove --no-compare"),
        (["--accuracy-min", "50"], "--accuracy-min must be between 0 and 1, got 50.0"),
        (["--detail", "-1", "--out", "x.h5"], "--detail must be at least 0, got -1"),
        (["--data", "nothing"], "unknown data set 'nothing'"),
        (["--data", "digits"], "the samples of the data set have shape"),
        (["--out", "/nowhere/at/all/results.h5", "--no-compare"], "cannot write /nowhere/at/all/results.h5"),
        (["--model", "none.pt"], "none.pt"),
    ],
)
def test_bad_input_is_one_line_and_exit_two(files: tuple, more: list[str], sentence: str, capsys: pytest.CaptureFixture[str]) -> None:
    *_, folder = files
    assert fsnn_run(arguments(folder, *more)) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert len(said) == 1
    assert said[0].startswith("fsnn-run: ")
    assert sentence in said[0]


def test_a_network_that_names_no_data_asks_for_it(files: tuple, capsys: pytest.CaptureFixture[str]) -> None:
    *_, folder = files
    assert fsnn_run([str(folder / "net.h5"), "--backend", "emu"]) == 2
    assert "does not say what it was trained on: add --data" in capsys.readouterr().err


def test_a_network_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert fsnn_run(["no-such.h5", "--backend", "emu", "--data", "digits"]) == 2
    assert "there is no file no-such.h5" in capsys.readouterr().err
    with pytest.raises(BadFile, match="no shipped network of that name"):
        find_model("../data/x")


def test_a_backend_that_cannot_run_here_exits_with_three(
    files: tuple, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, folder = files
    monkeypatch.setattr("fsnn_lava.backends.availability.missing_for_backend", lambda backend: ("a board",) if backend == "loihi2" else ())
    assert fsnn_run(arguments(folder, backend="loihi2")) == 3
    assert "fsnn-run: backend 'loihi2' cannot run here; missing: a board" in capsys.readouterr().err


def test_a_run_with_delta_encoding_is_judged_and_prints_its_messages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chip = as_delta(dense_network(1))
    values = np.random.default_rng(1).integers(0, 256, (5, 7), dtype=np.uint8)
    chip.save(tmp_path / "net.h5")
    np.savez(tmp_path / "own.npz", x=values, y=np.zeros(5, np.int64))
    assert fsnn_run(arguments(tmp_path, "--out", str(tmp_path / "r.h5"))) == 0
    out = capsys.readouterr().out
    assert "messages (" in out and " per step" in out and "bit for bit" in out
    assert fsnn_compare([str(tmp_path / "r.h5")]) == 0
    capsys.readouterr()
    assert fsnn_run(arguments(tmp_path, "--json")) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["encoding"] == "delta" and len(found["messages_per_step"]) == chip.steps


def test_an_aborted_run_leaves_no_file(files: tuple, monkeypatch: pytest.MonkeyPatch) -> None:
    from fsnn_lava.backends.emulator.run import Emulator

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    *_, folder = files
    monkeypatch.setattr(Emulator, "run", stop)
    before = sorted(folder.iterdir())
    assert fsnn_run(arguments(folder, "--out", str(folder / "results.h5"))) == 130
    assert sorted(folder.iterdir()) == before


def run_as(rank: int, size: int, arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> int:
    for name, value in (("RANK", rank), ("WORLD_SIZE", size), ("MASTER_PORT", 29511)):
        monkeypatch.setenv(name, str(value))
    return fsnn_run(arguments)


@pytest.mark.parametrize("detail", [3, 9])
def test_many_processes_write_the_file_that_one_writes(
    files: tuple, detail: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    *_, folder = files
    assert fsnn_run(arguments(folder, "--out", str(folder / "one.h5"), "--detail", str(detail), "--batch", "4", "--json")) == 0
    alone = json.loads(capsys.readouterr().out)
    for rank in (2, 1, 0):  # the first process comes last: it waits for the others
        assert run_as(rank, 3, arguments(folder, "--out", str(folder / "many.h5"), "--detail", str(detail), "--json"), monkeypatch) == 0
    together = json.loads(capsys.readouterr().out)
    for name in ("samples", "accuracy", "rates", "operations_per_sample", "clips", "spikes_per_sample"):
        assert together[name] == alone[name], name
    one, many = results.read_results(folder / "one.h5"), results.read_results(folder / "many.h5")
    assert_same(one.result, many.result)
    assert one.provenance.data_sha256 == many.provenance.data_sha256
    np.testing.assert_array_equal(one.values, many.values)
    for name, column in one.rows.items():
        np.testing.assert_array_equal(column, many.rows[name], err_msg=name)
    assert sorted(path.name for path in folder.iterdir()) == ["many.h5", "net.h5", "one.h5", "own.npz"]


def test_the_first_process_says_when_another_one_failed(
    files: tuple, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from fsnn_lava.backends.emulator.run import Emulator

    *_, folder = files
    more = ("--out", str(folder / "many.h5"), "--no-compare")
    with monkeypatch.context() as broken:

        def stop(*_: object, **__: object) -> None:
            raise BadFile("the disk is gone")

        broken.setattr(Emulator, "run", stop)
        assert run_as(1, 2, arguments(folder, *more), monkeypatch) == 2
    assert run_as(0, 2, arguments(folder, *more), monkeypatch) == 1
    said = capsys.readouterr().err
    assert "process 1 of 2 failed: BadFile: the disk is gone" in said
    assert f"6 of 12 samples are kept in {folder / 'many.h5.part'}; continue with: " in said
    for rank in (1, 0):  # two go on where two stopped, or one alone would
        assert run_as(rank, 2, arguments(folder, *more, "--resume"), monkeypatch) == 0
    assert sorted(path.name for path in folder.iterdir()) == ["many.h5", "net.h5", "own.npz"]


def test_many_processes_need_a_file_to_meet_in(files: tuple, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    *_, folder = files
    assert run_as(1, 2, arguments(folder, "--no-compare"), monkeypatch) == 2
    assert "2 processes need a results file in which to join their results: add --out" in capsys.readouterr().err
    assert run_as(2, 2, arguments(folder, "--no-compare"), monkeypatch) == 2
    assert "must give this process a rank below the number of processes" in capsys.readouterr().err


def test_torch_is_not_loaded_before_errors_can_be_reported() -> None:
    said = "import sys, fsnn_lava.cli.run, fsnn_lava.data.dataset; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_frames_that_a_run_does_not_use_are_mentioned(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chip = dense_network(3, kind="events")
    chip.save(tmp_path / "net.h5")
    frames = (np.random.default_rng(0).random((2, 12, 7)) < 0.5).astype(np.uint8)
    np.savez(tmp_path / "own.npz", x=frames, y=np.arange(2))
    for steps, said in ((12, False), (8, True)):
        options = [str(tmp_path / "net.h5"), "--backend", "emu", "--data", str(tmp_path / "own.npz"), "--steps", str(steps)]
        assert fsnn_run(options) == 0
        noted = "the recordings have 12 frames, of which a run of 8 steps uses the first 8" in capsys.readouterr().err
        assert noted == said
