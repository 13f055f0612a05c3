"""Folders of images: the pixels of the files, the classes of the folders."""

from __future__ import annotations

import contextlib
import tracemalloc

import numpy as np
import pytest
from PIL import Image

from fsnn_lava.data import load
from fsnn_lava.data.image_folder import read_image
from fsnn_lava.errors import BadArgument, BadData, Remark
from tests.helpers.data_files import random_images


def write(folder, *, count=2, parts=("train", "test"), mode="L", size=(5, 4)):
    """Images of cats and dogs; what was written, by file."""
    written = {}
    for part in parts:
        for seed, name in enumerate(("dog", "cat")):
            (folder / part / name).mkdir(parents=True)
            shape = (*size[::-1], 3) if mode == "RGB" else size[::-1]
            for number, pixels in enumerate(random_images(count, *shape, seed=seed)):
                path = folder / part / name / f"{number}.png"
                Image.fromarray(pixels).save(path)
                written[path] = pixels
    return written


def test_grey_images_have_one_channel_and_their_folder_is_their_class(tmp_path):
    written = write(tmp_path)
    data = load(tmp_path)
    assert (data.kind, data.shape, data.class_names, len(data.train), len(data.test)) == ("static", (1, 4, 5), ("cat", "dog"), 4, 4)
    assert data.train.labels.tolist() == [0, 0, 1, 1]
    np.testing.assert_array_equal(data.train[3][0][0], written[tmp_path / "train" / "dog" / "1.png"])
    assert data.normalisation.mean == pytest.approx((data.train.batch(slice(None)).mean() / 255,))


def test_colour_images_have_three_channels_first(tmp_path):
    written = write(tmp_path, mode="RGB")
    np.testing.assert_array_equal(load(tmp_path).test[0][0], written[tmp_path / "test" / "cat" / "0.png"].transpose(2, 0, 1))
    assert load(f"{tmp_path},colour=grey,size=3x2").shape == (1, 2, 3)


def test_without_a_test_folder_every_fifth_image_of_a_class_is_one(tmp_path):
    write(tmp_path, count=6, parts=("",))
    with pytest.warns(Remark, match=r"every 5th file of each class is used as a test sample \(4 files\)"):
        data = load(tmp_path)
    assert (len(data.train), data.test.labels.tolist()) == (8, [0, 0, 1, 1])


def test_images_of_different_sizes_need_one(tmp_path):
    write(tmp_path)
    Image.fromarray(random_images(1, 9, 9)[0]).save(tmp_path / "train" / "cat" / "9.png")
    with pytest.raises(BadData, match=r"the same size: 0\.png has 5 x 4 pixels, 9\.png 9 x 9; add the option size="):
        load(tmp_path)
    assert load(f"{tmp_path},size=6").shape == (1, 6, 6)


def test_a_folder_with_something_else_and_damaged_images_are_refused(tmp_path):
    with pytest.raises(BadData, match="must contain one folder per class, with images"):
        load(tmp_path)
    write(tmp_path)
    path = tmp_path / "train" / "cat" / "0.png"
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadData, match=r"0\.png is damaged"):
        load(tmp_path)
    path.write_bytes(b"not an image")
    with pytest.raises(BadData, match=r"0\.png cannot be read as an image: its contents are not an image$"):
        load(tmp_path)
    with pytest.raises(BadArgument, match="unknown option 'sise'; did you mean 'size'"):
        load(f"{tmp_path},sise=3")


def test_a_length_in_an_image_that_is_a_lie_allocates_nothing(tmp_path):
    """Pillow asks the file for as many bytes as a damaged chunk claims to have; a buffered file would allocate them."""
    path = tmp_path / "image.png"
    Image.fromarray(random_images(1, 5, 6, 3)[0]).save(path)
    whole = path.read_bytes()
    at = whole.index(b"IDAT") - 4
    path.write_bytes(whole[:at] + (2**31 + 5).to_bytes(4, "big") + whole[at + 4 :])
    tracemalloc.start()
    try:
        with contextlib.suppress(BadData):
            read_image(path, mode="RGB", size=(6, 5))
        assert tracemalloc.get_traced_memory()[1] < 2**26
    finally:
        tracemalloc.stop()
