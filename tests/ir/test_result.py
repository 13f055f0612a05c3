"""Result: parts and their concatenation, rates and answers."""

from __future__ import annotations

from dataclasses import fields, replace

import numpy as np
import pytest

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.result import Result, concatenate_results
from tests.helpers.chip_networks import conv_network
from tests.helpers.naive_simulator import simulate

CHIP = conv_network(3, decay=205)
VALUES = np.random.default_rng(0).integers(0, 256, (5, *CHIP.input.shape), dtype=np.uint8)
WHOLE = replace(simulate(CHIP, VALUES), seconds=10.0)


def assert_same(one: Result, other: Result) -> None:
    for field in fields(Result):
        a, b = getattr(one, field.name), getattr(other, field.name)
        for left, right in zip(a, b, strict=True) if isinstance(a, tuple) else [(a, b)]:
            np.testing.assert_array_equal(left, right, err_msg=field.name)


def test_parts_put_together_are_the_whole():
    assert_same(concatenate_results([WHOLE.part(slice(0, 2)), WHOLE.part(slice(2, 3)), WHOLE.part(slice(3, 5))]), WHOLE)


def test_a_part_has_its_samples_and_its_share_of_the_time():
    part = WHOLE.part(slice(1, 3))
    assert (part.samples, part.seconds) == (2, 4.0)
    np.testing.assert_array_equal(part.rates[1], WHOLE.rates[1][1:3])
    np.testing.assert_array_equal(part.clip_count, WHOLE.clip_count[1:3])


def test_what_one_part_lacks_the_whole_lacks():
    parts = [WHOLE.part(slice(0, 2)), replace(WHOLE.part(slice(2, 5)), spikes=None)]
    assert concatenate_results(parts).spikes is None


@pytest.mark.parametrize(("name", "value"), [("backend", "sim"), ("graph", "stock"), ("steps", 3), ("digest", "0")])
def test_results_of_different_runs_are_not_mixed(name, value):
    with pytest.raises(BadArgument, match=f"must share one {name}, got"):
        concatenate_results([WHOLE, replace(WHOLE, **{name: value})])


def test_no_result_is_refused():
    with pytest.raises(BadArgument, match="at least one result to concatenate"):
        concatenate_results([])


def test_rates_and_logits_are_divided_by_the_sum_of_the_weights():
    """E3: traces over A; the readout's potentials in units of 2**-6 times its scale, over A."""
    result = replace(WHOLE, weight_sum=4.0, readout_scale=0.5, readout=np.array([[128, -64]]), traces=(np.array([[3.0]]),))
    assert result.rates[0].tolist() == [[0.75]]
    assert result.logits.tolist() == [[0.25, -0.125]]


def test_the_first_of_equal_answers_is_the_prediction():
    assert replace(WHOLE, readout=np.array([[1, 7, 7], [-2, -3, -2]])).predictions.tolist() == [1, 0]
