"""Samples to tune on: of the training set, disjoint from those of the calibration."""

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.data.dataset import ArraySplit
from fsnn_lava.errors import BadArgument
from fsnn_lava.training.recipe import parse_recipe
from fsnn_lava.training.samples import load_samples
from fsnn_lava.tuning.held_out import CALIBRATION_SAMPLES, hold_out


def network(**metrics):
    net = fl.FSNN("4 (F4)", input_shape=(1, 8, 8), classes=10)
    net.metrics = metrics
    return net


def numbered(count):
    """Samples that say which they are."""
    values = np.zeros((count, 1, 8, 8), np.uint8)
    values[:, 0, 0, 0], values[:, 0, 0, 1] = np.arange(count) % 256, np.arange(count) // 256
    return ArraySplit(values, np.arange(count))


def numbers(values):
    wide = values.astype(int)
    return set((wide[:, 0, 0, 0] + 256 * wide[:, 0, 0, 1]).tolist())


def test_without_a_validation_split_they_are_drawn_by_the_seed():
    split = numbered(600)
    one, again, other = (hold_out(split, network(), samples=200, seed=seed) for seed in (3, 3, 4))
    assert np.array_equal(one.labels, again.labels) and not np.array_equal(one.labels, other.labels)
    assert numbers(one.values) == set(one.labels.tolist()) and not numbers(one.values) & numbers(one.calibration)
    assert (len(one.labels), len(one.calibration), one.unseen) == (200, CALIBRATION_SAMPLES, False)
    assert "which it was trained on" in one.sentence
    assert len(hold_out(split, network(), samples=None, seed=0).labels) == 600 - CALIBRATION_SAMPLES


def test_with_one_they_are_those_that_training_held_out():
    recipe = parse_recipe({"data": "digits", "architecture": "4 (F4)", "neuron": "if", "steps": 3, "epochs": 1, "validation": 300})
    data, whole = load_samples(recipe), load_samples(parse_recipe({**_keys(recipe), "validation": 0})).train
    held = hold_out(whole, network(validation=300.0), samples=None, seed=7)
    assert np.array_equal(held.values, data.validation.batch(slice(0, 300))) and np.array_equal(held.labels, data.validation.labels)
    assert held.unseen and "300 training samples, which training held out" in held.sentence


def _keys(recipe):
    return {name: getattr(recipe, name) for name in ("data", "architecture", "neuron", "steps", "epochs")}


@pytest.mark.parametrize("samples", [0, 501])
def test_more_than_there_are_is_refused(samples):
    with pytest.raises(BadArgument, match="--samples must be between 1 and 472, the number of available training samples"):
        hold_out(numbered(600), network(), samples=samples, seed=0)
