"""A file is replaced as a whole or not at all."""

from __future__ import annotations

import errno
import os
import stat

import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.files.atomic import atomic_path, move_atomically


def test_readers_see_the_old_file_until_the_block_ends(tmp_path):
    target = tmp_path / "net.h5"
    target.write_text("old")
    with atomic_path(target) as temporary:
        temporary.write_text("new")
        assert target.read_text() == "old"
        assert temporary.parent == tmp_path  # the same disk: a rename, not a copy
    assert target.read_text() == "new"
    assert [path.name for path in tmp_path.iterdir()] == ["net.h5"]


def test_an_error_in_the_block_leaves_the_old_file_and_nothing_beside_it(tmp_path):
    target = tmp_path / "net.h5"
    target.write_text("old")
    with pytest.raises(TypeError, match="must be str, not int"), atomic_path(target) as temporary:
        temporary.write_text(1)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["net.h5"]


def test_a_disk_error_becomes_a_message_with_the_target(tmp_path):
    with pytest.raises(BadFile, match=r"cannot write .*net\.h5: No space left on device"), atomic_path(tmp_path / "net.h5"):
        raise OSError(28, "No space left on device")
    with (
        pytest.raises(BadFile, match=r"cannot write .*nowhere/net\.h5: No such file or directory"),
        atomic_path(tmp_path / "nowhere/net.h5"),
    ):
        pass
    assert not list(tmp_path.iterdir())


def test_a_new_file_has_the_permissions_of_any_other(tmp_path):
    """mkstemp makes files that only their owner reads."""
    before = os.umask(0o027)
    try:
        with atomic_path(tmp_path / "net.h5") as temporary:
            temporary.write_text("new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "net.h5").stat().st_mode) == 0o640


def test_a_move_replaces_its_target_and_a_failed_one_is_reported(tmp_path):
    made, target = tmp_path / "made", tmp_path / "target"
    made.write_text("new")
    target.write_text("old")
    move_atomically(made, target)
    assert target.read_text() == "new" and not made.exists()
    with pytest.raises(BadFile, match=r"cannot write .*target: No such file or directory"):
        move_atomically(made, target)
    assert target.read_text() == "new"


def test_a_failure_inside_the_block_names_the_file_and_not_the_temporary_one(tmp_path):
    path = tmp_path / "net.h5"
    with pytest.raises(BadFile, match=rf"^cannot write {path}: No space left on device$"), atomic_path(path) as outer, atomic_path(outer):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []
