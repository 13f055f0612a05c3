"""The user's own samples are read as they are or refused with a message; sizes are checked before they are trusted."""

from __future__ import annotations

import io
import re
import zipfile

import numpy as np
import pytest

from fsnn_lava.data import load
from fsnn_lava.errors import BadData, Remark

X = np.random.default_rng(0).integers(0, 256, (3, 1, 4, 5), np.uint8)
Y = np.array([2, 0, 1], np.int32)


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def write(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content if isinstance(content, bytes) else npy(content))
    return path


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_what_numpy_saves_is_what_is_loaded(tmp_path, save):
    path = tmp_path / "mine.npz"
    save(path, x=X, y=Y)
    data = load(path)
    np.testing.assert_array_equal(data.test.batch(slice(None)), X)
    np.testing.assert_array_equal(data.test.labels, Y)
    assert (data.name, data.kind, data.shape, data.classes, len(data.train)) == ("mine", "static", (1, 4, 5), 3, 0)


def test_columns_first_in_the_file_is_the_same_array(tmp_path):
    path = write(tmp_path / "f.npz", x=np.asfortranarray(X), y=Y)
    np.testing.assert_array_equal(load(str(path)).test.batch([2, 0]), X[[2, 0]])


def test_test_samples_may_be_named_as_in_the_files_of_keras(tmp_path):
    path = write(tmp_path / "mine.npz", x_train=X[:2], y_train=Y[:2], x_test=X[1:], y_test=Y[1:])
    data = load(path)
    np.testing.assert_array_equal(data.test.batch(slice(None)), X[1:])
    np.testing.assert_array_equal(data.test.labels, Y[1:])
    assert len(data.train) == 2
    both = load(write(tmp_path / "both.npz", x=X, y=Y, x_test=X[:1], y_test=Y[:1]))
    assert len(both.test) == 3


def test_five_axes_are_an_input_sequence(tmp_path):
    path = write(tmp_path / "e.npz", x=np.stack([X, X], axis=1), y=Y)
    assert (load(path).kind, load(path).shape, load(path).test.shape) == ("events", (1, 4, 5), (2, 1, 4, 5))


def test_training_samples_come_with_the_others_and_say_how_a_network_sees_them(tmp_path):
    train = np.random.default_rng(1).integers(0, 256, (7, 2, 4, 5), np.uint8)
    train[:, 1] = 51
    path = write(tmp_path / "mine.npz", x=np.repeat(X, 2, axis=1), y=Y, x_train=train, y_train=np.arange(7) % 4)
    data = load(path)
    np.testing.assert_array_equal(data.train.batch(slice(None)), train)
    assert (data.classes, len(data.train), len(data.test)) == (4, 7, 3)
    assert data.normalisation.mean == pytest.approx((train[:, 0].mean() / 255, 0.2))
    assert data.normalisation.std == pytest.approx((train[:, 0].std() / 255, 1 / 255))  # the second channel never changes


def test_what_is_concluded_about_a_file_is_reported(tmp_path):
    images = np.repeat(X, 3, axis=1).transpose(0, 2, 3, 1) / 255  # channels last, in [0, 1]
    path = write(tmp_path / "mine.npz", x=np.repeat(np.repeat(images, 2, axis=1), 2, axis=2), y=np.array(["b", "a", "c"]))
    with pytest.warns(Remark) as caught:
        data = load(path)
    assert (data.shape, data.class_names, data.test.labels.tolist()) == ((3, 8, 10), ("a", "b", "c"), [1, 0, 2])
    assert [str(warning.message) for warning in caught] == list(data.remarks)
    assert [remark.split(": ")[-1].split(",")[0] for remark in data.remarks] == [
        "interpreted as channels last",
        "multiplied by 255 and rounded to raw values",
        "interpreted as classes in alphabetical order (a",
    ]


def test_the_file_may_name_its_axes(tmp_path):
    data = load(write(tmp_path / "mine.npz", x=X[:, 0], y=Y, layout=np.array("BTN")))
    assert (data.kind, data.test.shape, data.remarks) == ("events", (4, 5), ())


