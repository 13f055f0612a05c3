"""Sums of rows in vector registers, as LLVM code: up to 64 sums stay in registers until all rows are added.

A loop compiled from Python would read and write the targets once per row. Bytes are added in 16 bits, twice as many at a time, as long
as no sum can overflow. Element types come from numba, never from an LLVM pointer, so the code is the same for typed and opaque pointers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 16  # numbers in one vector: 512 bits of float32 or int32; a processor with shorter vectors uses two or four
BYTE_ROWS = 256  # rows of bytes whose sums fit in 16 bits: 256 * -128 is the smallest 16-bit number
_INDEX = ir.IntType(64)


class Array(NamedTuple):
    """The memory of an array, in generated code."""

    data: Any  # pointer to the first element
    kind: Any  # LLVM type of an element


class Rows(NamedTuple):
    """Which rows to add: weight[start + indices[i] * stride + k] for first <= i < end."""

    weight: Array
    start: Any
    indices: Array
    first: Any
    end: Any
    stride: Any
    amounts: Array | None = None  # each row is multiplied by amounts[indices[i]]


def adding(width: int, *, chains: int = 1) -> Callable[..., None]:
    """Return vector code for add(target, into, weight, start, indices, first, end, stride), with `width` adjacent targets:

    target[into + k] += sum of weight[start + indices[i] * stride + k] for first <= i < end and k < width.
    `chains`: number of separate sums, each over every chains-th row, so that an addition does not wait for the previous one.
    """

    @intrinsic
    def add(_: Any, target: Any, into: Any, weight: Any, start: Any, indices: Any, first: Any, end: Any, stride: Any) -> Any:
        number = types.int64

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            to, weights, which = (_array(context, builder, signature.args[i], values[i]) for i in (0, 2, 4))
            rows = Rows(weights, values[3], which, values[5], values[6], values[7])
            _emit(builder, to, values[1], rows, width, chains=chains)
            return context.get_dummy_value()

        return types.void(target, number, weight, number, indices, number, number, number), generate

    return add  # type: ignore[no-any-return]


def adding_graded(width: int) -> Callable[..., None]:
    """Return vector code that multiplies each row by amounts[indices[i]].

    Its arguments are add(target, into, weight, start, indices, amounts, first, end, stride). Amounts are unsigned bytes or signed integers.
    """

    @intrinsic
    def add(_: Any, target: Any, into: Any, weight: Any, start: Any, indices: Any, amounts: Any, first: Any, end: Any, stride: Any) -> Any:
        number = types.int64

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            to, weights, which, much = (_array(context, builder, signature.args[i], values[i]) for i in (0, 2, 4, 5))
            _emit(builder, to, values[1], Rows(weights, values[3], which, values[6], values[7], values[8], much), width)
            return context.get_dummy_value()

        return types.void(target, number, weight, number, indices, amounts, number, number, number), generate

    return add  # type: ignore[no-any-return]


def check_row_vectors(*, opaque: bool = False) -> None:
    """Emit vector code for bytes, floats and amounts into a separate module and let LLVM verify it; raise if it is not valid.

    `opaque`: use opaque pointers; by default, use those that this llvmlite creates.
    """
    byte, number, index, real = ir.IntType(8), ir.IntType(32), ir.IntType(32), ir.FloatType()
    for target, weight, graded in ((number, byte, False), (real, real, False), (number, byte, True), (real, real, True)):
        kinds = (target, weight, index, byte)
        pointers = [ir.PointerType() if opaque else kind.as_pointer() for kind in kinds]
        module = ir.Module()
        function = ir.Function(module, ir.FunctionType(ir.VoidType(), [*pointers, *[_INDEX] * 5]), "add")
        builder = ir.IRBuilder(function.append_basic_block())
        to, weights, which, much = (Array(value, kind) for value, kind in zip(function.args, kinds))
        into, start, first, end, stride = function.args[4:]
        _emit(builder, to, into, Rows(weights, start, which, first, end, stride, much if graded else None), 32, chains=1 if graded else 2)
        builder.ret_void()
        binding.parse_assembly(str(module)).verify()


def _array(context: Any, builder: Any, kind: Any, value: Any) -> Array:
    return Array(context.make_array(kind)(context, builder, value).data, context.get_data_type(kind.dtype))


def _emit(builder: Any, target: Array, into: Any, rows: Rows, width: int, *, chains: int = 1) -> None:
    """Emit code that adds the rows to `width` targets from `into` on."""
    narrow = rows.weight.kind == ir.IntType(8) and isinstance(target.kind, ir.IntType)
    if narrow and rows.amounts is None:
        _emit_bytes(builder, target, into, rows, width)
    else:
        _emit_rows(builder, target, into, rows, width, chains)


def _emit_rows(builder: Any, target: Array, into: Any, rows: Rows, width: int, chains: int) -> None:
    """Emit sums in registers, a loop over the rows, and one update of the targets."""
    exact = isinstance(target.kind, ir.IntType)
    lanes = min(LANES, width)
    vectors = width // lanes
    vector, stored = ir.VectorType(target.kind, lanes), ir.VectorType(rows.weight.kind, lanes)
    plus, times = (builder.add, builder.mul) if exact else (builder.fadd, builder.fmul)
    begin = _element(builder, target, into)
    places = [_element(builder, Array(begin, target.kind), ir.Constant(_INDEX, n * lanes)) for n in range(vectors)]
    zeros = [ir.Constant(vector, None)] * vectors
    initial = [[_load(builder, place, vector, align=_bytes(target.kind)) for place in places], *[zeros] * (chains - 1)]
    sums = [[cgutils.alloca_once_value(builder, value) for value in chain] for chain in initial]

    def add_row(i: Any, chain: int) -> None:
        index, row = _row(builder, rows, i)
        scale = None
        if rows.amounts is not None:
            scale = _in_all_lanes(builder, _load(builder, _element(builder, rows.amounts, index), rows.amounts.kind), vector)
        for position, total in enumerate(sums[chain]):
            place = _element(builder, Array(row, rows.weight.kind), ir.Constant(_INDEX, position * lanes))
            more = _load(builder, place, stored, align=_bytes(rows.weight.kind))
            if exact and stored != vector:
                more = builder.sext(more, vector)
            _store(builder, plus(_load(builder, total, vector), more if scale is None else times(more, scale)), total)

    rest = builder.srem(builder.sub(rows.end, rows.first), ir.Constant(_INDEX, chains))
    with cgutils.for_range_slice(builder, builder.add(rows.first, rest), rows.end, ir.Constant(_INDEX, chains)) as (i, _):
        for chain in range(chains):
            add_row(builder.add(i, ir.Constant(_INDEX, chain)), chain)
    with cgutils.for_range_slice(builder, rows.first, builder.add(rows.first, rest), ir.Constant(_INDEX, 1)) as (i, _):
        add_row(i, 0)
    for position, place in enumerate(places):
        total = _load(builder, sums[0][position], vector)
        for others in sums[1:]:
            total = plus(total, _load(builder, others[position], vector))
        _store(builder, total, place, align=_bytes(target.kind))


def _emit_bytes(builder: Any, target: Array, into: Any, rows: Rows, width: int) -> None:
    """Emit the same for bytes: sums of up to BYTE_ROWS rows in 16 bits, which are then added to the targets."""
    lanes = min(LANES, width)
    byte, short, wide = (ir.VectorType(kind, lanes) for kind in (rows.weight.kind, ir.IntType(16), target.kind))
    begin = _element(builder, target, into)
    offsets = [ir.Constant(_INDEX, n * lanes) for n in range(width // lanes)]
    sums = [cgutils.alloca_once(builder, short) for _ in offsets]
    with cgutils.for_range_slice(builder, rows.first, rows.end, ir.Constant(_INDEX, BYTE_ROWS)) as (start, _):
        for total in sums:
            _store(builder, ir.Constant(short, None), total)
        stop = builder.add(start, ir.Constant(_INDEX, BYTE_ROWS))
        stop = builder.select(builder.icmp_signed("<", stop, rows.end), stop, rows.end)
        with cgutils.for_range_slice(builder, start, stop, ir.Constant(_INDEX, 1)) as (i, _):
            _, row = _row(builder, rows, i)
            for offset, total in zip(offsets, sums, strict=True):
                more = _load(builder, _element(builder, Array(row, rows.weight.kind), offset), byte, align=1)
                _store(builder, builder.add(_load(builder, total, short), builder.sext(more, short)), total)
        for offset, total in zip(offsets, sums, strict=True):
            place, align = _element(builder, Array(begin, target.kind), offset), _bytes(target.kind)
            more = builder.sext(_load(builder, total, short), wide)
            _store(builder, builder.add(_load(builder, place, wide, align=align), more), place, align=align)


def _row(builder: Any, rows: Rows, i: Any) -> tuple[Any, Any]:
    """Return indices[i] and the address of that row's first weight."""
    index = builder.sext(_load(builder, _element(builder, rows.indices, i), rows.indices.kind), _INDEX)
    return index, _element(builder, rows.weight, builder.add(rows.start, builder.mul(index, rows.stride)))


