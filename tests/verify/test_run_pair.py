"""Two runs side by side: counted by hand, told apart from chance, refused where they answer different questions."""

from __future__ import annotations

import json
import re
from pathlib import Path

import h5py
import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.cli.compare import fsnn_compare
from fsnn_lava.formats.results import reading_results, write_results
from fsnn_lava.verify.run_pair import RunPair, common_samples, mcnemar, run_names
from fsnn_lava.verify.verdict import Verdict
from tests.helpers.chip_networks import dense_network


def values_of(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (9, 7), dtype=np.uint8)


def written(path: Path, *, seed: int = 3, samples: int = 9, values_seed: int = 0, steps: int = 12, detail: int | None = None) -> Path:
    chip = dense_network(seed, size=6)
    values = values_of(values_seed)[:samples]
    labels = np.arange(9)[:samples] % chip.readout.classes
    write_results(path, fl.run(chip, values, steps=steps), chip, values, labels=labels, detail=detail)
    return path


def compared(first: Path, second: Path, capsys: pytest.CaptureFixture[str], *options: str) -> dict:
    assert fsnn_compare([str(first), str(second), "--json", "--equilibria", "1", *options]) == 0
    return json.loads(capsys.readouterr().out)


def test_answers_are_counted_sample_by_sample(tmp_path, capsys):
    first, second = written(tmp_path / "a.h5"), written(tmp_path / "b.h5", steps=1)
    found = compared(first, second, capsys)
    runs = [fl.run(dense_network(3, size=6), values_of(0), steps=n) for n in (12, 1)]
    a, b = (run.predictions for run in runs)
    labels = np.arange(9) % runs[0].logits.shape[1]
    assert (found["samples"], found["labelled"], found["agreeing"]) == (9, 9, int((a == b).sum()))
    assert found["both_right"] == int(((a == labels) & (b == labels)).sum())
    assert found["only_first_right"] == int(((a == labels) & (b != labels)).sum())
    assert found["only_second_right"] == int(((a != labels) & (b == labels)).sum())
    assert [row["sample"] for row in found["different"]] == np.flatnonzero(a != b).tolist()


def test_answers_that_are_only_recorded_are_not_called_verified(tmp_path, capsys):
    files = written(tmp_path / "a.h5", detail=5), written(tmp_path / "b.h5", steps=1)
    assert compared(*files, capsys)["recorded"] == 4
    assert fsnn_compare([*map(str, files), "--equilibria", "1"]) == 0
    assert "For 4 of them, answers are only as recorded, and not verified." in " ".join(capsys.readouterr().out.split())
    assert compared(written(tmp_path / "a.h5"), files[1], capsys)["recorded"] == 0


def test_a_hash_of_the_data_that_was_copied_from_another_run_is_not_believed(tmp_path):
    first, second = written(tmp_path / "a.h5", detail=5), written(tmp_path / "b.h5", detail=5)
    with h5py.File(second, "r+") as file:
        file["rows/labels"][...] = 2 - file["rows/labels"][()]
    with reading_results(first) as a, reading_results(second) as b:
        assert a.provenance.data_sha256 == b.provenance.data_sha256
        assert common_samples(a, b) == 0 and common_samples(a, a) == 9


def judged(found: dict) -> list[int]:
    """How many samples the accuracy of each run counts."""
    return [verdict["accurate"]["samples"] for verdict in found["verdicts"]]


def test_a_shorter_run_is_compared_on_its_own_samples_in_every_number(tmp_path, capsys):
    files = written(tmp_path / "a.h5"), written(tmp_path / "b.h5", samples=4)
    found = compared(*files, capsys)
    assert (found["samples"], judged(found)) == (4, [4, 4])
    assert fsnn_compare([*map(str, files), "--equilibria", "1"]) == 0
    printed = capsys.readouterr().out
    assert re.search(r"^samples +the first 4 of 9 +4$", printed, flags=re.MULTILINE)
    spikes = sum(counts.sum() for counts in fl.run(dense_network(3, size=6), values_of(0)[:4], steps=12).counts) / 4
    assert re.search(rf"^messages per sample +{spikes:,.0f} +{spikes:,.0f}$", printed, flags=re.MULTILINE)


@pytest.mark.parametrize(("values_seed", "samples"), [(0, 3), (1, 0)])
def test_a_limit_holds_for_every_number(tmp_path, capsys, values_seed, samples):
    files = written(tmp_path / "a.h5"), written(tmp_path / "b.h5", values_seed=values_seed)
    found = compared(*files, capsys, "--limit", "3")
    assert (found["samples"], judged(found)) == (samples, [3, 3])
    assert found["agreeing"] <= samples


def test_other_data_are_not_compared_sample_by_sample(tmp_path, capsys):
    found = compared(written(tmp_path / "a.h5"), written(tmp_path / "b.h5", values_seed=1), capsys)
    assert (found["samples"], found["labelled"], found["different"], found["by_chance"]) == (0, 0, [], None)


def test_other_classes_are_refused(tmp_path, capsys):
    other = dense_network(3, size=6, classes=5)
    values = np.zeros((2, 7), np.uint8)
    write_results(tmp_path / "b.h5", fl.run(other, values), other, values)
    assert fsnn_compare([str(written(tmp_path / "a.h5")), str(tmp_path / "b.h5")]) == 2
    assert "they cannot be compared" in capsys.readouterr().err


def pair(first: int, second: int) -> RunPair:
    verdict = Verdict(checks=())
    return RunPair(
        names=("a", "b"),
        verdicts=(verdict, verdict),
        facts=(),
        counted=(100, 100),
        samples=100,
        labelled=100,
        right=(50, first, second, 10),
        agreeing=60,
    )


def test_a_difference_is_called_one_only_if_it_is_unlikely_to_be_chance():
    assert mcnemar(0, 0) == mcnemar(3, 3) == 1.0
    assert mcnemar(5, 0) == pytest.approx(2 / 2**5)
    assert mcnemar(1, 8) == pytest.approx(2 * (1 + 9) / 2**9)
    assert pair(2, 2).sentence().endswith("Both are equally accurate.")
    assert pair(5, 0).sentence().endswith("The difference can be due to chance (p = 0.062).")
    assert pair(1, 8).sentence().endswith("b is more accurate (p = 0.039).")
    assert pair(8, 1).sentence().endswith("a is more accurate (p = 0.039).")


def test_files_of_the_same_name_are_told_apart_by_their_folders():
    assert run_names(Path("a.h5"), Path("b.h5")) == ("a.h5", "b.h5")
    assert run_names(Path("x/r.h5"), Path("y/r.h5")) == ("x/r.h5", "y/r.h5")
    assert run_names(Path("r.h5"), Path("r.h5")) == ("r.h5 (first)", "r.h5 (second)")
