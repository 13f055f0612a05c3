"""Dropout's masks: as often zero as they should be, with mean 1, unlike each other, and decided by torch's seed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fsnn_lava.compiled.dropout import fill_mask
from fsnn_lava.nn import dropout
from fsnn_lava.nn.dropout import draw_masks

SHAPES = [(40,), (3, 5, 7)]
MANY = 200_000


def masks(seed: int, *, dropped: float = 0.2, count: int = MANY, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    torch.manual_seed(seed)
    return draw_masks([(count,)], 1, dropped, torch.empty(0, dtype=dtype))[0][0]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("batch", [0, 1, 6])
def test_every_current_gets_a_mask_of_its_shape(batch: int, dtype: torch.dtype) -> None:
    drawn = draw_masks(SHAPES, batch, 0.5, torch.empty(0, dtype=dtype))
    assert [tuple(mask.shape) for mask in drawn] == [(batch, *shape) for shape in SHAPES]
    assert all(mask.dtype == dtype and set(mask.unique().tolist()) <= {0.0, 2.0} for mask in drawn)


@pytest.mark.parametrize("dropped", [0.001, 0.2, 0.5, 0.9])
def test_as_many_are_dropped_as_were_asked_for(dropped: float) -> None:
    """Five standard deviations of a binomial; the mean follows."""
    drawn = masks(3, dropped=dropped)
    assert abs(float((drawn == 0).float().mean()) - dropped) < 5 * (dropped * (1 - dropped) / MANY) ** 0.5
    assert float(drawn.max()) == pytest.approx(1 / (1 - dropped))


def test_neighbours_and_seeds_have_nothing_to_do_with_each_other() -> None:
    """The correlation of independent draws has a standard deviation of 1/sqrt(n)."""
    first, second = (masks(seed).double() for seed in (1, 2))
    first, second = first - first.mean(), second - second.mean()
    for lag in (1, 2, 3, 8, 16, 32, 400, 4096, 51_200, 65_536):
        assert abs(float((first[lag:] * first[:-lag]).mean() / first.var())) < 5 / (MANY - lag) ** 0.5, lag
    for shift in range(-50, 51):
        assert abs(float((first * second.roll(shift)).mean() / (first.std() * second.std()))) < 5 / MANY**0.5, shift


@pytest.mark.parametrize("pair", [(5, 7), (6, 6), (5, 6 + 2**31), (5 + 2**31, 6), (5 + 0x9E3779B9, 6)])
def test_seeds_that_are_alike_make_masks_that_are_not(pair: tuple[int, int]) -> None:
    """Independent masks with a fifth dropped differ in 2 * 0.8 * 0.2 of their places, and one is not the other one shifted."""
    out = np.empty((2, MANY), np.float32)
    for row, seeds in zip(out, ((5, 6), pair), strict=True):
        fill_mask(0, MANY, row, *(np.uint32(number % 2**32) for number in (*seeds, round(0.8 * 2**32))), np.float32(1))
    expected = 0.0 if pair[0] == 5 + 0x9E3779B9 else 0.32  # that one is a step further on: the same sequence from its second number
    assert (out[0, 1:] != out[1, :-1]).mean() == pytest.approx(expected, abs=5 * (0.32 * 0.68 / MANY) ** 0.5)
    assert (out[0] != out[1]).mean() == pytest.approx(0.32, abs=5 * (0.32 * 0.68 / MANY) ** 0.5)


def test_the_seed_decides_and_the_generator_moves_on() -> None:
    torch.manual_seed(11)
    first, second = (draw_masks(SHAPES, 2, 0.5, torch.empty(0)) for _ in range(2))
    torch.manual_seed(11)
    again = draw_masks(SHAPES, 2, 0.5, torch.empty(0))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(first, second, strict=True))


def test_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = masks(5)
    monkeypatch.setattr(dropout, "WORTH_A_THREAD", 1000)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    assert torch.equal(masks(5), alone)
