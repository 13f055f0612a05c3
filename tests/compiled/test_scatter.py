"""Parts of the emulator in isolation: what a whole run would not show, because only speed or unrelated memory depends on it."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.compiled.scatter import find_scatter_places


@pytest.mark.parametrize(
    ("indices", "starts"), [([], [0, 0, 0, 0]), ([0, 2, 3, 11], [0, 3, 3, 4]), ([4, 5], [0, 0, 2, 2]), ([9], [0, 0, 0, 1])]
)
def test_places_are_found_and_nothing_behind_them_is_written(indices, starts):
    """Four channels, three places."""
    room = np.full(9, -7, np.int32)
    find_scatter_places(np.array(indices, np.int32), 4, room[2:6])
    assert room.tolist() == [-7, -7, *starts, -7, -7, -7]
