"""tonic's data sets by name, with files in tonic's own layout; nothing is downloaded."""

from __future__ import annotations

import numpy as np
import pytest
import tonic

from fsnn_lava.data import load
from fsnn_lava.data.names import TONIC_SETS
from fsnn_lava.errors import BadArgument, BadData, Remark
from tests.helpers.event_data import write_caltech, write_dvs_gesture, write_nmnist, write_shd


def test_every_name_is_one_of_tonics():
    assert set(TONIC_SETS) <= set(tonic.datasets.__all__)


def test_nmnist_by_tonic_is_our_own_reader_of_it(tmp_path):
    write_nmnist(tmp_path)
    data, own = load("tonic:NMNIST,window=3000,frames=30", tmp_path), load("nmnist", tmp_path)
    assert (data.kind, data.shape, data.classes, len(data.train), len(data.test)) == ("events", (2, 34, 34), 10, 6, 6)
    for mine, theirs in ((data.train, own.train), (data.test, own.test)):
        np.testing.assert_array_equal(mine.labels, theirs.labels)
        np.testing.assert_array_equal(mine.batch(slice(None)), theirs.batch(slice(None)))  # recordings start at 0 here
    assert data.class_names[3] == "3 - three"


def test_gestures_are_sorted_and_their_milliseconds_are_microseconds(tmp_path):
    written = write_dvs_gesture(tmp_path)
    data = load("tonic:DVSGesture,window=30000,frames=3,values=counts,size=32", tmp_path)
    assert data.train.shape == (3, 2, 32, 32)
    assert data.train.labels.tolist() == [0, 10, 7, 0, 10, 7]  # by file name
    path = tmp_path / "DVSGesture" / "ibmGestureTrain" / "user01_fluorescent" / "10.npy"
    frames = np.zeros((3, 2, 32, 32), int)
    for x, y, t, p in written[path]:
        frames[t // 30000, p, y // 4, x // 4] += 1
    np.testing.assert_array_equal(data.train[1][0], frames)


def test_spoken_digits_are_vectors_of_700_inputs(tmp_path):
    recordings = write_shd(tmp_path)
    data = load("tonic:SHD,window=100000,frames=12", tmp_path)
    assert (data.shape, data.classes) == ((700,), 10)
    assert data.test.labels.tolist() == [label for _, _, label in recordings]
    times, units, _ = recordings[2]
    since = (times.astype(np.float64) * 1e6).astype(int)
    frames = np.zeros((12, 700), np.uint8)
    frames[(since - since.min()) // 100000, units] = 1
    np.testing.assert_array_equal(data.test[2][0], frames)


def test_a_set_without_a_test_split_gets_a_fixed_one(tmp_path):
    write_caltech(tmp_path)
    with pytest.raises(BadArgument, match=r"differ in size: add the option sensor=WIDTHxHEIGHT"):
        load("tonic:NCALTECH101", tmp_path)
    with pytest.warns(Remark, match="NCALTECH101 has no test split: every 5th recording of a class is a test sample"):
        data = load("tonic:NCALTECH101,sensor=40x30,frames=4", tmp_path)
    assert (data.shape, data.test.labels.tolist(), len(data.train)) == ((2, 30, 40), [0, 0, 1, 1], 8)


def test_frames_are_kept_beside_the_set_unless_told_otherwise(tmp_path):
    write_nmnist(tmp_path)
    first = load("tonic:NMNIST,window=3000", tmp_path).train.batch([0, 1])
    kept = list((tmp_path / "frames" / "NMNIST").iterdir())
    assert len(kept) == 2
    np.testing.assert_array_equal(load("tonic:NMNIST,window=3000", tmp_path).train.batch([0, 1]), first)
    load("tonic:NMNIST,window=4000", tmp_path).train.batch([0])  # other frames, another entry
    load("tonic:NMNIST,window=5000,cache=no", tmp_path).train.batch([0])
    assert len(list((tmp_path / "frames" / "NMNIST").iterdir())) == 3


def test_what_is_missing_or_misspelt_is_reported(tmp_path):
    with pytest.raises(BadData, match=r"tonic:NMNIST was not found in .*NMNIST; download it with --download"):
        load("tonic:NMNIST", tmp_path)
    with pytest.raises(BadArgument, match=r"no data set 'tonic:nmnist'; did you mean tonic:NMNIST\?"):
        load("tonic:nmnist", tmp_path)
    with pytest.raises(BadArgument, match="no data set 'tonic:MVSEC'; use one of ASLDVS"):
        load("tonic:MVSEC", tmp_path)
    with pytest.raises(BadArgument, match="unknown option 'windw'; did you mean 'window'"):
        load("tonic:NMNIST,windw=3", tmp_path)
    (tmp_path / "NMNIST").mkdir()
    (tmp_path / "NMNIST" / "readme").write_text("")
    with pytest.raises(BadData, match="there is no recording in"):
        load("tonic:NMNIST", tmp_path)


def test_a_damaged_recording_is_named(tmp_path):
    path = next(iter(write_dvs_gesture(tmp_path)))
    path.write_bytes(b"not an array")
    with pytest.raises(BadData, match=r"recording \d of DVSGesture in .* cannot be read"):
        load("tonic:DVSGesture", tmp_path).train.batch([0])
