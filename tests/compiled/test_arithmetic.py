"""Corner cases of the integer neuron (E9), and the input current compared with explicit sums."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.compiled.arithmetic import Step, integrate, leaked, neuron_arithmetic, shift
from fsnn_lava.ir.network import Layer
from fsnn_lava.limits import STATE_MAX
from tests.helpers.strategies import random_network


def layer(*, threshold: object = 3, decay: int = 0, reset: str = "subtract", strict: bool = False, size: int = 4) -> Layer:
    return Layer(
        name="one",
        shape=(size,),
        threshold=threshold,
        bias=np.zeros(size, int),
        scale=1.0,
        decay=decay,
        reset=reset,
        strict=strict,  # type: ignore[arg-type]
    )


def step(u: np.ndarray, current: np.ndarray, of: Layer) -> Step:
    """One step of a layer's neurons."""
    return neuron_arithmetic(
        u, current, threshold=of.per_neuron(of.threshold), decay=of.decay, subtract=of.reset == "subtract", strict=of.strict
    )


def ints(*values: int) -> np.ndarray:
    return np.array(values, dtype=np.int32)


def test_a_shift_to_the_right_rounds_down_and_to_the_left_is_exact() -> None:
    assert [int(shift(np.int64(x), -2)) for x in (-5, -4, -1, 0, 3, 4)] == [-2, -1, -1, 0, 0, 1]
    assert int(shift(np.int64(-5), 18)) == -5 * 2**18


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_leak_rounds_towards_zero_over_the_whole_state(dtype: type) -> None:
    rng = np.random.default_rng(1)
    u = np.concatenate(
        [[-STATE_MAX, -4097, -4096, -4095, -1, 0, 1, 4095, 4096, STATE_MAX], rng.integers(-STATE_MAX, STATE_MAX + 1, 2000)]
    ).astype(dtype)
    for decay in (0, 1, 205, 2048, 4095):
        exact = [int(np.sign(x)) * (abs(int(x)) * (4096 - decay) // 4096) for x in u]
        np.testing.assert_array_equal(leaked(u, 4096 - decay), exact)


def test_a_neuron_fires_at_the_threshold_and_a_strict_one_above_it() -> None:
    current = ints(191, 192, 193, 400)
    np.testing.assert_array_equal(step(ints(0, 0, 0, 0), current, layer()).spikes, [0, 1, 1, 1])
    np.testing.assert_array_equal(step(ints(0, 0, 0, 0), current, layer(strict=True)).spikes, [0, 0, 1, 1])


def test_subtract_keeps_the_rest_and_zero_forgets_it() -> None:
    current = ints(191, 192, 200, 400)
    np.testing.assert_array_equal(step(ints(0, 0, 0, 0), current, layer()).u, [191, 0, 8, 208])
    np.testing.assert_array_equal(step(ints(0, 0, 0, 0), current, layer(reset="zero")).u, [191, 0, 0, 0])


def test_thresholds_are_per_channel_where_they_are_given_so() -> None:
    done = step(ints(100, 100, 100, 100), ints(0, 28, 27, 500), layer(threshold=np.array([1, 2, 2, 3])))
    np.testing.assert_array_equal(done.spikes, [1, 1, 0, 1])
    np.testing.assert_array_equal(done.u, [36, 0, 127, 408])


def test_clipping_comes_before_the_comparison_and_is_marked() -> None:
    done = step(ints(STATE_MAX, STATE_MAX, -STATE_MAX, -STATE_MAX), np.array([0, 1, -1, 0]), layer())
    np.testing.assert_array_equal(done.clipped, [0, 2, 1, 0])
    np.testing.assert_array_equal(done.u, [STATE_MAX - 192, STATE_MAX - 192, -STATE_MAX, -STATE_MAX])


def test_a_current_beyond_32_bits_is_added_before_it_is_clipped() -> None:
    u, flags = integrate(ints(5, -5), np.array([2**40, -(2**40)]), decay=0)
    np.testing.assert_array_equal(u, [STATE_MAX, -STATE_MAX])
    np.testing.assert_array_equal(flags, [2, 1])


def test_the_readout_leaks_and_clips_but_never_fires() -> None:
    chip = random_network(np.random.default_rng(0), decay=1024)
    u, flags = integrate(ints(-101, STATE_MAX), ints(3, STATE_MAX), decay=chip.readout.decay)
    np.testing.assert_array_equal(u, [-72, STATE_MAX])  # -101 * 3 / 4 = -75.75 -> -75
    np.testing.assert_array_equal(flags, [0, 2])
