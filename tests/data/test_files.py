"""The formats of the data sets: what is written is what is read, and a damaged file is named."""

from __future__ import annotations

import gzip
import pickle
import re
import struct

import numpy as np
import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import BadData
from tests.helpers.data_files import (
    cifar10_batches,
    event_bytes,
    idx_bytes,
    random_images,
    write_cifar10,
    write_idx,
    write_mnist,
    write_recording,
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


IMAGES = idx_bytes(random_images(12, 28, 28))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it must start as an IDX file of unsigned bytes with 3 axes, got nothing"),
        (IMAGES[:7], "it must start as an IDX file"),
        (b"\x00\x00\x0d\x03" + IMAGES[4:], "must start as an IDX file of unsigned bytes with 3 axes, got 00 00 0d 03"),
        (IMAGES[:-1], "its header gives 9408 bytes, but it holds 9407"),
        (IMAGES + b"x", "its header gives 9408 bytes, but it holds more"),
        (IMAGES[:4] + struct.pack(">3I", 2**31, 28, 28), r"its header gives the shape \[2147483648, 28, 28\]"),
        (IMAGES[:4] + struct.pack(">3I", 0, 28, 28), r"its header gives the shape \[0, 28, 28\]"),
        (idx_bytes(random_images(12, 28, 27)), "its images must be 28 x 28, got 28 x 27"),
    ],
    ids=range(8),
)
def test_a_damaged_idx_file_is_named_with_what_is_wrong(tmp_path, content, sentence):
    write_mnist(tmp_path)
    path = tmp_path / "MNIST/raw/train-images-idx3-ubyte"
    path.write_bytes(content)
    with pytest.raises(BadData, match=f"^{re.escape(str(path))} is damaged: .*{sentence}.*download it again$"):
        load("mnist", tmp_path)


@pytest.mark.parametrize(
    "content",
    [b"not gzip at all", gzip.compress(IMAGES)[:-200], gzip.compress(IMAGES)[:200] + bytes(300)],
    ids=["none", "cut", "overwritten"],  # the bytes hold the time: they cannot be names
)
def test_a_damaged_gzip_file_is_named(tmp_path, content):
    write_mnist(tmp_path, suffix=".gz")
    (tmp_path / "MNIST/raw/train-images-idx3-ubyte.gz").write_bytes(content)
    with pytest.raises(BadData, match=r"train-images-idx3-ubyte\.gz is damaged: it cannot be unpacked"):
        load("mnist", tmp_path)


def test_labels_must_fit_the_images_and_the_classes(tmp_path):
    write_mnist(tmp_path)
    labels = tmp_path / "MNIST/raw/train-labels-idx1-ubyte"
    write_idx(labels, np.arange(11) % 10)
    with pytest.raises(BadData, match="holds 11 labels for 12 images"):
        load("mnist", tmp_path)
    write_idx(labels, np.arange(12))
    with pytest.raises(BadData, match="its labels must lie in 0 … 9, got 11"):
        load("mnist", tmp_path)


def test_one_missing_file_is_named_with_its_folder(tmp_path):
    write_mnist(tmp_path)
    (tmp_path / "MNIST/raw/t10k-labels-idx1-ubyte").unlink()
    with pytest.raises(BadData, match=r"t10k-labels-idx1-ubyte or t10k-labels-idx1-ubyte\.gz is missing in .*MNIST/raw"):
        load("mnist", tmp_path)


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
        ([1, 2], "a dictionary is missing"),
        ({"labels": [1]}, "the entry 'data' is missing"),
        ({"data": [1], "labels": [1]}, "a Call is missing"),
        ({"data": random_images(1, 3071), "labels": [1]}, r"its images must have shape \[N, 3072\], got \[1, 3071\]"),
        ({"data": random_images(1, 3072), "labels": [1, 2]}, "its labels must be 1 integers from 0 to 255"),
        ({"data": random_images(1, 3072), "labels": ["a"]}, "its labels must be 1 integers from 0 to 255"),
        ({"data": random_images(1, 3072).astype(np.float32), "labels": [1]}, "an array must hold unsigned bytes"),
    ],
)
def test_a_python_batch_with_something_else_in_it_is_named(tmp_path, content, sentence):
    folder = tmp_path / "cifar-10-batches-py"
    folder.mkdir()
    for name in cifar10_batches():
        (folder / name).write_bytes(pickle.dumps(content, 2))
    with pytest.raises(BadData, match=rf"data_batch_1 is damaged: .*{sentence}"):
        load("cifar10", tmp_path)


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
        (event_bytes([(1, 2, 3, 1), (34, 2, 3, 1)]), "an event is at x = 34, y = 2, off the 34 x 34 sensor"),
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
