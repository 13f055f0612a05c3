"""The journal of a search: what is kept, what is refused, and a line that was being written when the search was killed."""

import pytest

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.tuning.journal import TuningJournal
from tests.tuning.test_choice import trial

IDENTITY = {"model": "abc", "samples": 10, "candidates": [{"bits": 8}]}


def test_finished_trials_are_kept_until_the_search_is_done(tmp_path):
    path = tmp_path / "net.h5.tuning"
    journal = TuningJournal(path, IDENTITY)
    assert journal.open(resume=False) == []
    made = [trial(4), trial(8, energy=None, answer="cannot run"), trial(2, failure="too large")]
    for one in made:
        journal.add(one)
    assert TuningJournal(path, IDENTITY).open(resume=True) == made
    with pytest.raises(BadArgument, match="contains an unfinished search; continue it with --resume, or delete it"):
        TuningJournal(path, IDENTITY).open(resume=False)
    with pytest.raises(BadArgument, match="belongs to another search: samples differ"):
        TuningJournal(path, {**IDENTITY, "samples": 11}).open(resume=True)
    journal.close()
    assert not path.exists()


def test_a_torn_line_is_cut_off_and_the_next_one_follows_whole(tmp_path):
    path = tmp_path / "net.h5.tuning"
    journal = TuningJournal(path, IDENTITY)
    journal.open(resume=False)
    journal.add(trial(4))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"candidate": {"enc')
    assert journal.open(resume=True) == [trial(4)]
    assert path.read_bytes() == whole
    journal.add(trial(8))
    assert journal.open(resume=True) == [trial(4), trial(8)]


@pytest.mark.parametrize("text", ["{}\n[1]\n", '{}\n{"candidate": 3}\n', "nothing\n", "[]\n", "\xff\n", "[" * 100_000 + "\n", "{}\nnull\n"])
def test_a_damaged_journal_is_refused(tmp_path, text):
    path = tmp_path / "net.h5.tuning"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(BadFile, match=r"is damaged: .*; delete it to start again"):
        TuningJournal(path, {}).open(resume=True)
