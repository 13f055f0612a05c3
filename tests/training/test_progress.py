"""The progress of a training run: watchers get every epoch."""

from __future__ import annotations

from fsnn_lava.errors import BadFile
from fsnn_lava.training.progress import TrainingProgress


def test_a_watcher_that_fails_is_noted_and_the_others_still_see_the_epoch(capsys):
    seen = []

    def fails(records):
        raise BadFile("no room for curves.png")

    TrainingProgress(watchers=(fails, seen.append)).show([{"epoch": 1}])
    assert seen == [[{"epoch": 1}]]
    assert capsys.readouterr().err == "note: no room for curves.png\n"
    TrainingProgress(quiet=True, watchers=(fails,)).show([])
    assert capsys.readouterr().err == ""