def _in_all_lanes(builder: Any, amount: Any, vector: Any) -> Any:
    """Return a vector with an amount in every lane: a byte is unsigned (a pixel), anything wider is signed (a change)."""
    byte = amount.type == ir.IntType(8)
    if isinstance(vector.element, ir.IntType):
        wide = builder.zext(amount, vector.element) if byte else builder.sext(amount, vector.element)
    else:
        wide = builder.uitofp(amount, vector.element) if byte else builder.sitofp(amount, vector.element)
    lanes = ir.Constant(vector, ir.Undefined)
    for lane in range(vector.count):
        lanes = builder.insert_element(lanes, wide, ir.Constant(ir.IntType(32), lane))
    return lanes


def _opaque(pointer: Any) -> bool:
    """Return whether a pointer is opaque; llvmlite before 0.44 has only typed ones."""
    return getattr(pointer.type, "is_opaque", False)


def _element(builder: Any, array: Array, index: Any) -> Any:
    """Return the address of array[index]."""
    if _opaque(array.data):
        return builder.gep(array.data, [index], source_etype=array.kind)
    return builder.gep(array.data, [index])


def _load(builder: Any, pointer: Any, kind: Any, *, align: int | None = None) -> Any:
    if _opaque(pointer):
        return builder.load(pointer, align=align, typ=kind)
    return builder.load(builder.bitcast(pointer, kind.as_pointer()), align=align)


def _store(builder: Any, value: Any, pointer: Any, *, align: int | None = None) -> None:
    builder.store(value, pointer if _opaque(pointer) else builder.bitcast(pointer, value.type.as_pointer()), align=align)


def _bytes(kind: Any) -> int:
    return kind.width // 8 if isinstance(kind, ir.IntType) else {ir.FloatType(): 4, ir.DoubleType(): 8}[kind]
