"""Raw values are whole numbers from 0 to 255; everything else has a range."""

from __future__ import annotations

import pytest
import torch

from fsnn_lava.nn.raw_values import range_unless_raw_values


@pytest.mark.parametrize("values", [[], [0.0, 255.0], [3.0]])
def test_whole_numbers_up_to_255_are_raw(values):
    assert range_unless_raw_values(torch.tensor(values)) is None


@pytest.mark.parametrize("values", [[0.0, 0.5, 1.0], [-1.0, 2.0], [0.0, 256.0]])
def test_anything_else_has_a_range(values):
    assert range_unless_raw_values(torch.tensor(values)) == (min(values), max(values))
