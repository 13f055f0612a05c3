"""Pickles are read as data: the value is returned, and code in a pickle never runs."""

from __future__ import annotations

import contextlib
import os
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsnn_lava.files.plain_pickle import Call, Name, NotPlain, pickled_array, read_plain_pickle

plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3) | st.tuples(inner, inner),
    max_leaves=8,
)


@settings(max_examples=40)
@given(plain, st.sampled_from([2, 3, 4]))
def test_plain_data_comes_out_as_python_reads_it(value, protocol):
    assert read_plain_pickle(pickle.dumps(value, protocol)) == value


@given(st.lists(st.integers(0, 4), max_size=4).map(tuple), st.booleans(), st.sampled_from([2, 3, 4]))
def test_arrays_of_bytes_come_out_whole(shape, fortran, protocol):
    array = np.arange(np.prod(shape, dtype=int), dtype=np.uint8).reshape(shape)
    written = np.asfortranarray(array) if fortran else array
    read = pickled_array(read_plain_pickle(pickle.dumps(written, protocol)))
    np.testing.assert_array_equal(read, array)
    assert read.shape == np.asarray(written).shape


def test_texts_and_bytes_of_python_2_become_text_of_one_character_per_byte():
    assert read_plain_pickle(b"\x80\x02}q\x00U\x04dataq\x01U\x02\xff\x00s.") == {"data": "\xff\x00"}


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", [2, 3, 4])
def test_code_in_a_pickle_is_not_run(tmp_path, protocol):
    value = read_plain_pickle(pickle.dumps(Harmful(tmp_path / "made"), protocol))
    assert value == Call(Name("posix mkdir"), (str(tmp_path / "made"),))
    assert not (tmp_path / "made").exists()
    with pytest.raises(NotPlain, match="expected an array, but the pickle contains 'posix mkdir'"):
        pickled_array(value)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", "damaged"),
        (b"\x80\x02", "damaged"),
        (b"\x80\x02}.."[:3], "damaged"),
        (b"\x80\x02.", "damaged"),
        (b"\x80\x02a.", "damaged"),
        (b"\x80\x02K\x01K\x02a.", "a list is missing"),
        (b"\x80\x02(.", "a value is missing"),
        (b"\x80\x02K\x01t.", "a mark is missing"),
        (b"\x80\x02h\x05.", "damaged"),
        (b"\x80\x02K\x01)R.", "a Name is missing"),
        (b"\x80\x02}(K\x01u.", "damaged"),
        (b"\x80\x02B\xff\xff\xff\x7fabc.", "damaged"),
        (b"(I1\nt.", "contains the opcode INT"),
        (b"\x80\x02cos\nsystem\n)\x81.", "contains the opcode NEWOBJ"),
        (b"cos\nsystem\n(S'true'\ntR.", "contains the opcode STRING"),
    ],
)
def test_a_damaged_pickle_is_refused_with_a_message(data, sentence):
    with pytest.raises(NotPlain, match=sentence):
        read_plain_pickle(data)


@given(st.binary(max_size=40))
def test_any_bytes_give_a_value_or_are_refused(data):
    with contextlib.suppress(NotPlain):
        read_plain_pickle(b"\x80\x02" + data)


def test_an_array_whose_shape_and_bytes_disagree_is_refused():
    good = pickle.dumps(np.zeros((2, 3), np.uint8), 3)
    assert b"K\x02K\x03\x86" in good
    with pytest.raises(NotPlain, match=r"an array of shape \(2, 4\) has 6 bytes"):
        pickled_array(read_plain_pickle(good.replace(b"K\x02K\x03\x86", b"K\x02K\x04\x86")))
