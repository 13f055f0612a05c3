"""target += sum of rows of a matrix: the innermost loop of everything event-driven, written for the processor's vectors.

A loop that a compiler makes of this reads and writes the targets once per row. Here up to 64 sums stay in registers until all
rows are added.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fsnn_lava.compiled import compiled

LANES = 8  # numbers in one vector: 256 bits of float32 or int32; a processor with shorter vectors takes two for one


def _adding(width: int, *, graded: bool = False) -> Callable[..., None]:
    """The loop over rows for `width` neighbouring targets; `graded`: each row times amounts[indices[i]], which follow the indices."""

    @intrinsic
    def add(_: Any, target: Any, into: Any, weight: Any, start: Any, indices: Any, first: Any, end: Any, stride: Any) -> Any:
        """target[into + k] += sum of weight[start + indices[i] * stride + k] for first <= i < end and k < width."""
        number = types.int64
        signature = types.void(target, number, weight, number, indices, number, number, number)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            to, rows, which = (context.make_array(signature.args[i])(context, builder, values[i]).data for i in (0, 2, 4))
            into, start, first, end, stride = (values[i] for i in (1, 3, 5, 6, 7))
            _emit(builder, to, rows, which, into, start, first, end, stride, width // LANES)
            return context.get_dummy_value()

        return signature, generate

    @intrinsic
    def add_graded(
        _: Any, target: Any, into: Any, weight: Any, start: Any, indices: Any, amounts: Any, first: Any, end: Any, stride: Any
    ) -> Any:
        """target[into + k] += sum of amounts[indices[i]] * weight[start + indices[i] * stride + k] for first <= i < end and k < width."""
        number = types.int64
        signature = types.void(target, number, weight, number, indices, amounts, number, number, number)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            to, rows, which, much = (context.make_array(signature.args[i])(context, builder, values[i]).data for i in (0, 2, 4, 5))
            into, start, first, end, stride = (values[i] for i in (1, 3, 6, 7, 8))
            _emit(builder, to, rows, which, into, start, first, end, stride, width // LANES, much)
            return context.get_dummy_value()

        return signature, generate

    return add_graded if graded else add  # type: ignore[no-any-return]


def _emit(
    builder: Any,
    target: Any,
    weight: Any,
    indices: Any,
    into: Any,
    start: Any,
    first: Any,
    end: Any,
    stride: Any,
    vectors: int,
    amounts: Any = None,
) -> None:
    """The machine-independent code of `add`: `vectors` sums in registers, a loop over the rows, one update of the targets."""
    long = ir.IntType(64)
    kind, stored = target.type.pointee, weight.type.pointee
    exact = isinstance(kind, ir.IntType)
    vector = ir.VectorType(kind, LANES)

    def part(base: Any, position: int, of: Any) -> Any:
        place = builder.gep(base, [ir.Constant(long, position * LANES)])
        return builder.bitcast(place, ir.VectorType(of, LANES).as_pointer())

    places = [part(builder.gep(target, [into]), position, kind) for position in range(vectors)]
    sums = [cgutils.alloca_once_value(builder, builder.load(place, align=_bytes(kind))) for place in places]
    with cgutils.for_range_slice(builder, first, end, ir.Constant(long, 1)) as (i, _):
        index = builder.sext(builder.load(builder.gep(indices, [i])), long)
        scale = None if amounts is None else _everywhere(builder, builder.load(builder.gep(amounts, [index])), vector)
        row = builder.gep(weight, [builder.add(start, builder.mul(index, stride))])
        for position, total in enumerate(sums):
            more = builder.load(part(row, position, stored), align=_bytes(stored))
            if exact and stored != kind:
                more = builder.sext(more, vector)
            if scale is not None:
                more = (builder.mul if exact else builder.fmul)(more, scale)
            builder.store((builder.add if exact else builder.fadd)(builder.load(total), more), total)
    for place, total in zip(places, sums, strict=True):
        builder.store(builder.load(total), place, align=_bytes(kind))


def _everywhere(builder: Any, amount: Any, vector: Any) -> Any:
    """An amount (an unsigned byte) in every lane."""
    wide = builder.zext(amount, vector.element) if isinstance(vector.element, ir.IntType) else builder.uitofp(amount, vector.element)
    lanes = ir.Constant(vector, ir.Undefined)
    for lane in range(LANES):
        lanes = builder.insert_element(lanes, wide, ir.Constant(ir.IntType(32), lane))
    return lanes


def _bytes(kind: Any) -> int:
    return kind.width // 8 if isinstance(kind, ir.IntType) else {ir.FloatType(): 4, ir.DoubleType(): 8}[kind]


add_64, _add_32, _add_16, _add_8 = (_adding(width) for width in (64, 32, 16, 8))
add_64_graded, _add_16_graded = (_adding(width, graded=True) for width in (64, 16))


@compiled
def add_rest(target: Any, into: Any, weight: Any, start: Any, indices: Any, first: Any, end: Any, number: Any) -> None:
    """The same for `number` < 64 targets, which is also the length of a row."""
    k = np.int64(0)
    if number - k >= 32:
        _add_32(target, into, weight, start, indices, first, end, number)
        k += 32
    if number - k >= 16:
        _add_16(target, into + k, weight, start + k, indices, first, end, number)
        k += 16
    if number - k >= 8:
        _add_8(target, into + k, weight, start + k, indices, first, end, number)
        k += 8
    for i in range(first, end):
        row = start + np.int64(indices[i]) * number
        for rest in range(k, number):
            target[into + rest] += weight[row + rest]


@compiled
def add_rest_graded(target: Any, into: Any, weight: Any, start: Any, indices: Any, amounts: Any, first: Any, end: Any, number: Any) -> None:
    """The same with amounts."""
    k = np.int64(0)
    while number - k >= 16:
        _add_16_graded(target, into + k, weight, start + k, indices, amounts, first, end, number)
        k += 16
    for i in range(first, end):
        row = start + np.int64(indices[i]) * number
        for rest in range(k, number):
            target[into + rest] += weight[row + rest] * amounts[indices[i]]
