"""The linear system of the gradient (E5), x = A x + b, by the shortest residual that k products with A can reach (GMRES)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsnn_lava.compiled import compiled, over_samples
from fsnn_lava.errors import BadArgument

Map = Callable[[Tensor], Tensor]
WORTH_A_THREAD = 2**18  # numbers in a batch of vectors
VECTORS = 2**19  # numbers in the vectors, one per sample, that are solved for at a time
LEAST_SAMPLES = 16  # at a time: enough for a convolution to use all cores


@dataclass(frozen=True)
class Solution:
    """The best iterate that was seen, whether or not it is good enough."""

    value: Tensor  # [B, ...]
    residual: Tensor  # [B] norm of f(value) - value, divided by `scale` where one was given
    steps: int  # evaluations of f
    converged: bool  # residual <= tol for every sample


def everywhere(small_enough: Tensor) -> bool:
    """Whether it holds for every sample; what a solver stops on. On many processes, all of them must stop together."""
    return bool(small_enough.all())


def gmres(
    product: Map,
    constant: Tensor,
    *,
    scale: Tensor,
    memory: int = 10,
    tol: float = 1e-5,
    max_steps: int = 200,
) -> Solution:
    """x = product(x) + constant for a linear `product`, until the length of the residual divided by `scale` [B] is at most `tol`.

    What Anderson's mixing does for a linear map, with half of its vectors: an orthonormal basis of constant, product(constant), …
    sample by sample, begun anew with what remains after `memory` products.
    """
    if memory < 1 or max_steps < 1:
        raise BadArgument(f"memory and max_steps must be at least 1, got {memory} and {max_steps}")
    space = _Space(constant, min(memory, max_steps))
    value, steps = None, 0
    while True:
        while not (done := everywhere((residual := space.residual / scale) <= tol)) and space.steps < space.room:
            space.extend(product)
        steps += space.steps
        value = space.best() if value is None else value + space.best()
        if done or steps >= max_steps:
            return Solution(value, residual, steps, done)
        space = _Space(space.rest(), min(memory, max_steps - steps))


def gmres_in_parts(product_of: Callable[[slice], Map], constant: Tensor, *, scale: Tensor, tol: float, max_steps: int) -> Solution:
    """The same, some samples after the others, so that a basis takes little memory; `product_of(rows)` is the product for those rows.

    Its steps are those of the part that took most.
    """
    number = max(LEAST_SAMPLES, VECTORS // max(constant[0].numel(), 1)) if len(constant) else 1
    parts = [slice(first, first + number) for first in range(0, len(constant), number)] or [slice(0, 0)]
    if len(parts) == 1:
        return gmres(product_of(parts[0]), constant, scale=scale, tol=tol, max_steps=max_steps)
    value, residual = torch.empty_like(constant), torch.empty_like(scale)
    steps = 0
    for rows in parts:
        part = gmres(product_of(rows), constant[rows], scale=scale[rows], tol=tol, max_steps=max_steps)
        value[rows], residual[rows], steps = part.value, part.residual, max(steps, part.steps)
    return Solution(value, residual, steps, everywhere(residual <= tol))


class _Space:
    """Orthonormal vectors v_0 … v_k with (I - A) [v_0 … v_{k-1}] = [v_0 … v_k] H, one set per sample; H is kept as Q^T R."""

    def __init__(self, start: Tensor, room: int) -> None:
        flat = (start.permute(0, 2, 3, 1) if start.dim() == 4 else start).flatten(1)  # convolutions are faster with channels last
        samples, size = flat.shape
        self.shape, self.room, self.steps = start.shape, room, 0
        self.basis = flat.new_empty(samples, room + 1, size)
        length = flat.norm(dim=1)
        torch.div(flat, length.masked_fill(length == 0, torch.inf)[:, None], out=self.basis[:, 0])  # squares may vanish before the vector
        kind = self.basis.numpy().dtype
        self.triangle = np.zeros((samples, room, room), kind)  # R
        self.turns = np.zeros((samples, room, 2), kind)  # cosines and sines, Q
        self.target = np.zeros((samples, room + 1), kind)  # Q times the start
        self.target[:, 0] = length.numpy()

    @property
    def residual(self) -> Tensor:
        """[B] the length of the shortest residual."""
        return torch.from_numpy(np.abs(self.target[:, self.steps]))

    def extend(self, product: Map) -> None:
        """One product more."""
        k, basis = self.steps, self.basis.numpy()
        product_of_newest = product(self._as_given(self.basis[:, k]))
        mapped = (product_of_newest.permute(0, 2, 3, 1) if len(self.shape) == 4 else product_of_newest).flatten(1).contiguous().numpy()
        state = (basis, mapped, self.triangle, self.turns, self.target)
        over_samples(lambda first, end: extend_samples(first, end, k, *state), len(basis), number=self._threads(), even=True)
        self.steps += 1

    def best(self) -> Tensor:
        """The combination with the shortest residual."""
        return self._combined(combine_samples)

    def rest(self) -> Tensor:
        """The shortest residual itself."""
        return self._combined(rest_of_samples)

    def _combined(self, kernel: Callable[..., None]) -> Tensor:
        out = self.basis.new_zeros(len(self.basis), self.basis.shape[2])
        args = (self.steps, self.basis.numpy(), self.triangle, self.turns, self.target, out.numpy())
        over_samples(lambda first, end: kernel(first, end, *args), len(out), number=self._threads(), even=True)
        return self._as_given(out)

    def _as_given(self, flat: Tensor) -> Tensor:
        """[B, n] as the vectors that were given, the memory left as it is."""
        if len(self.shape) != 4:
            return flat.view(self.shape)
        samples, channels, height, width = self.shape
        return flat.view(samples, height, width, channels).permute(0, 3, 1, 2)

    def _threads(self) -> int:
        """A thread is worth waking for more than a few microseconds' work only."""
        return torch.get_num_threads() if self.basis[:, 0].numel() > WORTH_A_THREAD else 1


