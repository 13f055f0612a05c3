"""results.h5: what was written is read back, damaged files are refused with a message, and nothing is left half-written."""

from __future__ import annotations

import hashlib
from pathlib import Path

import h5py
import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.formats import results
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from tests.helpers.naive_delta import random_delta_network
from tests.helpers.naive_simulator import assert_same
from tests.helpers.strategies import random_network, random_values

Run = tuple[ChipNetwork, np.ndarray, np.ndarray, Result]


def a_run(seed: int = 0, *, samples: int = 7, kind: str = "pixels", decay: int | None = None, spikes: bool = True) -> Run:
    rng = np.random.default_rng(seed)
    chip = random_network(rng, kind=kind, layers=3, decay=decay, feedback=True)
    values = random_values(rng, chip, samples)
    return chip, values, rng.integers(0, chip.readout.classes, samples), fl.run(chip, values, spikes=spikes)


@pytest.mark.parametrize("kind", ["pixels", "events", "current"])
@pytest.mark.parametrize("decay", [0, 205])
@pytest.mark.parametrize("spikes", [True, False])
def test_a_run_written_is_the_run_read_back(tmp_path: Path, kind: str, decay: int, spikes: bool) -> None:
    chip, values, labels, result = a_run(1, kind=kind, decay=decay, spikes=spikes)
    path = tmp_path / "results.h5"
    results.write_results(path, result, chip, values, labels=labels, data="seven", command="fsnn-run x")
    found = results.read_results(path)
    assert_same(found.result, result)
    assert (found.result.spikes is None) == (not spikes)
    assert found.chip.digest() == chip.digest() == found.provenance.digest
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.labels, labels)
    np.testing.assert_array_equal(found.rows["predictions"], result.predictions)
    np.testing.assert_array_equal(found.rows["logits"], result.logits)
    np.testing.assert_array_equal(found.rows["layer_spikes"].sum(axis=1), sum(c.reshape(7, -1).sum(axis=1) for c in result.counts))
    assert (found.provenance.data, found.provenance.command, found.provenance.backend) == ("seven", "fsnn-run x", "emu")
    parts = hashlib.sha256(values.tobytes()).digest() + hashlib.sha256(labels.astype(np.int64).tobytes()).digest()
    assert found.provenance.data_sha256 == hashlib.sha256(parts).hexdigest()
    assert {"fsnn-lava", "python", "numpy"} <= set(found.provenance.versions)


@pytest.mark.parametrize("spikes", [True, False])
def test_a_run_with_delta_encoding_is_read_back_with_its_messages(tmp_path: Path, spikes: bool) -> None:
    rng = np.random.default_rng(5)
    chip = random_delta_network(rng, layers=3)
    values = random_values(rng, chip, 7)
    result = fl.run(chip, values, spikes=spikes)
    results.write_results(tmp_path / "results.h5", result, chip, values)
    found = results.read_results(tmp_path / "results.h5")
    assert_same(found.result, result)
    assert any((late < 0).any() for late in result.late), "changes under way have a sign"
    np.testing.assert_array_equal(found.result.rates[0], result.rates[0])
    np.testing.assert_array_equal(found.rows["logits"], result.logits)
    np.testing.assert_array_equal(found.rows["messages"], result.messages)


def test_batches_append_and_only_the_first_samples_are_kept_in_detail(tmp_path: Path) -> None:
    chip, values, labels, result = a_run(2, samples=11)
    path = tmp_path / "results.h5"
    with results.writing_results(path, chip, steps=result.steps, detail=6, spikes=True) as writer:
        for start in range(0, 11, 4):
            rows = slice(start, start + 4)
            writer.add(result.part(rows), values[rows], labels[rows])
        assert not path.exists()
    found = results.read_results(path)
    assert found.samples == 11
    assert_same(found.result, result.part(slice(0, 6)))
    np.testing.assert_array_equal(found.rows["readout"], result.readout)
    np.testing.assert_array_equal(found.rows["labels"], labels)
    with results.reading_results(path) as reader:
        assert_same(reader.detail(2, 5), result.part(slice(2, 5)))
        np.testing.assert_array_equal(reader.values(2, 5), values[2:5])


def test_without_labels_they_are_unknown(tmp_path: Path) -> None:
    chip, values, _, result = a_run(3)
    results.write_results(tmp_path / "r.h5", result, chip, values)
    found = results.read_results(tmp_path / "r.h5")
    assert found.labels is None
    assert (found.rows["labels"] == -1).all()


