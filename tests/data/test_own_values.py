"""Samples in other layouts are recognised with a note, or refused with what to write instead."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.data.own_values import recognise_values
from fsnn_lava.errors import BadData

RAW = np.random.default_rng(0).integers(2, 256, (3, 3, 8, 9), np.uint8)  # [B, C, H, W], every pixel different enough


def one(array, **options):
    found = recognise_values([array], where="f.npz", **options)
    return found.arrays[0], found.events, " ".join(found.remarks)


def test_raw_values_with_channels_first_are_taken_without_a_note():
    for array, events in ((RAW, False), (RAW.reshape(3, -1), False), (np.stack([RAW, RAW], axis=1), True)):
        found = recognise_values([array, array[:2]], where="f.npz")
        np.testing.assert_array_equal(found.arrays[0], array)
        assert (found.events, found.remarks) == (events, ())


def test_grey_images_get_their_channel():
    values, events, said = one(RAW[:, 0])
    np.testing.assert_array_equal(values, RAW[:, :1])
    assert not events
    assert said == "x has shape [3, 8, 9]: interpreted as greyscale images [B, H, W]; for input sequences [B, T, N] add layout='BTN'"


def test_channels_last_come_first():
    values, _, said = one(RAW.transpose(0, 2, 3, 1))
    np.testing.assert_array_equal(values, RAW)
    assert said == "x has shape [3, 8, 9, 3]: interpreted as channels last, BHWC; if its channels come first, add layout='BCHW'"
    sequence = np.stack([RAW, RAW[::-1]], axis=1)
    values, events, said = one(np.moveaxis(sequence, 2, 4))
    np.testing.assert_array_equal(values, sequence)
    assert events and "interpreted as channels last, BTHWC" in said


@pytest.mark.parametrize("shape", [(2, 8, 8, 16), (2, 4, 4, 3), (2, 5, 8, 8, 16), (2, 12, 10, 6)])
def test_shapes_that_would_be_square_or_have_few_channels_with_channels_last_are_taken_as_they_are_with_a_note(shape):
    values, events, said = one(np.ones(shape, np.uint8))
    assert (values.shape, events) == (shape, len(shape) == 5)
    first, last = ("BTCHW", "BTHWC") if events else ("BCHW", "BHWC")
    assert said == f"x has shape {list(shape)}: interpreted as channels first, {first}; if its channels come last, add layout='{last}'"


def test_floats_from_0_to_1_become_raw_values():
    values, _, said = one((RAW / 255).astype(np.float32))
    np.testing.assert_array_equal(values, RAW)
    assert "multiplied by 255 and rounded to raw values" in said


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint16])
def test_whole_numbers_of_another_type_are_raw_values(dtype):
    values, _, said = one(RAW.astype(dtype))
    np.testing.assert_array_equal(values, RAW)
    assert (values.dtype, said) == (np.uint8, f"x is {np.dtype(dtype)} with whole numbers from 2 to 255: used as raw values")


def test_three_axes_of_0_and_1_are_a_sequence_unless_the_file_says_otherwise():
    spikes = (RAW[:, 0] > 99).astype(np.uint8)
    values, events, said = one(spikes)
    np.testing.assert_array_equal(values, spikes)
    assert events and "for images add layout='BHW'" in said
    values, events, said = one(spikes, layout="BHW")
    np.testing.assert_array_equal(values, spikes[:, None])
    assert (events, said) == (False, "")
    assert one(RAW[:, 0], layout="BTN")[1:] == (True, "")


def test_a_layout_that_is_given_is_not_guessed():
    last = RAW.transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(one(last, layout="BCHW")[0], last)
    np.testing.assert_array_equal(one(RAW, layout="BHWC")[0], RAW.transpose(0, 3, 1, 2))


@pytest.mark.parametrize(
    ("array", "layout", "sentence"),
    [
        ((RAW - 128.0) / 60, "", r"x must hold raw values, got float64 from -2\.1 to 2\.12; write the pixels before normalisation"),
        (np.full((1, 2, 3), np.nan), "", "must hold finite numbers, got NaN or infinity among float64"),
        (RAW.astype(int) * 2, "", "got int64 from 4 to 510"),
        (RAW.astype("U3"), "", r"got <U3; write x\.astype\('uint8'\)"),
        (np.zeros((1, 2, 3, 4, 5)) + 0.5, "", "write the number of events"),
        (np.zeros((1,) * 6, np.uint8), "", r"x must be uint8 of shape \[B, C, H, W\] .*got uint8 of shape \[1, 1, 1, 1, 1, 1\]"),
        (RAW, "CHW", "'layout' must be one of BN, BHW, BCHW, BHWC, BTN, BTCHW, BTHWC, got 'CHW'"),
        (RAW, "NHWC", "got 'NHWC'; did you mean 'BHWC', with B for the batch?"),
        (RAW, "BHW", r"layout BHW needs 3 axes, got \[3, 3, 8, 9\]"),
    ],
)
def test_what_cannot_be_raw_values_is_refused_with_what_to_write(array, layout, sentence):
    with pytest.raises(BadData, match=f"^f.npz: .*{sentence}"):
        recognise_values([array], layout=layout, where="f.npz")


def test_the_shape_that_a_network_takes_decides_the_layout():
    ambiguous = np.ones((2, 5, 5, 3), np.uint8)  # 5 channels of 5x3 pixels, or 3 channels of 5x5 pixels
    first = recognise_values([ambiguous], shape=(5, 5, 3), where="own.npz")
    assert (first.arrays[0].shape, first.remarks) == ((2, 5, 5, 3), ())
    last = recognise_values([ambiguous], shape=(3, 5, 5), where="own.npz")
    assert last.arrays[0].shape == (2, 3, 5, 5) and "interpreted as channels last, BHWC" in last.remarks[0]
    neither = recognise_values([ambiguous], shape=(1, 28, 28), where="own.npz")
    assert neither.arrays[0].shape == (2, 3, 5, 5) and "interpreted as channels last, BHWC" in neither.remarks[0]  # as without a shape