@partial(compiled, reorder=True)
def dot(a: Any, b: Any) -> Any:
    total = a[0] * b[0]
    for i in range(1, len(a)):
        total += a[i] * b[i]
    return total


@compiled
def add_multiple(target: Any, factor: Any, vector: Any) -> None:
    for i in range(len(target)):
        target[i] += factor * vector[i]


@compiled
def extend_samples(first: int, end: int, k: int, basis: Any, mapped: Any, triangle: Any, turns: Any, target: Any) -> None:
    """basis[:, k + 1] <- what v_k - A v_k adds to the basis; H's new column is turned, and the target along with it."""
    for b in range(first, end):
        new, column = basis[b, k + 1], triangle[b, :, k]
        for i in range(len(new)):
            new[i] = basis[b, k, i] - mapped[b, i]
        for j in range(k + 1):
            column[j] = dot(basis[b, j], new)
            add_multiple(new, -column[j], basis[b, j])
        beyond = np.sqrt(dot(new, new))
        for i in range(len(new)):
            new[i] = new[i] / beyond if beyond > 0 else beyond
        for j in range(k):
            cosine, sine = turns[b, j, 0], turns[b, j, 1]
            column[j], column[j + 1] = cosine * column[j] + sine * column[j + 1], cosine * column[j + 1] - sine * column[j]
        length = np.sqrt(column[k] * column[k] + beyond * beyond)
        if length == 0:  # nothing is left of v_k: a sample without gradient, or one without a solution, whose residual stays
            turns[b, k, 0], turns[b, k, 1] = 0, 1
            column[k] = 1
        else:  # also what is not a number: it goes on into the residual and the solution, where it is seen
            turns[b, k, 0], turns[b, k, 1] = column[k] / length, beyond / length
            column[k] = length
        target[b, k + 1] = -turns[b, k, 1] * target[b, k]
        target[b, k] *= turns[b, k, 0]


@compiled
def combine_samples(first: int, end: int, k: int, basis: Any, triangle: Any, turns: Any, target: Any, out: Any) -> None:
    """out <- [v_0 … v_{k-1}] R^-1 target, for `out` of zeros."""
    for b in range(first, end):
        weights = target[b, :k].copy()
        for j in range(k - 1, -1, -1):
            for i in range(j + 1, k):
                weights[j] -= triangle[b, j, i] * weights[i]
            weights[j] /= triangle[b, j, j]
            add_multiple(out[b], weights[j], basis[b, j])


@compiled
def rest_of_samples(first: int, end: int, k: int, basis: Any, triangle: Any, turns: Any, target: Any, out: Any) -> None:
    """out <- [v_0 … v_k] Q^T (0 … 0, last of target), for `out` of zeros."""
    for b in range(first, end):
        last = target[b, k]
        for j in range(k - 1, -1, -1):
            add_multiple(out[b], turns[b, j, 0] * last, basis[b, j + 1])
            last = -turns[b, j, 1] * last
        add_multiple(out[b], last, basis[b, 0])
