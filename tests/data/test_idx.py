"""A damaged IDX file is named, with what is wrong."""

from __future__ import annotations

import gzip
import re
import struct

import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import BadData
from tests.helpers.data_files import (
    idx_bytes,
    random_images,
    write_mnist,
)

IMAGES = idx_bytes(random_images(12, 28, 28))


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", "it must start as an IDX file of unsigned bytes with 3 axes, got nothing"),
        (IMAGES[:7], "it must start as an IDX file"),
        (b"\x00\x00\x0d\x03" + IMAGES[4:], "must start as an IDX file of unsigned bytes with 3 axes, got 00 00 0d 03"),
        (IMAGES[:-1], "its header says 9408 bytes, but it contains 9407"),
        (IMAGES + b"x", "its header says 9408 bytes, but it contains more"),
        (IMAGES[:4] + struct.pack(">3I", 2**31, 28, 28), r"its header says the shape is \[2147483648, 28, 28\]"),
        (IMAGES[:4] + struct.pack(">3I", 0, 28, 28), r"its header says the shape is \[0, 28, 28\]"),
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
