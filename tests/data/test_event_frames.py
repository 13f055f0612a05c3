"""Frames of events, compared with tonic's where it supports them, and with frames worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from tonic.transforms import ToFrame

from fsnn_lava.data.event_frames import Framing
from fsnn_lava.data.source import Source
from fsnn_lava.errors import BadData
from tests.helpers.event_data import random_events

SENSOR = (8, 6, 2)
DTYPE = np.dtype([("x", int), ("y", int), ("t", int), ("p", int)])
EVENTS = np.array([(x, y % 6, t, p) for x, y, t, p in random_events(1, side=8, count=300)], DTYPE)


@pytest.mark.parametrize(("ours", "theirs"), [({"window": 7000}, {"time_window": 7000}), ({"events": 25}, {"event_count": 25})])
def test_frames_by_time_and_by_count_are_tonics(ours, theirs):
    frames = ToFrame(sensor_size=SENSOR, include_incomplete=True, **theirs)(EVENTS)
    mine = Framing(sensor=SENSOR, frames=5, values="counts", **ours).draw(EVENTS, where="f")
    np.testing.assert_array_equal(mine, frames[:5])
    binary = Framing(sensor=SENSOR, frames=5, **ours).draw(EVENTS, where="f")
    np.testing.assert_array_equal(binary, frames[:5] > 0)


def test_without_either_the_recording_is_divided_into_equal_times():
    events = np.array([(1, 2, 500, 0), (3, 4, 509, 1), (3, 4, 510, 1), (5, 5, 519, 1)], DTYPE)
    frames = Framing(sensor=SENSOR, frames=2).draw(events, where="f")
    assert np.argwhere(frames).tolist() == [[0, 0, 2, 1], [0, 1, 4, 3], [1, 1, 4, 3], [1, 1, 5, 5]]


def test_missing_frames_are_empty_and_the_order_of_the_file_does_not_matter():
    framing = Framing(sensor=SENSOR, frames=50, window=7000, values="counts")
    frames = framing.draw(EVENTS, where="f")
    assert frames.shape == (50, 2, 6, 8) and not frames[14:].any()
    np.testing.assert_array_equal(framing.draw(EVENTS[::-1], where="f"), frames)
    assert not framing.draw(EVENTS[:0], where="f").any()


def test_a_smaller_size_adds_pixels_up_and_a_count_stops_at_255():
    small = Framing(sensor=SENSOR, frames=1, size=(4, 3), values="counts").draw(EVENTS, where="f")
    full = Framing(sensor=SENSOR, frames=1, values="counts").draw(EVENTS, where="f")
    np.testing.assert_array_equal(small[0], full[0].reshape(2, 3, 2, 4, 2).sum(axis=(2, 4)))
    hot = np.repeat(np.array([(0, 0, 5, 1)], DTYPE), 300)
    assert Framing(sensor=SENSOR, frames=1, values="counts").draw(hot, where="f").max() == 255


def test_one_row_without_polarities_is_a_vector_per_frame():
    spikes = np.array([(3, 0, 1), (5, 9, 1)], np.dtype([("x", int), ("t", int), ("p", int)]))
    frames = Framing(sensor=(7, 1, 1), frames=2, window=5).draw(spikes, where="f")
    assert frames.shape == (2, 7) and np.argwhere(frames).tolist() == [[0, 3], [1, 5]]


def test_what_cannot_be_framed_is_refused():
    with pytest.raises(BadData, match="f: an event is at x = 8, y = 0, outside the sensor of 8 x 6 pixels"):
        Framing(sensor=SENSOR).draw(np.array([(0, 0, 0, 0), (8, 0, 1, 0)], DTYPE), where="f")
    with pytest.raises(BadData, match="give window=3 or events=4, not both"):
        Framing.of(Source("a", {"window": "3", "events": "4"}), SENSOR)
    with pytest.raises(BadData, match="size 9 x 6 is larger than the sensor, 8 x 6"):
        Framing(sensor=SENSOR, size=(9, 6))
