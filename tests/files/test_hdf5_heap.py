"""Global heaps are checked before libhdf5 sees them: on a damaged one it loops forever."""

from __future__ import annotations

import h5py
import pytest

from fsnn_lava.files.hdf5_heap import check_heaps

HEAP = b"GCOL\x01\x00\x00\x00"


@pytest.fixture
def path(tmp_path):
    """A file with one heap: that of a string of variable length."""
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.attrs["text"] = "some text"
    assert (tmp_path / "a.h5").read_bytes().count(HEAP) == 1
    return tmp_path / "a.h5"


def overwrite(path, offset, number):
    """An eight-byte number, `offset` bytes behind the beginning of the heap."""
    content = bytearray(path.read_bytes())
    at = content.index(HEAP) + offset
    content[at : at + 8] = number.to_bytes(8, "little")
    path.write_bytes(bytes(content))


def test_a_sound_file_is_accepted(path):
    check_heaps(path)


def test_a_heap_longer_than_its_file_is_refused(path):
    overwrite(path, 8, path.stat().st_size + 1)
    with pytest.raises(ValueError, match="a global heap is longer than the file"):
        check_heaps(path)


@pytest.mark.parametrize("size", [2**40, 4096])
def test_an_object_that_does_not_fit_into_its_heap_is_refused(path, size):
    overwrite(path, 16 + 8, size)
    with pytest.raises(ValueError, match="an object in a global heap extends past the end of the heap"):
        check_heaps(path)


def test_free_space_of_no_size_is_refused(path):
    """Walked as it says, it would never end: index 0 means free space, whose size counts its own header."""
    overwrite(path, 16, 0)
    overwrite(path, 16 + 8, 0)
    with pytest.raises(ValueError, match="an object in a global heap extends past the end of the heap"):
        check_heaps(path)


def test_another_file_and_other_widths_are_refused(path):
    content = bytearray(path.read_bytes())
    widths = 13 if content[8] < 2 else 9
    content[widths] = 4
    path.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="offsets and lengths must have 8 bytes"):
        check_heaps(path)
    path.write_bytes(b"PK" + bytes(content[2:]))
    with pytest.raises(ValueError, match="file signature not found"):
        check_heaps(path)


def test_an_empty_file_and_a_model_are_called_by_their_name(path):
    path.write_bytes(b"")
    with pytest.raises(ValueError, match="it is empty"):
        check_heaps(path)
    path.write_bytes(b"PK\x03\x04 and the rest of a model.pt")
    with pytest.raises(ValueError, match=r"it is a zip archive, as a model\.pt is; fsnn-export makes a net\.h5"):
        check_heaps(path)
