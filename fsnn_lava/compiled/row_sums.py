"""target += sum of rows of a matrix: the innermost loop of everything event-driven, written for the processor's vectors.

A loop that a compiler makes of this reads and writes the targets once per row. Here up to 64 sums stay in registers until all
rows are added. Bytes are added in 16 bits as long as no sum can overflow: twice as many at a time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from fsnn_lava.compiled.compiler import compiled

LANES = 8  # numbers in one vector: 256 bits of float32 or int32; a processor with shorter vectors takes two for one
BLOCK = 16  # targets whose weights from some hundred sources stay in the nearest cache while many samples use them
ROWS = 256  # bytes whose sum fits 16 bits: 256 times -128 is the lowest number of 16 bits


def _adding(width: int, *, graded: bool = False, chains: int = 1) -> Callable[..., None]:
    """The loop over rows for `width` neighbouring targets; `graded`: each row times amounts[indices[i]], which follow the indices.

    `chains`: sums of every chains-th row, added up in the end: an addition need not wait for the one before.
    """

    @intrinsic
    def add(_: Any, target: Any, into: Any, weight: Any, start: Any, indices: Any, first: Any, end: Any, stride: Any) -> Any:
        """target[into + k] += sum of weight[start + indices[i] * stride + k] for first <= i < end and k < width."""
        number = types.int64
        signature = types.void(target, number, weight, number, indices, number, number, number)

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            to, rows, which = (context.make_array(signature.args[i])(context, builder, values[i]).data for i in (0, 2, 4))
            into, start, first, end, stride = (values[i] for i in (1, 3, 5, 6, 7))
            narrow = rows.type.pointee == ir.IntType(8) and isinstance(to.type.pointee, ir.IntType)
            if narrow:
                _emit_bytes(builder, to, rows, which, into, start, first, end, stride, width // LANES)
            else:
                _emit(builder, to, rows, which, into, start, first, end, stride, width // LANES, chains=chains)
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
    chains: int = 1,
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
    nothing = [ir.Constant(vector, None)] * vectors
    begun = [[builder.load(place, align=_bytes(kind)) for place in places], *[nothing] * (chains - 1)]
    sums = [[cgutils.alloca_once_value(builder, value) for value in chain] for chain in begun]

    def add_row(i: Any, chain: int) -> None:
        index = builder.sext(builder.load(builder.gep(indices, [i])), long)
        scale = None if amounts is None else _everywhere(builder, builder.load(builder.gep(amounts, [index])), vector)
        row = builder.gep(weight, [builder.add(start, builder.mul(index, stride))])
        for position, total in enumerate(sums[chain]):
            more = builder.load(part(row, position, stored), align=_bytes(stored))
            if exact and stored != kind:
                more = builder.sext(more, vector)
            if scale is not None:
                more = (builder.mul if exact else builder.fmul)(more, scale)
            builder.store(plus(builder.load(total), more), total)

    plus = builder.add if exact else builder.fadd
    rest = builder.srem(builder.sub(end, first), ir.Constant(long, chains))
    with cgutils.for_range_slice(builder, builder.add(first, rest), end, ir.Constant(long, chains)) as (i, _):
        for chain in range(chains):
            add_row(builder.add(i, ir.Constant(long, chain)), chain)
    with cgutils.for_range_slice(builder, first, builder.add(first, rest), ir.Constant(long, 1)) as (i, _):
        add_row(i, 0)
    for position, place in enumerate(places):
        total = builder.load(sums[0][position])
        for others in sums[1:]:
            total = plus(total, builder.load(others[position]))
        builder.store(total, place, align=_bytes(kind))


def _emit_bytes(
    builder: Any, target: Any, weight: Any, indices: Any, into: Any, start: Any, first: Any, end: Any, stride: Any, vectors: int
) -> None:
    """The same for bytes: sums of up to ROWS rows in 16 bits, then added to the targets."""
    long, byte, short, kind = ir.IntType(64), ir.IntType(8), ir.IntType(16), target.type.pointee
    lanes = min(2, vectors) * LANES
    number = vectors * LANES // lanes
    vector = ir.VectorType(short, lanes)

    def part(base: Any, position: int, of: Any) -> Any:
        place = builder.gep(base, [ir.Constant(long, position * lanes)])
        return builder.bitcast(place, ir.VectorType(of, lanes).as_pointer())

    places = [part(builder.gep(target, [into]), position, kind) for position in range(number)]
    sums = [cgutils.alloca_once(builder, vector) for _ in places]
    with cgutils.for_range_slice(builder, first, end, ir.Constant(long, ROWS)) as (begin, _):
        for total in sums:
            builder.store(ir.Constant(vector, None), total)
        stop = builder.add(begin, ir.Constant(long, ROWS))
        stop = builder.select(builder.icmp_signed("<", stop, end), stop, end)
        with cgutils.for_range_slice(builder, begin, stop, ir.Constant(long, 1)) as (i, _):
            index = builder.sext(builder.load(builder.gep(indices, [i])), long)
            row = builder.gep(weight, [builder.add(start, builder.mul(index, stride))])
            for position, total in enumerate(sums):
                more = builder.sext(builder.load(part(row, position, byte), align=1), vector)
                builder.store(builder.add(builder.load(total), more), total)
        for place, total in zip(places, sums, strict=True):
            wide = builder.sext(builder.load(total), ir.VectorType(kind, lanes))
            builder.store(builder.add(builder.load(place, align=_bytes(kind)), wide), place, align=_bytes(kind))


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
_add_block = _adding(BLOCK, chains=4)


@compiled
def add_rows(target: Any, into: Any, weight: Any, start: Any, indices: Any, first: Any, end: Any, stride: Any, number: Any) -> None:
    """The same for any `number` of neighbouring targets; rows begin `stride` numbers apart."""
    k = np.int64(0)
    while number - k >= 64:
        add_64(target, into + k, weight, start + k, indices, first, end, stride)
        k += 64
    if number - k >= 32:
        _add_32(target, into + k, weight, start + k, indices, first, end, stride)
        k += 32
    if number - k >= 16:
        _add_16(target, into + k, weight, start + k, indices, first, end, stride)
        k += 16
    if number - k >= 8:
        _add_8(target, into + k, weight, start + k, indices, first, end, stride)
        k += 8
    if k < number:
        for i in range(first, end):
            row = start + np.int64(indices[i]) * stride
            for rest in range(k, number):
                target[into + rest] += weight[row + rest]


@compiled
def add_rows_graded(
    target: Any, into: Any, weight: Any, start: Any, indices: Any, amounts: Any, first: Any, end: Any, stride: Any, number: Any
) -> None:
    """The same with amounts."""
    k = np.int64(0)
    while number - k >= 64:
        add_64_graded(target, into + k, weight, start + k, indices, amounts, first, end, stride)
        k += 64
    while number - k >= 16:
        _add_16_graded(target, into + k, weight, start + k, indices, amounts, first, end, stride)
        k += 16
    if k < number:
        for i in range(first, end):
            row = start + np.int64(indices[i]) * stride
            for rest in range(k, number):
                target[into + rest] += weight[row + rest] * amounts[indices[i]]


@compiled
def add_blocks(targets: Any, weight: Any, lists: Any, lengths: Any, sources: Any) -> None:
    """targets[b] += the rows lists[b, : lengths[b]] of a matrix, for many samples b.

    weight is [blocks, sources, BLOCK], flattened, the last block filled up with zeros, as targets are: a block serves all samples in turn.
    """
    for block in range(len(weight) // (sources * BLOCK)):
        for b in range(len(targets)):
            _add_block(targets[b], block * BLOCK, weight, block * sources * BLOCK, lists[b], 0, lengths[b], BLOCK)
