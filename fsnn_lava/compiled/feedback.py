"""The restricted feedback weight alpha W^/||W^|| and its gradient (E6), each in one pass over the kernel as a matrix."""

from __future__ import annotations

import numpy as np

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.vectors import Floats, Number, add_multiple, dot, normalise, quotient, transposed_product, write_multiple


@compiled
def restrict_feedback(matrix: Floats, left: Floats, right: Floats, out: Floats, alpha: Number, iterate: bool) -> Number:
    """out <- alpha matrix/||matrix||, the restricted feedback weight; returns the norm.

    `left` is the tracked singular vector, advanced by one step of power iteration if `iterate`; `right` <- matrix^T left, whose length is
    the estimate of the norm.
    """
    transposed_product(right, matrix, left)
    if iterate:
        normalise(right)
        for i in range(len(left)):
            left[i] = dot(matrix[i], right)
        normalise(left)
        transposed_product(right, matrix, left)
    norm = np.sqrt(dot(right, right))
    scale = quotient(alpha, norm)
    for i in range(len(left)):
        write_multiple(out[i], scale, matrix[i])
    return norm


@compiled
def restrict_feedback_backward(
    grad: Floats, matrix: Floats, left: Floats, right: Floats, out: Floats, norm: Number, alpha: Number
) -> Number:
    """out <- s (grad - along/||matrix||² left right^T) with s = alpha/||matrix||; returns along = <grad, matrix>/||matrix||."""
    along = norm - norm
    for i in range(len(left)):
        along += quotient(dot(grad[i], matrix[i]), norm)
    scale = quotient(alpha, norm)
    for i in range(len(left)):
        write_multiple(out[i], scale, grad[i])
        add_multiple(out[i], -quotient(scale * along, norm) * left[i], right)
    return along
