"""The samples of a recipe: a fixed part, and what is held out."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.errors import BadData
from fsnn_lava.training.samples import load_samples, sample_part
from tests.training.test_loop import small


def test_validation_samples_are_never_trained_on_and_the_same_for_every_seed():
    whole, one, other = (
        load_samples(small(train_samples=0, **change)) for change in ({}, {"validation": 150}, {"validation": 150, "seed": 9})
    )
    assert len(one.train) + 150 == len(whole.train)
    everything = {sample.tobytes() for part in (one.train, one.validation) for sample in part.batch(slice(None))}
    assert everything == {sample.tobytes() for sample in whole.train.batch(slice(None))}
    assert not set(one.train.chosen) & set(one.validation.chosen)
    assert (one.validation.chosen == other.validation.chosen).all()
    with pytest.raises(BadData, match="'validation' = 5000 would leave none of the 1433 training samples of digits"):
        load_samples(small(validation=5000))


def test_a_part_of_a_split_is_fixed_and_of_every_kind():
    data = load_samples(small(train_samples=0))
    some = sample_part(data.train, 100)
    assert len(some) == len(some.labels) == 100
    np.testing.assert_array_equal(some.labels, sample_part(data.train, 100).labels)
    assert set(some.labels) == set(range(10))
    index = next(i for i in range(len(data.train)) if np.array_equal(data.train.batch([i]), some.batch([7])))
    assert data.train.labels[index] == some.labels[7]
