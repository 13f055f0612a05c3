"""Samples of a data set in the shape of the network's input."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.data.dataset import ArraySplit
from fsnn_lava.errors import BadArgument
from fsnn_lava.running.evaluation import fit_evaluation_samples, sample_batches
from tests.helpers.chip_networks import dense_network

CHIP = dense_network(inputs=12)
IMAGES = np.arange(5 * 12, dtype=np.uint8).reshape(5, 3, 2, 2)


def test_images_are_flattened_for_a_dense_network_in_their_own_order():
    np.testing.assert_array_equal(fit_evaluation_samples(CHIP, IMAGES, steps=3), IMAGES.reshape(5, 12))
    events = dense_network(inputs=12, kind="events")
    np.testing.assert_array_equal(fit_evaluation_samples(events, IMAGES.reshape(1, 5, 3, 2, 2), steps=5), IMAGES.reshape(1, 5, 12))


def test_of_longer_recordings_the_first_frames_are_used_and_shorter_ones_are_left_alone():
    events, recording = dense_network(inputs=12, kind="events"), IMAGES.reshape(1, 5, 12)
    np.testing.assert_array_equal(fit_evaluation_samples(events, recording, steps=3), recording[:, :3])
    np.testing.assert_array_equal(fit_evaluation_samples(events, recording, steps=9), recording)  # which the run then refuses


def test_samples_of_another_size_are_refused():
    sentence = r"takes \[B, 12\] \(input kind 'pixels'\), but the samples of the data set have shape \(3, 2, 1\)"
    with pytest.raises(BadArgument, match=sentence):
        fit_evaluation_samples(CHIP, IMAGES[..., :1], steps=3)


def test_batches_cover_the_span_once_and_know_where_they_start():
    split = ArraySplit(IMAGES, np.arange(5))
    found = list(sample_batches(CHIP, split, 1, 5, size=3, steps=3))
    assert [(batch.first, len(batch.values)) for batch in found] == [(1, 3), (4, 1)]
    np.testing.assert_array_equal(np.concatenate([batch.labels for batch in found]), [1, 2, 3, 4])
    np.testing.assert_array_equal(np.concatenate([batch.values for batch in found]), IMAGES[1:].reshape(4, 12))
