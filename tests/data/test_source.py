"""Names of data sets with options: read as they are written, or refused with what is wrong."""

from __future__ import annotations

import pytest

from fsnn_lava.data.source import Source
from fsnn_lava.errors import BadArgument


def test_options_follow_the_name_after_commas():
    source = Source.parse("tonic:NMNIST,window=3000,size=34x17,values=counts")
    assert source.name == "tonic:NMNIST"
    assert (source.whole("window", 0, high=10**6), source.sides("size"), source.choice("values", ("binary", "counts"))) == (
        3000,
        (34, 17),
        "counts",
    )
    assert (source.whole("frames", 30, high=99), source.sides("sensor"), source.choice("cache", ("yes", "no"))) == (30, None, "yes")
    assert Source.parse("tonic:SHD,size=70").sides("size") == (70, 70)


def test_a_folder_with_a_comma_in_its_name_is_used_unchanged(tmp_path):
    folder = tmp_path / "cats, dogs"
    folder.mkdir()
    assert Source.parse(str(folder)).name == str(folder)


@pytest.mark.parametrize(
    ("text", "read", "sentence"),
    [
        ("a,b", lambda s: s, r"options after the name must be written key=value, for example frames=30; got 'b'"),
        ("a,=3", lambda s: s, "got '=3'"),
        ("a,frames=0", lambda s: s.whole("frames", 1, high=9), "frames must be a whole number from 1 to 9, got '0'"),
        ("a,frames=1e3", lambda s: s.whole("frames", 1, high=9), "got '1e3'"),
        ("a,size=3x4x5", lambda s: s.sides("size"), "size must be SIDE or WIDTHxHEIGHT, 1 to 4096 pixels, got '3x4x5'"),
        ("a,cache=maybe", lambda s: s.choice("cache", ("yes", "no")), "cache must be yes or no, got 'maybe'"),
        ("a,frame=3", lambda s: s.check_keys(("frames", "size")), "unknown option 'frame'; did you mean 'frames'?"),
        ("a,xyz=3", lambda s: s.check_keys(()), "unknown option 'xyz'; known here: none"),
    ],
)
def test_a_wrong_option_is_named(text, read, sentence):
    with pytest.raises(BadArgument, match=sentence):
        read(Source.parse(text))
