"""The frame cache: frames are computed once, and again if they are missing or damaged."""

from __future__ import annotations

import os
import zlib

import numpy as np
import pytest

from fsnn_lava.data.frame_cache import FrameCache
from fsnn_lava.errors import Remark

FRAMES = np.random.default_rng(0).integers(0, 256, (3, 2, 4), np.uint8)


def test_frames_are_made_once_per_key(tmp_path):
    made = []
    cache = FrameCache(tmp_path / "frames", FRAMES.shape)
    for key in ("a", "a", "b", "a"):
        np.testing.assert_array_equal(cache.get(key, lambda key=key: made.append(key) or FRAMES), FRAMES)
    assert made == ["a", "b"]
    cache.get("a", lambda: FRAMES)[:] = 0  # a copy
    np.testing.assert_array_equal(cache.get("a", lambda: FRAMES), FRAMES)


@pytest.mark.parametrize(
    "content", [b"", b"no zlib", zlib.compress(FRAMES.tobytes())[:-3], zlib.compress(bytes(25)), zlib.compress(bytes(2**20))]
)
def test_a_damaged_entry_is_made_again(tmp_path, content):
    cache = FrameCache(tmp_path, FRAMES.shape)
    cache.get("a", lambda: FRAMES)
    (kept,) = tmp_path.iterdir()
    kept.write_bytes(content)
    np.testing.assert_array_equal(cache.get("a", lambda: FRAMES), FRAMES)
    assert zlib.decompress(kept.read_bytes()) == FRAMES.tobytes()


@pytest.mark.skipif(os.geteuid() == 0 and not os.path.exists("/proc/version"), reason="needs a place that cannot be written to")
def test_a_folder_that_cannot_be_written_to_is_reported_and_does_not_stop(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.warns(Remark, match="frames cannot be cached in .*cache=no"):
        found = FrameCache(tmp_path / "file" / "frames", FRAMES.shape).get("a", lambda: FRAMES)
    np.testing.assert_array_equal(found, FRAMES)
