"""The plain arithmetic of the references: exact sums, and nothing taken from what they check."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.ir.network import DenseSynapse
from fsnn_lava.verify import reference_arithmetic
from fsnn_lava.verify.reference_arithmetic import reference_sum


def test_it_imports_no_compiled_code():
    tree = ast.parse(Path(reference_arithmetic.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any("compiled" in str(module) or "backends" in str(module) for module in modules)


@pytest.mark.parametrize("message", [40, 66, 67, 255])
def test_sums_are_exact_on_both_sides_of_what_float32_holds(message):
    """2001 weights of 127 and -126: 2001 * 127 * 66 is just below 2**24, with 67 it is above."""
    weight = np.random.default_rng(0).choice(np.array([127, -126], np.int8), (3, 2001))
    weight[0] = 127
    sent = np.full((2, 2001), message, np.uint8)
    sent[1, ::3] = 1
    synapse = DenseSynapse(source="a", target="b", weight=weight)
    expected = sent.astype(np.int64) @ weight.T.astype(np.int64)
    np.testing.assert_array_equal(reference_sum(synapse, sent), expected)
