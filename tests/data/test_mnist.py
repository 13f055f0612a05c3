"""MNIST and Fashion-MNIST: what is written is what is read; labels fit the images, and a missing file is named."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import BadData
from tests.helpers.data_files import (
    write_idx,
    write_mnist,
)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("name", "folder"), [("mnist", "MNIST/raw"), ("fashion-mnist", "FashionMNIST/raw")])
def test_idx_files_are_read_plain_and_packed(tmp_path, name, folder, suffix):
    written = write_mnist(tmp_path, folder=folder, suffix=suffix)
    data = load(name, tmp_path)
    np.testing.assert_array_equal(data.train.batch(slice(None))[:, 0], written["train-images-idx3-ubyte"])
    np.testing.assert_array_equal(data.test.batch([4, 1])[:, 0], written["t10k-images-idx3-ubyte"][[4, 1]])
    np.testing.assert_array_equal(data.test.labels, [9, 8, 7, 6, 5])
    assert (data.shape, data.classes, data.kind, data.augment) == ((1, 28, 28), 10, "static", "none")


def test_labels_must_fit_the_images_and_the_classes(tmp_path):
    write_mnist(tmp_path)
    labels = tmp_path / "MNIST/raw/train-labels-idx1-ubyte"
    write_idx(labels, np.arange(11) % 10)
    with pytest.raises(BadData, match="has 11 labels for 12 images"):
        load("mnist", tmp_path)
    write_idx(labels, np.arange(12))
    with pytest.raises(BadData, match="its labels must be between 0 and 9, got 11"):
        load("mnist", tmp_path)


def test_one_missing_file_is_named_with_its_folder(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "MNIST/raw/t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(BadData, match=r"t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte\.gz was not found in .*MNIST/raw"):
        load("mnist", tmp_path)
