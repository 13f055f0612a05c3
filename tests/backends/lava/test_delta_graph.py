"""Delta encoding as our own Lava processes: on random graphs, every message, sum, clip and operation is the reference's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from tests.backends.lava.needs import needs_lava
from tests.helpers.naive_delta import simulate_delta, with_random_delta
from tests.helpers.naive_simulator import assert_same
from tests.helpers.random_graphs import random_graph
from tests.helpers.strategies import random_values

needs_lava()

from fsnn_lava.backends.lava import batched_simulator  # noqa: E402
from fsnn_lava.backends.lava.delta_simulator import DeltaSimulator  # noqa: E402
from tests.helpers.lava_threads import ThreadSession  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def _threads():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batched_simulator, "Session", ThreadSession)
        yield


@settings(max_examples=12)
@given(
    seed=st.integers(0, 2**32 - 1),
    kind=st.sampled_from(["pixels", "current", "events"]),
    wild=st.booleans(),
    activation=st.sampled_from(["clip", "clip", "relu"]),
)
def test_a_random_graph_is_the_plain_reference_bit_by_bit(seed, kind, wild, activation):
    rng = np.random.default_rng(seed)
    shape = {"layers": int(rng.integers(1, 7)), "feedbacks": int(rng.integers(0, 5)), "skips": int(rng.integers(0, 5))}
    chip = with_random_delta(rng, random_graph(rng, kind=kind, reset="subtract", strict=False, **shape), wild=wild, activation=activation)
    emulator = DeltaEmulator(chip)
    with DeltaSimulator(chip, batch=2, spikes=True) as simulator:
        for samples in (2, 1):  # the second batch starts from rest
            values = random_values(rng, chip, samples)
            expected = simulate_delta(chip, values)
            assert_same(simulator.run(values), expected)
            assert_same(emulator.run(values, spikes=True), expected)
