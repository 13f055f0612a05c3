"""fsnn-compare: exit codes, JSON, thresholds, reports, and files it refuses."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.cli.compare import fsnn_compare
from fsnn_lava.formats import results
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_delta import as_delta
from tests.verify.test_float_network import model, pixels


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    chip = dense_network(3, size=6)
    values = np.random.default_rng(0).integers(0, 256, (9, 7), dtype=np.uint8)
    result = fl.run(chip, values)
    results.write_results(tmp_path / "results.h5", result, chip, values, labels=result.predictions, detail=6)
    return tmp_path / "results.h5"


def test_a_good_run_passes_with_one_screen(run_file, capsys):
    assert fsnn_compare([str(run_file)]) == 0
    out = capsys.readouterr().out
    assert out.startswith("PASS")
    assert "100.00%" in out
    assert "6 samples), as recorded, 100.00% of 3 further samples" in " ".join(out.split())  # those that are not kept in detail


def test_json_is_the_whole_verdict(run_file, capsys):
    assert fsnn_compare([str(run_file), "--json", "--equilibria", "2"]) == 0
    verdict = json.loads(capsys.readouterr().out)
    assert verdict["passed"] is True
    checks = {check["name"]: check for check in verdict["checks"]}
    assert checks["residual"]["numbers"]["samples"] == 6
    assert checks["residual"]["numbers"]["solved"] == 2
    assert (verdict["accurate"]["samples"], verdict["accurate"]["recorded"]) == (6, 3)
    assert (verdict["faithful"], verdict["settled"]["answer"]) == (True, "yes")
    assert checks["shift"]["passed"] is None


def test_limit_looks_at_the_first_samples_only(run_file, capsys):
    assert fsnn_compare([str(run_file), "--json", "--limit", "4"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert checks["spikes"]["numbers"]["samples"] == checks["accuracy"]["numbers"]["samples"] == 4


def test_a_damaged_run_fails_with_one_and_names_the_place(tmp_path, capsys):
    chip = dense_network(3, size=6)
    values = np.random.default_rng(0).integers(0, 256, (3, 7), dtype=np.uint8)
    result = fl.run(chip, values)
    potentials = result.potentials[0].copy()
    potentials[2, 4] -= 7
    results.write_results(tmp_path / "r.h5", replace(result, potentials=(potentials,)), chip, values)
    assert fsnn_compare([str(tmp_path / "r.h5")]) == 1
    out = capsys.readouterr().out
    assert out.startswith("FAIL")
    assert "sample 2, layer 'l1', neuron (4,)" in out
    assert "7 missing" in out


@pytest.mark.parametrize(
    ("column", "change", "sentence"),
    [
        (
            "rows/predictions",
            lambda a: (a + (np.arange(len(a)) == 7)) % 3,
            "prediction is not the class with the largest readout",
        ),  # beyond --detail
        ("rows/labels", lambda a: a[::-1], "/rows/labels is not what the run wrote"),
        ("rows/labels", lambda a: a[[0, 1, 2, 4, 3, *range(5, 9)]], "/rows/labels is not what the run wrote"),
        ("rows/logits", lambda a: a * 1.5, "logits do not match the readout"),
        ("rows/layer_spikes", lambda a: a + 1, "spikes of the layers do not match those of their neurons"),
        ("rows/operations", lambda a: a + 1, "number of synaptic operations does not match"),
        ("rows/operations", lambda a: a - 10**9 * (np.arange(len(a)) == 8), "the number of operations is impossible"),
        ("rows/operations", lambda a: a + 10**9 * (np.arange(len(a)) == 8), "the number of operations is impossible"),
        ("rows/clip_count", lambda a: a + 10**9 * (np.arange(len(a)) == 8)[:, None], "the number of clips is impossible"),
        ("rows/readout", lambda a: a + (np.arange(len(a)) == 8)[:, None], "/rows/readout is not what the run wrote"),
        ("detail/values", lambda a: a ^ (np.arange(a.size) == 3).reshape(a.shape), "/detail/values is not what the run wrote"),
    ],
)
def test_what_was_changed_in_the_file_is_found(run_file, capsys, column, change, sentence):
    """Nine samples, six of them in detail; all answers are right, so labels in another order differ."""
    with h5py.File(run_file, "r+") as file:
        before = file[column][()]
        after = change(before).astype(before.dtype)
        assert not np.array_equal(before, after)
        file[column][...] = after
    assert fsnn_compare([str(run_file)]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith("FAIL not faithful")
    assert sentence in said


def test_a_file_that_says_the_emulator_made_it_is_repeated_in_full(tmp_path, capsys):
    """A spike is moved in the train of sample 271, which would not be run again if the run were still in memory."""
    chip = dense_network(3, size=6)
    values = np.random.default_rng(0).integers(0, 256, (300, 7), dtype=np.uint8)
    result = fl.run(chip, values, spikes=True)
    train = result.spikes[0]
    step, neuron = (int(i) for i in np.argwhere((train[271, :-2] == 1) & (train[271, 1:-1] == 0))[0])
    train[271, step : step + 2, neuron] = [0, 1]
    assert fl.compare(result, chip, values).faithful
    results.write_results(tmp_path / "r.h5", result, chip, values)
    assert fsnn_compare([str(tmp_path / "r.h5")]) == 1
    assert f"first in sample 271, layer 'l1', neuron ({neuron},), step {step + 1}" in " ".join(capsys.readouterr().out.split())


def test_an_older_file_is_held_to_the_hash_of_its_data(tmp_path, capsys):
    """Without hashes of its columns: if every sample is in detail, values and labels can still be checked."""
    chip = dense_network(3, size=6)
    values = np.random.default_rng(0).integers(0, 256, (4, 7), dtype=np.uint8)
    result = fl.run(chip, values)
    results.write_results(tmp_path / "r.h5", result, chip, values, labels=np.array([0, 1, 2, 0]))
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        del file.attrs["sha256"]
    assert fsnn_compare([str(tmp_path / "r.h5")]) == 0
    assert "no hashes" not in capsys.readouterr().out
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        file["rows/labels"][...] = [1, 0, 2, 0]
    capsys.readouterr()
    assert fsnn_compare([str(tmp_path / "r.h5")]) == 1
    assert "values or labels are not those of the run" in " ".join(capsys.readouterr().out.split())


def test_a_file_whose_hashes_were_emptied_is_not_an_older_one(run_file, capsys):
    with h5py.File(run_file, "r+") as file:
        file.attrs["sha256"] = "{}"
    assert fsnn_compare([str(run_file)]) == 1
    assert "/rows/labels is not what the run wrote" in " ".join(capsys.readouterr().out.split())


def test_an_older_file_with_further_samples_says_that_their_rows_may_have_changed(run_file, capsys):
    with h5py.File(run_file, "r+") as file:
        del file.attrs["sha256"]
        file["rows/labels"][...] = 1 - file["rows/labels"][()]
    assert fsnn_compare([str(run_file)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the file has no hashes of its columns, so whether labels and rows were changed later is not known" in said


def test_a_threshold_of_the_user_fails_with_one(run_file, capsys):
    assert fsnn_compare([str(run_file), "--residual-max", "1e-9"]) == 1
    assert "MISS residual" in capsys.readouterr().out


def test_the_model_adds_its_links(tmp_path, capsys):
    net = model("dense")
    values = pixels(net)
    net.save(tmp_path / "model.pt")
    chip = fl.quantise(net, calibration=values)
    results.write_results(tmp_path / "r.h5", fl.run(chip, values), chip, values)
    assert fsnn_compare([str(tmp_path / "r.h5"), "--model", str(tmp_path / "model.pt"), "--shift-max", "0.2", "--json"]) == 0
    assert all(check["done"] for check in json.loads(capsys.readouterr().out)["checks"])


def test_a_report_is_written(run_file, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    page = tmp_path / "report.html"
    assert fsnn_compare([str(run_file), "--report", str(page)]) == 0
    assert "<html" in page.read_text(encoding="utf-8").lower()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--accuracy-min", "90"], "--accuracy-min must be between 0 and 1"),
        (["--limit", "0"], "--limit must be at least 1"),
        (["--model", "nowhere.pt"], "nowhere.pt"),
    ],
)
def test_bad_options_end_with_two_and_one_line(run_file, capsys, options, sentence):
    assert fsnn_compare([str(run_file), *options]) == 2
    err = capsys.readouterr().err
    assert err.startswith("fsnn-compare: ")
    assert sentence in err
    assert len(err.splitlines()) == 1


def test_a_file_that_is_not_a_results_file_ends_with_two(tmp_path, capsys):
    (tmp_path / "no.h5").write_bytes(b"nothing")
    assert fsnn_compare([str(tmp_path / "no.h5")]) == 2
    assert fsnn_compare([str(tmp_path / "missing.h5")]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_results_without_detail_are_refused(tmp_path, capsys):
    chip = dense_network(3, size=6)
    values = np.random.default_rng(0).integers(0, 256, (3, 7), dtype=np.uint8)
    results.write_results(tmp_path / "r.h5", fl.run(chip, values), chip, values, detail=0)
    assert fsnn_compare([str(tmp_path / "r.h5")]) == 2
    assert "nothing to compare" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("column", "change", "sentence"),
    [
        ("rows/messages", lambda a: a + 1000 * np.resize([1, -1], a.shape[1]), "a step has fewer than 0 messages"),
        ("rows/cycles", lambda a: a - 1000, "the period of a limit cycle is impossible"),
        ("rows/residual", lambda a: -1 - a, "a residual is negative or not finite"),
    ],
)
def test_rows_that_are_impossible_are_found_beyond_the_detail(tmp_path, capsys, column, change, sentence):
    chip = as_delta(dense_network(3, size=6))
    values = np.random.default_rng(0).integers(0, 256, (4, 7), dtype=np.uint8)
    results.write_results(tmp_path / "r.h5", fl.run(chip, values, residual=True), chip, values, detail=2)
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        file[column][3] = change(file[column][()])[3]
        kept = json.loads(file.attrs["sha256"])  # what changed it also changed its hash
        file.attrs["sha256"] = json.dumps({**kept, column: hashlib.sha256(file[column][()].tobytes()).hexdigest()})
    assert fsnn_compare([str(tmp_path / "r.h5")]) == 1
    said = " ".join(capsys.readouterr().out.split())
    assert f"the record is inconsistent in 1 places, first in sample 3: {sentence}" in said
