"""The log of a training run."""

from __future__ import annotations

import dataclasses
import json

import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.training.log import EpochRecord, append_record, read_log, rewrite_records
from fsnn_lava.training.progress import TrainingProgress
from tests.training.test_loop import run, small


def test_a_log_that_cannot_be_read_is_reported(tmp_path):
    with pytest.raises(BadFile, match="cannot read the log"):
        read_log(tmp_path)
    (tmp_path / "log.jsonl").write_text("{")
    with pytest.raises(BadFile, match="every line must be JSON"):
        read_log(tmp_path)


def test_the_log_is_one_json_object_per_line(tmp_path):
    run(small(epochs=2), tmp_path / "run")
    lines = (tmp_path / "run/log.jsonl").read_text().splitlines()
    assert [json.loads(line)["learning_rate"] for line in lines] == [0.05, 0.05]


RECORD = EpochRecord(
    epoch=3, loss=0.5, train_accuracy=0.75, test_accuracy=0.5, firing_rates=[0.125, 0.0625], equilibrium_residual=0.25, solver_steps=2.5,
    solver_residual=0.001, alpha=-0.5, learning_rate=0.05, seconds=1.25,
)  # fmt: skip


def test_an_epoch_is_judged_on_validation_samples_where_there_are_some():
    held_out = dataclasses.replace(RECORD, test_accuracy=None, validation_accuracy=0.25)
    assert [(one.judged_by, one.accuracy) for one in (RECORD, held_out)] == [("test", 0.5), ("validation", 0.25)]


def test_records_are_appended_and_replaced_whole(tmp_path):
    path = tmp_path / "log.jsonl"
    for number in (1, 2, 3):
        append_record(path, {"epoch": number})
    rewrite_records(path, read_log(tmp_path)[:2])
    assert path.read_text() == '{"epoch": 1}\n{"epoch": 2}\n'
    with pytest.raises(BadFile, match=r"cannot write .*none/log\.jsonl: No such file"):
        append_record(tmp_path / "none/log.jsonl", {})


def test_a_watcher_that_fails_is_noted_and_the_others_still_see_the_epoch(capsys):
    seen = []

    def fails(records):
        raise BadFile("no room for curves.png")

    TrainingProgress(watchers=(fails, seen.append)).show([{"epoch": 1}])
    assert seen == [[{"epoch": 1}]]
    assert capsys.readouterr().err == "note: no room for curves.png\n"
    TrainingProgress(quiet=True, watchers=(fails,)).show([])
    assert capsys.readouterr().err == ""
