"""The restricted feedback weight alpha W^/||W^|| and its gradient (E6), each in one pass over the kernel as a matrix."""

from __future__ import annotations

import numpy as np

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.vectors import Floats, Number, add_multiple, dot, normalise, transposed_product, write_multiple


@compiled
def restrict_feedback(matrix: Floats, left: Floats, right: Floats, out: Floats, alpha: Number, iterate: bool) -> Number:
    """Set `out` to alpha matrix/||matrix||, the restricted feedback weight; return the norm.

    `left` is the tracked singular vector, advanced by one step of power iteration if `iterate`. `right` becomes matrix^T left, whose
    length is the estimate of the norm.
    """
    transposed_product(right, matrix, left)
    if iterate:
        normalise(right)
        for i in range(len(left)):
            left[i] = dot(matrix[i], right)
        normalise(left)
        transposed_product(right, matrix, left)
    norm = np.sqrt(dot(right, right))
    scale = _quotient(alpha, norm)
    for i in range(len(left)):
        write_multiple(out[i], scale, matrix[i])
    return norm


@compiled
def restrict_feedback_backward(
    grad: Floats, matrix: Floats, left: Floats, right: Floats, out: Floats, norm: Number, alpha: Number
) -> Number:
    """Set `out` to s (grad - along/||matrix||² left right^T) with s = alpha/||matrix||; return along = <grad, matrix>/||matrix||."""
    along = norm - norm
    for i in range(len(left)):
        along += _quotient(dot(grad[i], matrix[i]), norm)
    scale = _quotient(alpha, norm)
    for i in range(len(left)):
        write_multiple(out[i], scale, grad[i])
        add_multiple(out[i], -_quotient(scale * along, norm) * left[i], right)
    return along


@compiled
def _quotient(number: Number, divisor: Number) -> Number:
    """Return number / divisor; for a divisor of 0, where compiled code would raise, return NaN, which propagates and is reported later."""
    return number / divisor if divisor != 0 else number * np.nan
