"""The reference of delta encoding compared with the naive simulator, which uses full matrices: every rule of E15 on random graphs."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsnn_lava.errors import BadArgument
from fsnn_lava.verify import message_reference
from fsnn_lava.verify.divergence import differing_samples
from fsnn_lava.verify.message_reference import MessageReference
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_delta import simulate_delta, with_random_delta
from tests.helpers.random_graphs import random_graph
from tests.helpers.strategies import random_values


@settings(max_examples=25)
@given(seed=st.integers(0, 2**32 - 1), kind=st.sampled_from(["pixels", "current", "events"]), wild=st.booleans())
def test_random_graphs_give_the_same_result_as_the_naive_simulator(seed, kind, wild):
    rng = np.random.default_rng(seed)
    shape = {"layers": int(rng.integers(1, 6)), "feedbacks": int(rng.integers(0, 4)), "skips": int(rng.integers(0, 4))}
    chip = with_random_delta(rng, random_graph(rng, kind=kind, reset="subtract", strict=False, **shape), wild=wild)
    values = random_values(rng, chip, 2)
    got, expected = MessageReference(chip).run(values, spikes=True), simulate_delta(chip, values)
    assert got.spikes is not None and not differing_samples(got, expected).any()


def test_changes_are_kept_only_for_those_who_ask():
    chip = with_random_delta(np.random.default_rng(2), dense_network(2))
    assert MessageReference(chip).run(random_values(np.random.default_rng(2), chip, 1), steps=3).spikes is None


def test_a_rate_network_is_refused():
    with pytest.raises(BadArgument, match="uses rate coding; use run_reference"):
        MessageReference(dense_network(1))


def test_it_imports_no_compiled_code():
    tree = ast.parse(Path(message_reference.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any("compiled" in str(module) or "backends" in str(module) for module in modules)