def test_flat_samples_share_one_mean_and_events_are_taken_as_they_are(tmp_path):
    flat = load(write(tmp_path / "flat.npz", x=X.reshape(3, -1), y=Y, x_train=X.reshape(3, -1), y_train=Y))
    assert flat.normalisation.mean == pytest.approx((X.mean() / 255,))
    events = np.stack([X, X], axis=1)
    assert load(write(tmp_path / "e.npz", x=events, y=Y, x_train=events, y_train=Y)).normalisation.divisor == 1.0


@pytest.mark.parametrize(
    ("members", "sentence"),
    [
        ({"x": X, "y": Y, "x_train": X}, "the array 'y_train' is missing"),
        ({"x": X, "y": Y, "y_train": Y}, "the array 'x_train' is missing"),
        ({"x": X, "y": Y, "x_train": X[:, :, 1:], "y_train": Y}, r"x_train has samples of shape \[1, 3, 5\], but x has \[1, 4, 5\]"),
        ({"x": X, "y": Y, "x_train": X, "y_train": Y[:1]}, "y_train must be a vector of 3 class numbers"),
        ({"y": Y}, "the array 'x' is missing; write it with numpy.savez"),
        ({"x": X}, "the array 'y' is missing"),
        ({"images": X, "labels": Y}, "the array 'x' is missing; write it .*; the file contains images, labels$"),
        ({"x": X / 2, "y": Y}, "x must hold raw values, got float64 from 2 to 124"),
        ({"x": X[0, 0, 0], "y": Y}, r"x must be uint8 .*got uint8 of shape \[5\]"),
        ({"x": X[:0], "y": Y[:0]}, r"x must be uint8 .*got uint8 of shape \[0, 1, 4, 5\]"),
        ({"x": X, "y": Y[:2]}, r"y must be a vector of 3 class numbers, got int32 of shape \[2\]"),
        ({"x": X, "y": Y / 2}, "y must be a vector of 3 class numbers or names, got float64"),
        ({"x": X, "y": np.array(["a", None, "b"])}, r"'y' must hold plain numbers, got object; write y\.astype\(str\)"),
        ({"x": X, "y": Y, "layout": np.array(3)}, "'layout' must be text"),
        ({"x": X, "y": Y - 1}, r"class numbers from 0, got -1 … 1"),
        ({"x": np.array([print, len]), "y": Y}, "'x' must hold plain numbers, got object"),
        ({"x": b"no header", "y": Y}, "'x' has no readable header"),
        ({"x": npy(X)[:-1], "y": Y}, "'x' has shape .* but its entry holds"),
        ({"x": npy(X) + b"x", "y": Y}, "'x' has shape .* but its entry holds"),
        ({"x": npy(X).replace(b"(3, 1, 4, 5)", b"(3, 9**9**9)"), "y": Y}, "'x' has no readable header"),
    ],
)
def test_a_file_with_something_else_in_it_is_refused(tmp_path, members, sentence):
    path = write(tmp_path / "bad.npz", **members)
    with pytest.raises(BadData, match=f"^{re.escape(str(path))}.*{sentence}"):
        load(path)


def test_a_header_that_claims_too_much_memory_is_refused(tmp_path):
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "|u1", "fortran_order": False, "shape": (2**40, 1, 1, 1)})
    with pytest.raises(BadData, match="has 1099511627776 bytes, more than 8589934592: split the file"):
        load(write(tmp_path / "huge.npz", x=header.getvalue(), y=Y))


def test_a_file_that_is_not_an_archive_or_is_not_there_is_refused(tmp_path):
    with pytest.raises(BadData, match=r"there is no file .*absent\.npz"):
        load(tmp_path / "absent.npz")
    path = write(tmp_path / "cut.npz", x=X, y=Y)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(BadData, match=r"cut\.npz is not a complete \.npz file"):
        load(path)


def test_a_flipped_bit_inside_the_archive_is_noticed(tmp_path):
    path = write(tmp_path / "flip.npz", x=X, y=Y)
    data = bytearray(path.read_bytes())
    data[120] ^= 0x10
    path.write_bytes(bytes(data))
    with pytest.raises(BadData, match=r"flip\.npz"):
        load(path)
