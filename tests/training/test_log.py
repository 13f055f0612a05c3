"""The log of a training run."""

from __future__ import annotations

import json

import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.training.log import read_log
from tests.training.test_loop import run, small


def test_a_log_that_cannot_be_read_is_a_sentence(tmp_path):
    with pytest.raises(BadFile, match="cannot read the log"):
        read_log(tmp_path)
    (tmp_path / "log.jsonl").write_text("{")
    with pytest.raises(BadFile, match="every line must be JSON"):
        read_log(tmp_path)


def test_the_log_is_one_json_object_per_line(tmp_path):
    run(small(epochs=2), tmp_path / "run")
    lines = (tmp_path / "run/log.jsonl").read_text().splitlines()
    assert [json.loads(line)["learning_rate"] for line in lines] == [0.05, 0.05]