def test_a_run_that_is_aborted_leaves_the_old_file(tmp_path: Path) -> None:
    chip, values, labels, result = a_run(4)
    path = tmp_path / "results.h5"
    results.write_results(path, result, chip, values, labels=labels)
    before = path.read_bytes()

    def stop_halfway() -> None:
        with results.writing_results(path, chip, steps=result.steps, spikes=True) as writer:
            writer.add(result, values, labels)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop_halfway()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["results.h5"]


def test_two_runs_do_not_share_a_file(tmp_path: Path) -> None:
    chip, values, labels, result = a_run(5)
    with (
        pytest.raises(BadArgument, match="every batch of a results file must have the same"),
        results.writing_results(tmp_path / "r.h5", chip, steps=result.steps + 1) as writer,
    ):
        writer.add(result, values, labels)
    with pytest.raises(BadArgument, match="no samples were run"), results.writing_results(tmp_path / "r.h5", chip, steps=3):
        pass
    with (
        pytest.raises(BadArgument, match="a batch of 7 results needs the same number of values"),
        results.writing_results(tmp_path / "r.h5", chip, steps=result.steps) as writer,
    ):
        writer.add(result, values[:3])
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    chip, values, _, result = a_run(6)
    with pytest.raises(BadFile, match=r"cannot write .*nowhere.*results.h5"):
        results.write_results(tmp_path / "nowhere" / "results.h5", result, chip, values)


@pytest.mark.parametrize(
    ("name", "harm", "sentence"),
    [
        ("no mark", lambda f: f.attrs.__delitem__("fsnn_results"), "not a results file"),
        ("unknown graph", lambda f: f.attrs.modify("graph", "other"), "a run of the graph 'other', which this release does not know"),
        ("no time", lambda f: f.attrs.modify("seconds", np.nan), "'seconds' must be a non-negative number, got nan"),
        ("newer", lambda f: f.attrs.modify("fsnn_results", 99), "format 99, but this release reads format 1"),
        ("more samples", lambda f: f.attrs.modify("samples", 10**9), "must be int64 \\(1000000000,\\)"),
        ("no steps", lambda f: f.attrs.modify("steps", 0), "are inconsistent"),
        ("other steps", lambda f: f.attrs.modify("steps", 70000), "are inconsistent"),
        ("lost column", lambda f: f.__delitem__("rows/readout"), "'readout' is missing"),
        (
            "other type",
            lambda f: (f.__delitem__("rows/readout"), f.create_dataset("rows/readout", data=np.zeros((7, 2)))),
            "'readout' must be int32",
        ),
        (
            "link",
            lambda f: (f.__delitem__("rows/labels"), f.__setitem__("rows/labels", h5py.ExternalLink("/etc/passwd", "/"))),
            "links are not followed",
        ),
        ("no network", lambda f: f.__delitem__("network"), "'network' is missing"),
        ("broken network", lambda f: f["network"].__setitem__(slice(0, 64), 0), "the network in the file is damaged"),
        ("other network", lambda f: f.attrs.modify("digest", "0" * 64), "but the run used 000000000000"),
        ("versions", lambda f: f.attrs.modify("versions", "{"), "must be JSON"),
        ("group", lambda f: (f.__delitem__("detail/values"), f.create_group("detail/values")), "'values' must be an array"),
    ],
)
def test_a_damaged_file_is_refused_with_a_message(tmp_path: Path, name: str, harm: object, sentence: str) -> None:
    chip, values, labels, result = a_run(7)
    path = tmp_path / "results.h5"
    results.write_results(path, result, chip, values, labels=labels)
    with h5py.File(path, "r+") as file:
        harm(file)  # type: ignore[operator]
    with pytest.raises(BadFile, match=sentence):
        results.read_results(path)


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="does not exist"):
        results.read_results(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("hello")
    with pytest.raises(BadFile, match="not an HDF5 file"):
        results.read_results(tmp_path / "text.h5")
    chip, values, _, result = a_run(8)
    results.write_results(tmp_path / "cut.h5", result, chip, values)
    (tmp_path / "cut.h5").write_bytes((tmp_path / "cut.h5").read_bytes()[:3000])
    with pytest.raises(BadFile, match="damaged"):
        results.read_results(tmp_path / "cut.h5")
    chip.save(tmp_path / "net.h5")
    with pytest.raises(BadFile, match="not a results file"):
        results.read_results(tmp_path / "net.h5")


def test_the_default_detail_is_bounded_by_memory() -> None:
    chip, *_ = a_run(9)
    assert results.default_results_detail(chip, 4, spikes=False) == results.DETAIL
    assert 1 <= results.default_results_detail(chip, 65535, spikes=True) < results.DETAIL
