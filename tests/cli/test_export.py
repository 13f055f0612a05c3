"""fsnn-export as a command: what it writes, prints and refuses."""

from __future__ import annotations

import errno
import json
import pickle
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.cli.export import fsnn_export
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.nn.fsnn import FSNN


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small network for digits; its weights are random, so its accuracy says nothing but is kept by export."""
    torch.manual_seed(0)
    net = FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=10, steps=10, normalisation=fl.Normalisation(16.0, (0.3,), (0.4,))).eval()
    net.metrics = {"data": "digits", "accuracy": 0.1}
    path = tmp_path_factory.mktemp("model") / "model.pt"
    net.save(path)
    return path


def refused(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    """The one line on stderr of a call that must exit with 2."""
    assert fsnn_export(list(args)) == 2
    error = capsys.readouterr().err
    assert error.startswith("fsnn-export: ")
    assert error.count("\n") == 1
    assert "Traceback" not in error
    return error


def test_a_model_becomes_a_file_that_loads(model, tmp_path, capsys):
    target = tmp_path / "net.h5"
    assert fsnn_export([str(model), str(target), "--limit", "60"]) == 0
    chip = ChipNetwork.load(target)
    assert chip.notes["data"] == "digits"
    said = capsys.readouterr().out
    for word in ("SQNR", "threshold", "bound", "ok    file", "ok    accuracy", "digits", chip.digest()[:12]):
        assert word in said
    assert [entry.name for entry in tmp_path.iterdir()] == ["net.h5"]


@pytest.mark.parametrize(
    "options",
    [["--per-channel"], ["--input", "current"], ["--reset", "zero", "--max-drop", "100"], ["--bits", "5", "--steps", "7"]],
    ids=" ".join,
)
def test_every_way_to_export_gives_a_network_that_loads(model, options, tmp_path):
    target = tmp_path / "net.net"
    assert fsnn_export([str(model), str(target), "--limit", "40", *options]) == 0
    chip = ChipNetwork.load(target)
    if "--steps" in options:
        assert chip.steps == 7
        assert chip.notes["bits"] == "5"


def test_delta_encoding_is_written_with_its_dead_bands_and_steps(model, tmp_path, capsys):
    target = tmp_path / "net.h5"
    assert fsnn_export([str(model), str(target), "--limit", "40", "--encoding", "delta", "--dead-band", "0.1", "--max-drop", "100"]) == 0
    chip = ChipNetwork.load(target)
    assert chip.delta is not None and chip.delta.shares()[0] == pytest.approx(0.1, abs=0.5 / chip.delta.one)
    assert 2 <= chip.steps < 15
    with h5py.File(target) as file:
        assert "layer" not in file and not file["fsnn/netx"].attrs["complete"]
        assert file["fsnn"].attrs["version"] == 2
    assert "nothing was clipped" in capsys.readouterr().out


def test_the_result_as_json(model, tmp_path, capsys):
    assert fsnn_export([str(model), str(tmp_path / "net.h5"), "--limit", "40", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["passed"]
    assert said["kept"]
    assert said["accuracies"]["samples"] == 40
    assert said["size"] == (tmp_path / "net.h5").stat().st_size
    assert {check["name"] for check in said["checks"]} == {"file", "folding", "contraction", "equilibrium", "head-room", "accuracy"}
    assert said["quantisation"]["layers"][0]["shift"] > 0


def test_a_network_that_the_chip_cannot_run_is_exported_with_a_warning(tmp_path, capsys):
    digits = Path(__file__).parents[2] / "examples" / "models" / "digits" / "model.pt"
    assert fsnn_export([str(digits), str(tmp_path / "net.h5"), "--limit", "20"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("warning: on oheo-gulch (fsnn-map) this network cannot run on the chip: layer 'l1': ATRLIF")
    assert "export with --bits 7" in last
    assert fsnn_export([str(digits), str(tmp_path / "chip.h5"), "--limit", "20", "--target", "loihi2"]) == 0
    assert "warning" not in capsys.readouterr().out
    assert ChipNetwork.load(tmp_path / "chip.h5").notes["bits"] == "6"
    assert fsnn_export([str(digits), str(tmp_path / "net.h5"), "--limit", "20", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["board"]["answer"] == "cannot run"


def test_a_network_that_sends_changes_is_judged_by_what_it_was_trained_for(model, tmp_path, capsys):
    net = FSNN.load(model)
    net.neuron, net.steps = fl.SigmaDelta(dead_band=0.4), 2  # far from the equilibrium
    path, exported = tmp_path / "changes.pt", tmp_path / "net.h5"
    net.save(path)
    assert fsnn_export([str(path), str(exported), "--limit", "60", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    chip = ChipNetwork.load(exported)
    assert chip.delta is not None and chip.steps == 2
    assert said["accuracies"]["folded"] == said["accuracies"]["float"]
    assert said["rate_error"] < 0.02  # at the equilibrium, rates differ by up to the dead band and more
    sentence = "--target loihi2 needs spikes and one threshold per layer: use --encoding rate, without --per-channel"
    assert sentence in refused(capsys, str(path), str(exported), "--target", "loihi2")
    options = ["--limit", "20", "--target", "loihi2", "--encoding", "rate", "--steps", "10", "--max-drop", "100"]
    assert fsnn_export([str(path), str(tmp_path / "spikes.h5"), *options]) == 0
    assert ChipNetwork.load(tmp_path / "spikes.h5").delta is None


def test_explain_says_what_the_numbers_mean(model, tmp_path, capsys):
    assert fsnn_export([str(model), str(tmp_path / "net.h5"), "--limit", "20", "--explain"]) == 0
    assert "spectral radius" in capsys.readouterr().out


def test_own_data_calibrates_and_tests(model, tmp_path, capsys):
    rng = np.random.default_rng(0)
    np.savez(tmp_path / "own.npz", x=rng.integers(0, 17, (30, 1, 8, 8), dtype=np.uint8), y=rng.integers(0, 10, 30))
    assert fsnn_export([str(model), str(tmp_path / "net.h5"), "--data", str(tmp_path / "own.npz")]) == 0
    assert "own.npz" in capsys.readouterr().out


def test_without_data_it_says_so(tmp_path, capsys):
    net = FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=10, steps=5).eval()
    net.save(tmp_path / "model.pt")
    assert fsnn_export([str(tmp_path / "model.pt"), str(tmp_path / "net.h5")]) == 0
    assert "synthetic data" in capsys.readouterr().out


def test_a_failed_check_exits_with_1_and_leaves_nothing(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("fsnn_lava.verify.export.check_exported_clips", lambda *_: failed_check())
    target = tmp_path / "net.h5"
    assert fsnn_export([str(model), str(target), "--limit", "20"]) == 1
    assert "FAIL  head-room" in (said := capsys.readouterr()).out
    assert "was not written" in said.err
    assert list(tmp_path.iterdir()) == []
    target.write_text("what was there before")
    assert fsnn_export([str(model), str(target), "--limit", "20"]) == 1
    assert target.read_text() == "what was there before"
    assert fsnn_export([str(model), str(target), "--limit", "20", "--force"]) == 1
    ChipNetwork.load(target)


def failed_check() -> Any:
    from fsnn_lava.verify.check import Check

    return Check(name="head-room", passed=False, summary="a check that fails")


def test_a_file_that_reads_back_as_another_network_is_not_kept(model, tmp_path, monkeypatch):
    from fsnn_lava.formats import netx
    from tests.helpers.chip_networks import conv_network

    other = tmp_path / "other.h5"
    conv_network(1).save(other)
    whole = netx.read_netx
    monkeypatch.setattr(netx, "read_netx", lambda path: _changed(whole(path)))
    assert fsnn_export([str(model), str(tmp_path / "net.h5"), "--limit", "10"]) == 1
    assert not (tmp_path / "net.h5").exists()


def _changed(chip: ChipNetwork) -> ChipNetwork:
    from dataclasses import replace

    return replace(chip, steps=chip.steps + 1)


class Executes:
    def __reduce__(self) -> tuple[Any, ...]:
        return (print, ("executed",))


def test_what_is_not_a_model_is_refused(model, tmp_path, capsys):
    target, bad = str(tmp_path / "net.h5"), tmp_path / "bad.pt"
    assert "there is no file" in refused(capsys, str(tmp_path / "missing.pt"), target)
    bad.write_text("not a model")
    assert "not a model" in refused(capsys, str(bad), target)
    torch.save({"format": "fsnn-lava model", "version": 1, "config": Executes()}, bad)
    assert "could execute code" in refused(capsys, str(bad), target)
    bad.write_bytes(pickle.dumps(Executes()))
    said = refused(capsys, str(bad), target)
    assert "not a model" in said
    bad.write_bytes(model.read_bytes()[:-700])
    assert "truncated" in refused(capsys, str(bad), target) or "damaged" in refused(capsys, str(bad), target)
    assert not Path(target).exists()


def test_weights_that_are_not_numbers_are_refused(model, tmp_path, capsys):
    net = FSNN.load(model)
    with torch.no_grad():
        net.readout.weight[0, 0] = float("nan")
    net.save(tmp_path / "nan.pt")
    assert "NaN" in refused(capsys, str(tmp_path / "nan.pt"), str(tmp_path / "net.h5"))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["net.h5", "--bits", "9"], "bits must be an integer between 2 and 8, got 9"),
        (["net.h5", "--steps", "0"], "steps must be an integer between"),
        (["net.h5", "--limit", "0"], "--limit must be at least 1"),
        (["net.h5", "--data", "imagenet"], "unknown data set 'imagenet'"),
        (["net.h5", "--data", "mnist", "--data-dir", "nowhere"], "mnist"),
        (["net.h5", "--dead-band", "0.1"], "dead_band only applies to encoding 'delta'"),
        (["net.h5", "--encoding", "delta", "--dead-band", "0.1", "0.1", "0.1"], "or one for each of 1 layers"),
        (["net.pt"], "the file name must end in"),
        (["net.h5", "--format", "nir"], "the file name must end in .nir"),
        (["missing/net.h5"], "cannot write"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_reported_in_one_sentence(model, options, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert sentence in refused(capsys, str(model), *options)
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_leaves_the_previous_file(model, tmp_path, capsys, monkeypatch):
    target = tmp_path / "net.h5"
    assert fsnn_export([str(model), str(target), "--limit", "10"]) == 0
    before = target.read_bytes()
    capsys.readouterr()

    def full(self: Path, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    assert "No space left on device" in refused(capsys, str(model), str(target), "--limit", "10", "--bits", "4")
    monkeypatch.undo()
    assert target.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["net.h5"]
