"""The folder of a run: claimed once, never overwritten by accident, and cleared of partial files."""

from __future__ import annotations

import pytest

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.training.run_folder import STATE, claim_run_folder


def test_a_folder_is_made_with_its_parents_and_half_files_are_removed(tmp_path):
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)
    for name in (".state.pt.x.part", "kept.part", ".hidden"):
        (folder / name).write_text("")
    with claim_run_folder(folder, resume=False) as claimed:
        assert claimed == folder
        assert sorted(path.name for path in folder.iterdir()) == [".hidden", ".lock", "kept.part"]
    with claim_run_folder(tmp_path / "c/d", resume=False):
        assert (tmp_path / "c/d").is_dir()


def test_a_run_in_the_folder_is_only_resumed(tmp_path):
    (tmp_path / STATE).write_text("a state")
    (tmp_path / ".state.pt.x.part").write_text("")
    with pytest.raises(BadArgument, match="already contains a run; continue it with --resume"), claim_run_folder(tmp_path, resume=False):
        pass
    assert (tmp_path / ".state.pt.x.part").exists()  # a run that is refused removes nothing
    with claim_run_folder(tmp_path, resume=True):
        assert (tmp_path / STATE).read_text() == "a state"


def test_a_folder_that_cannot_be_made_is_reported(tmp_path):
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(BadFile, match=r"cannot write into the folder .*file/run: Not a directory"),
        claim_run_folder(tmp_path / "file/run", resume=False),
    ):
        pass
