"""Folders of recordings, one per class, converted to frames on demand."""

from __future__ import annotations

from importlib.util import find_spec

import numpy as np
import pytest

from fsnn_lava.data import event_folder, load
from fsnn_lava.data.event_files import EVENT
from fsnn_lava.errors import BadArgument, BadData
from tests.helpers.event_data import dat_bytes, random_events

needs_faery = pytest.mark.skipif(find_spec("faery") is None, reason="faery is not installed: pip install fsnn-lava[events]")


def write(folder, *, header: bool = True):
    for part in ("train", "test"):
        for seed, name in enumerate(("wave", "clap")):
            path = folder / part / name / "0.dat"
            path.parent.mkdir(parents=True)
            content = dat_bytes(random_events(seed, side=32), width=34, height=32)
            path.write_bytes(content if header else content[content.index(b"% Height 32\n") + 12 :])


@needs_faery
def test_recordings_are_frames_and_their_folder_is_their_class(tmp_path, monkeypatch):
    monkeypatch.setenv("FSNN_DATA", str(tmp_path / "cache"))
    write(tmp_path / "gestures")
    data = load(f"{tmp_path}/gestures,frames=9,window=10000,values=counts")
    assert (data.kind, data.shape, data.class_names, data.train.labels.tolist()) == ("events", (2, 32, 34), ("clap", "wave"), [0, 1])
    frames = np.zeros((9, 2, 32, 34), int)
    for x, y, t, p in random_events(1, side=32):
        frames[t // 10000, p, y, x] += 1
    np.testing.assert_array_equal(data.train[0][0], frames)
    assert len(list((tmp_path / "cache" / "frames" / "gestures").iterdir())) == 1


@needs_faery
def test_files_that_do_not_say_their_sensor_need_the_option(tmp_path):
    write(tmp_path / "gestures", header=False)
    with pytest.raises(
        BadArgument, match=r"0\.dat does not contain the size of its sensor: specify it, for example --data .*,sensor=640x480"
    ):
        load(f"{tmp_path}/gestures,cache=no")
    assert load(f"{tmp_path}/gestures,cache=no,sensor=34x32").test[1][0].shape == (30, 2, 32, 34)


def test_recordings_of_another_sensor_are_refused_unless_the_sensor_is_given(tmp_path, monkeypatch):
    """A smaller sensor would otherwise fill a corner of the frames."""
    sensors = {"0.es": (64, 48), "1.es": (32, 24)}
    for name in ("a/0.es", "b/0.es", "b/1.es"):
        for part in ("train", "test"):
            path = tmp_path / "cameras" / part / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"made up")
    event = np.array([(3, 2, 0, 1)], EVENT)
    monkeypatch.setattr(event_folder, "read_event_file", lambda path: (event, sensors[path.name]))
    data = load(f"{tmp_path}/cameras,frames=1,cache=no")
    assert data.test.batch([0, 1]).shape == (2, 1, 2, 48, 64)
    with pytest.raises(
        BadData, match=r"1\.es: its sensor has 32 x 24 pixels, but that of the first recording has 64 x 48; all must be equal"
    ):
        data.test.batch([2])
    assert load(f"{tmp_path}/cameras,frames=1,cache=no,sensor=64x48").test.batch([2]).sum() == 1
