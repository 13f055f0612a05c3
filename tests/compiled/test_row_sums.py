"""Sums of rows: vectors and plain loops give the same integers, for typed and opaque pointers; loops replace vectors that fail."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
import torch
from llvmlite import ir

from fsnn_lava.compiled import row_loops, row_sums, row_vectors
from fsnn_lava.compiled.row_sums import add_row_sums_by_block
from fsnn_lava.nn.event_layout import ConnectionLayout
from fsnn_lava.nn.operators import Dense

SOURCES = 600  # more rows of bytes than 16 bits hold


def call(add: Any, target: np.ndarray, weight: np.ndarray, indices: np.ndarray, stride: int, amounts: np.ndarray | None) -> np.ndarray:
    """target with the rows added from its third element on, weights from the second, all indices but the first."""

    @numba.njit
    def spikes(target: Any, weight: Any, indices: Any, amounts: Any, stride: Any) -> None:
        add(target, np.int64(2), weight, np.int64(1), indices, np.int64(1), np.int64(len(indices)), stride)

    @numba.njit
    def graded(target: Any, weight: Any, indices: Any, amounts: Any, stride: Any) -> None:
        add(target, np.int64(2), weight, np.int64(1), indices, amounts, np.int64(1), np.int64(len(indices)), stride)

    result = target.copy()
    (spikes if amounts is None else graded)(result, weight, indices, np.zeros(1, np.uint8) if amounts is None else amounts, stride)
    return result


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("width", [8, 16, 64])
@pytest.mark.parametrize(("kind", "stored"), [(np.int32, np.int8), (np.int64, np.int8), (np.float32, np.float32)])
def test_vectors_and_loops_add_the_same_rows(kind: type, stored: type, width: int, graded: bool) -> None:
    rng = np.random.default_rng(width)
    low, stride = (-128, width + 3) if stored is np.int8 else (-9, width + 3)
    weight = rng.integers(low, -low, SOURCES * stride + 1).astype(stored)
    weight[: 300 * stride] = low  # 256 times the lowest byte is the lowest number of 16 bits
    target = rng.integers(-1000, 1000, width + 4).astype(kind)
    indices = np.sort(rng.choice(SOURCES, 500, replace=False)).astype(np.int32)
    amounts = rng.integers(0, 256, SOURCES).astype(np.uint8) if graded else None
    rows = np.stack([weight[1 + i * stride : 1 + i * stride + width] for i in indices[1:]]).astype(np.int64)
    scale = amounts[indices[1:], None].astype(np.int64) if amounts is not None else 1
    expected = target.copy()
    expected[2:-2] += (rows * scale).sum(axis=0).astype(kind)  # small integers: exact in float32
    for module in (row_vectors, row_loops):
        add = module.adding_graded(width) if graded else module.adding(width)
        np.testing.assert_array_equal(call(add, target, weight, indices, stride, amounts), expected, err_msg=module.__name__)


def test_the_code_is_valid_for_the_pointers_of_this_llvmlite() -> None:
    row_vectors.check_row_vectors()


@pytest.mark.skipif(not hasattr(ir.PointerType, "is_opaque"), reason="this llvmlite has no opaque pointers")
def test_the_code_is_valid_for_opaque_pointers(monkeypatch: pytest.MonkeyPatch) -> None:
    """llvmlite is about to remove typed ones."""
    row_vectors.check_row_vectors(opaque=True)
    monkeypatch.setattr(row_vectors, "_opaque", lambda pointer: False)  # code for typed pointers would be noticed
    with pytest.raises(ValueError, match="GEP lacks type"):
        row_vectors.check_row_vectors(opaque=True)


def test_where_vectors_are_not_accepted_loops_are_used_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    assert row_sums.fastest_row_sums() is row_vectors

    def fail(*_: object, **__: object) -> None:
        raise AttributeError("'PointerType' object has no attribute 'pointee'")

    monkeypatch.setattr(row_vectors, "_emit", fail)
    with pytest.warns(UserWarning, match=r"LLVM does not accept the vector code .*'pointee'.*; plain loops are used"):
        assert row_sums.fastest_row_sums() is row_loops


WITH_LOOPS = """
import numpy as np
from fsnn_lava.compiled import row_loops, row_vectors

def refuse():
    raise ValueError("refused")

row_vectors.check_row_vectors = refuse
from fsnn_lava.compiled import row_sums
from fsnn_lava.compiled.scatter import scatter_form, scatter
from fsnn_lava.ir.network import ConvSynapse
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from tests.helpers.naive_simulator import matrix_of

assert row_sums._chosen is row_loops
rng = np.random.default_rng(0)
synapse = ConvSynapse(source="a", target="b", weight=rng.integers(-127, 128, (100, 5, 3, 3)), stride=(2, 2), padding=(1, 1))
laid = compiled_synapse(synapse, (5, 6, 4), (100, 3, 2))
fired = np.flatnonzero(rng.random(120) < 0.6).astype(np.int32)
total, spikes = np.zeros(600, np.int32), np.zeros(120, np.int64)
scatter(total, laid.blocks, fired, np.zeros(0, np.uint8), scatter_form(laid), laid.row_spans, laid.column_spans)
spikes[fired] = 1
sent = spikes.reshape(6, 4, 5).transpose(2, 0, 1).reshape(-1)
print(np.array_equal(total.reshape(3, 2, 100).transpose(2, 0, 1).reshape(-1), matrix_of(synapse, (5, 6, 4), (100, 3, 2)) @ sent))
"""


def test_a_convolution_with_loops_is_the_matrix_product(tmp_path: Path) -> None:
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run([sys.executable, "-c", WITH_LOOPS], capture_output=True, text=True, env=settings, timeout=280)
    assert (done.stdout, done.stderr) == ("True\n", "")


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("source", [(7,), (2, 3, 4)])
@pytest.mark.parametrize("targets", [1, 15, 16, 17, 40])
def test_blocks_of_targets_get_what_the_matrix_sends_them(targets, source, dtype):
    """From no spike to all of them; small integers are exact."""
    torch.manual_seed(targets)
    size, full = int(np.prod(source)), -(-targets // 16) * 16
    weight = torch.randint(-9, 10, (targets, size)).to(dtype)
    spikes = torch.tensor([[float(i < number) for i in torch.randperm(size)] for number in range(size + 1)]).to(dtype)
    begin = 2  # what stands before it must not be read
    lists, lengths = np.full((size + 1, size + 3), 10**6, np.int32), np.zeros(size + 1, np.int64)
    for b, fired in enumerate(spikes.view(-1, *source).permute(0, 2, 3, 1).flatten(1) if len(source) == 3 else spikes):
        found = np.flatnonzero(fired.numpy())
        lists[b, begin : begin + len(found)], lengths[b] = found, len(found)
    blocks = ConnectionLayout(Dense(in_shape=source, channels=targets), in_blocks=True).ordered(weight)
    out = torch.ones(size + 1, full, dtype=dtype)
    add_row_sums_by_block(out.numpy(), blocks.numpy(), lists, begin, lengths, size)
    assert torch.equal(out[:, :targets] - 1, spikes @ weight.t())
    assert bool((out[:, targets:] == 1).all())
