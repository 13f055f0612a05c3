"""CIFAR in both layouts: what is written is what is read, and a damaged file is named."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import BadData
from tests.helpers.data_files import (
    cifar10_batches,
    random_images,
    write_cifar10,
)


def check_cifar10(data, batches):
    train = np.concatenate([images for name, (images, _) in batches.items() if name != "test_batch"])
    np.testing.assert_array_equal(data.train.batch(slice(None)).reshape(20, 3072), train)
    np.testing.assert_array_equal(data.test.batch([3])[0, 1, 2, 5], batches["test_batch"][0][3, 1024 + 2 * 32 + 5])
    np.testing.assert_array_equal(data.train.labels[:8], [0, 9, 0, 1, 1, 9, 0, 2])
    assert (data.shape, data.classes, data.augment) == ((3, 32, 32), 10, "crop-flip")


def test_cifar10_is_read_from_the_binary_layout(tmp_path):
    batches = write_cifar10(tmp_path)
    check_cifar10(load("cifar10", tmp_path), batches)


@pytest.mark.parametrize("protocol", [2, 3, 4])
@pytest.mark.parametrize("key", [str, str.encode])
def test_cifar10_is_read_from_the_python_layout(tmp_path, protocol, key):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    batches = cifar10_batches()
    for name, (images, labels) in batches.items():
        content = {key("batch_label"): key(name), key("labels"): labels, key("data"): images, key("filenames"): [key("a.png")] * 4}
        (folder / name).write_bytes(pickle.dumps(content, protocol))
    check_cifar10(load("cifar10", tmp_path), batches)


def test_cifar100_takes_the_fine_label_from_either_layout(tmp_path):
    images = random_images(3, 3072)
    binary, python = tmp_path / "b/cifar-100-binary", tmp_path / "p/cifar-100-python"
    for folder in (binary, python):
        folder.mkdir(parents=True)
    for name in ("train", "test"):
        np.concatenate([np.array([[7, 99], [8, 0], [9, 50]], np.uint8), images], axis=1).tofile(binary / f"{name}.bin")
        (python / name).write_bytes(pickle.dumps({"data": images, "coarse_labels": [7, 8, 9], "fine_labels": [99, 0, 50]}, 2))
    for root in (tmp_path / "b", tmp_path / "p"):
        data = load("cifar100", root)
        np.testing.assert_array_equal(data.train.labels, [99, 0, 50])
        np.testing.assert_array_equal(data.test.batch([1]).reshape(-1), images[1])
        assert (data.classes, data.class_names[50], data.class_names[99]) == (100, "mouse", "worm")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "records of 3073 bytes, got 0 bytes"),
        (bytes(3072), "records of 3073 bytes, got 3072 bytes"),
        (b"\x0a" + bytes(3072), "got 10"),
    ],
)
def test_a_damaged_binary_batch_is_named(tmp_path, content, sentence):
    write_cifar10(tmp_path)
    (tmp_path / "cifar-10-batches-bin/data_batch_3.bin").write_bytes(content)
    with pytest.raises(BadData, match=rf"data_batch_3\.bin is damaged: .*{sentence}"):
        load("cifar10", tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ([1, 2], "its contents must be a dict"),
        ({"labels": [1]}, "the entry 'data' is missing"),
        ({"data": [1], "labels": [1]}, "a Call is missing"),
        ({"data": random_images(1, 3071), "labels": [1]}, r"its images must have shape \[N, 3072\], got \[1, 3071\]"),
        ({"data": random_images(1, 3072), "labels": [1, 2]}, "its labels must be 1 integers from 0 to 255"),
        ({"data": random_images(1, 3072), "labels": ["a"]}, "its labels must be 1 integers from 0 to 255"),
        ({"data": random_images(1, 3072).astype(np.float32), "labels": [1]}, "an array must contain unsigned bytes"),
    ],
)
def test_a_python_batch_with_something_else_in_it_is_named(tmp_path, content, sentence):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name in cifar10_batches():
        (folder / name).write_bytes(pickle.dumps(content, 2))
    with pytest.raises(BadData, match=rf"data_batch_1 is damaged: .*{sentence}"):
        load("cifar10", tmp_path)
