"""N-MNIST: events become frames, and a damaged recording is named."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import BadData
from tests.helpers.data_files import (
    event_bytes,
    write_recording,
)


def write_nmnist(root):
    write_recording(root / "NMNIST/Train/3/00001.bin", [(5, 7, 0, 1), (5, 7, 2999, 1), (33, 0, 3000, 0), (1, 2, 89_999, 1)])
    write_recording(root / "NMNIST/Train/0/00009.bin", [(0, 33, 90_000, 1), (4, 4, 45_000, 0)])
    write_recording(root / "NMNIST/Test/9/00002.bin", [(8, 9, 6000, 0)])


def test_events_become_frames_of_three_milliseconds(tmp_path):
    write_nmnist(tmp_path)
    data = load("nmnist", tmp_path)
    np.testing.assert_array_equal(data.train.labels, [0, 3])
    assert (data.kind, data.shape, data.test.shape, len(data.test)) == ("events", (2, 34, 34), (30, 2, 34, 34), 1)
    frames = data.train.batch([1, 0])
    # [sample, t, p, y, x]: two events of a pixel in one frame are one spike; t = 90 ms lies behind the last frame
    np.testing.assert_array_equal(np.argwhere(frames), [[0, 0, 1, 7, 5], [0, 1, 0, 0, 33], [0, 29, 1, 2, 1], [1, 15, 0, 4, 4]])
    assert (frames.dtype, frames.max()) == (np.uint8, 1)
    np.testing.assert_array_equal(data.train.batch(slice(1, None)), frames[:1])


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "whole 5-byte events, .*got 0 bytes"),
        (event_bytes([(1, 2, 3, 1)])[:4], "whole 5-byte events, .*got 4 bytes"),
        (event_bytes([(1, 2, 3, 1), (34, 2, 3, 1)]), "an event is at x = 34, y = 2, outside the 34 x 34 sensor"),
    ],
)
def test_a_damaged_recording_is_named_when_it_is_read(tmp_path, content, sentence):
    write_nmnist(tmp_path)
    (tmp_path / "NMNIST/Test/9/00002.bin").write_bytes(content)
    with pytest.raises(BadData, match=rf"00002\.bin is damaged: .*{sentence}"):
        load("nmnist", tmp_path).test.batch([0])


def test_a_split_without_recordings_is_named(tmp_path):
    write_recording(tmp_path / "NMNIST/Train/3/00001.bin", [(5, 7, 0, 1)])
    with pytest.raises(BadData, match=r"no recording .*NMNIST/Test/DIGIT/\*\.bin"):
        load("nmnist", tmp_path)
