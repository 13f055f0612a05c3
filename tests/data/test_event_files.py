"""Event camera files: what was written is read, damage gives a message, and a missing reader is named."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.data.event_files import ENDINGS, read_event_file
from fsnn_lava.errors import BadData, PackageMissing
from tests.helpers.event_data import dat_bytes, random_events

EVENTS = random_events(3, side=32, count=200)


def test_without_the_reader_one_sentence_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "faery", None)
    (tmp_path / "a.aedat4").write_bytes(b"x")
    with pytest.raises(PackageMissing, match=r"\.aedat4 files need the package faery .*pip install fsnn-lava\[events\]") as caught:
        read_event_file(tmp_path / "a.aedat4")
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("ending", ENDINGS)
def test_events_are_read_as_they_were_written(tmp_path, ending):
    faery = pytest.importorskip("faery", reason="faery is not installed: pip install fsnn-lava[events]")
    path, written = tmp_path / f"a{ending}", np.zeros(len(EVENTS), faery.EVENTS_DTYPE)
    for name, column in (("x", 0), ("y", 1), ("t", 2), ("on", 3)):
        written[name] = [event[column] for event in EVENTS]
    faery.events_stream_from_array(written, (32, 33)).to_file(str(path))
    events, sensor = read_event_file(path)
    assert sensor == (32, 33)
    assert [tuple(map(int, (e["x"], e["y"], e["t"] - events["t"][0], e["p"]))) for e in events] == EVENTS


def test_a_file_written_by_hand_is_read(tmp_path):
    pytest.importorskip("faery", reason="faery is not installed: pip install fsnn-lava[events]")
    path = tmp_path / "a.dat"
    path.write_bytes(dat_bytes(EVENTS, width=40, height=36))
    events, sensor = read_event_file(path)
    assert sensor == (40, 36)
    assert [tuple(map(int, event)) for event in events] == EVENTS


def test_damaged_and_empty_files_are_refused(tmp_path):
    pytest.importorskip("faery", reason="faery is not installed: pip install fsnn-lava[events]")
    for ending in ENDINGS:
        path = tmp_path / f"a{ending}"
        path.write_bytes(b"")
        with pytest.raises(BadData, match="must be 1 to"):
            read_event_file(path)
        path.write_bytes(b"% evt 3.0\n% end\n" if ending == ".raw" else b"something else")
        with pytest.raises(BadData, match=r"contains no events|is damaged or not a recording"):
            read_event_file(path)


RECORDINGS = os.environ.get("FSNN_RECORDINGS")  # tests/data of faery's source distribution


@pytest.mark.skipif(
    RECORDINGS is None, reason="no recordings: unpack faery's source distribution, and set FSNN_RECORDINGS to its tests/data"
)
def test_real_recordings_of_every_kind_are_read():
    """A listing in text and a recording in two formats show that the decoded events are right; the reader decodes neither itself."""
    pytest.importorskip("faery", reason="faery is not installed: pip install fsnn-lava[events]")
    folder = Path(str(RECORDINGS))
    listed = np.loadtxt(folder / "dvs.csv", delimiter=",", skiprows=1, dtype=np.int64)
    events, sensor = read_event_file(folder / "dvs.es")
    assert sensor == (320, 240)
    np.testing.assert_array_equal(np.stack([events[name] for name in "txyp"], axis=1), listed)
    (raw, raw_sensor), (dat, dat_sensor) = (read_event_file(folder / name) for name in ("evt3.raw", "gen4.dat"))
    assert raw_sensor == dat_sensor == (1280, 720)
    for name in "xyp":
        np.testing.assert_array_equal(raw[name], dat[name])
    np.testing.assert_array_equal(raw["t"] - raw["t"][0], dat["t"] - dat["t"][0])
    camera, sensor = read_event_file(folder / "davis346.aedat4")
    assert (len(camera), sensor) == (78_830, (346, 260))
    assert camera["x"].max() < 346 and camera["y"].max() < 260 and (np.diff(camera["t"]) >= 0).all()
    older, sensor = read_event_file(folder / "evt2.raw")
    assert (len(older), sensor) == (521_252, None)
    with pytest.raises(BadData, match="contains no event tracks"):
        read_event_file(folder / "test_data_gray16.aedat4")
