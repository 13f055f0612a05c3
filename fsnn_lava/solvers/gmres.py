"""The linear system of the gradient (E5), x = A x + b, by the shortest residual that k products with A can reach (GMRES)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsnn_lava.compiled.compiler import compiled
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.errors import BadArgument

Map = Callable[[Tensor], Tensor]
WORTH_A_THREAD = 2**18  # numbers in a batch of vectors
VECTORS = 2**19  # numbers in the vectors, one per sample, that are solved for at a time
LEAST_SAMPLES = 16  # at a time: enough for a convolution to use all cores


@dataclass(frozen=True)
class Solution:
    """The best iterate that was seen, whether or not it is good enough."""

    value: Tensor  # [B, ...]
    residual: Tensor  # [B] norm of f(value) - value, divided by `scale` where one was given; gone ahead, that of the point before
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
    gain: Tensor | None = None,
    ahead: bool = False,
    memory: int = 10,
    tol: float = 1e-5,
    max_steps: int = 200,
) -> Solution:
    """x = product(gain x) + constant for a linear `product`, until the length of the residual divided by `scale` [B] is at most `tol`.

    What Anderson's mixing does for a linear map, with half of its vectors: an orthonormal basis of constant, product(constant), …
    sample by sample, begun anew with what remains after `memory` products. `ahead`: where that x is found, the value is
    product(gain x) + constant, which is x and its residual and so costs nothing; where the map contracts it is nearer than the residual
    of x says.
    """
    if memory < 1 or max_steps < 1:
        raise BadArgument(f"memory and max_steps must be at least 1, got {memory} and {max_steps}")
    space = _Space(constant, gain, min(memory, max_steps))
    bounds, value, steps = (tol * scale).clamp(max=torch.finfo(scale.dtype).max).numpy(), None, 0  # nothing infinite is within them
    while True:
        while not (done := space.within(bounds)) and space.steps < space.room:
            space.extend(product)
        steps += space.steps
        last = done or steps >= max_steps
        part = space.combination(best=True, rest=done and ahead)
        value = part if value is None else value + part
        if last:
            return Solution(value, space.residual / scale, steps, done)
        space = _Space(space.combination(best=False, rest=True), gain, min(memory, max_steps - steps))


def gmres_in_parts(
    product: Map, constant: Tensor, *, scale: Tensor, gain: Tensor | None, ahead: bool, tol: float, max_steps: int
) -> Solution:
    """The same, some samples after the others, so that a basis takes little memory; `product` takes any number of samples.

    Its steps are those of the part that took most.
    """
    number = max(LEAST_SAMPLES, VECTORS // max(constant[0].numel(), 1)) if len(constant) else 1
    parts = [slice(first, first + number) for first in range(0, len(constant), number)] or [slice(0, 0)]
    options: dict[str, Any] = {"ahead": ahead, "tol": tol, "max_steps": max_steps}
    if len(parts) == 1:
        return gmres(product, constant, scale=scale, gain=gain, **options)
    value, residual = torch.empty_like(constant), torch.empty_like(scale)
    steps = 0
    for rows in parts:
        part = gmres(product, constant[rows], scale=scale[rows], gain=None if gain is None else gain[rows], **options)
        value[rows], residual[rows], steps = part.value, part.residual, max(steps, part.steps)
    return Solution(value, residual, steps, everywhere(residual <= tol))


class _Space:
    """Orthonormal vectors v_0 … v_k with (I - A) [v_0 … v_{k-1}] = [v_0 … v_k] H, one set per sample; H is kept as Q^T R."""

    def __init__(self, start: Tensor, gain: Tensor | None, room: int) -> None:
        flat = _flat(start).contiguous()
        samples, size = flat.shape
        self.shape, self.room, self.steps = start.shape, room, 0
        basis = flat.new_empty(room + 1, samples, size)
        self.following = basis.unbind(0) if gain is None else [torch.empty_like(flat)] * room  # what each product is taken of
        self.basis, kind = basis.numpy(), basis.numpy().dtype
        self.gain = np.empty((samples, 0), kind) if gain is None else _flat(gain).contiguous().numpy()
        self.triangle = np.zeros((samples, room, room), kind)  # R
        self.turns = np.zeros((samples, room, 2), kind)  # cosines and sines, Q
        self.target = np.zeros((samples, room + 1), kind)  # Q times the start
        self.threads = torch.get_num_threads() if flat.numel() > WORTH_A_THREAD else 1
        self._each(start_samples, flat.numpy(), self.basis, self.target, self.gain, self.following[0].numpy())

    def within(self, bounds: Any) -> bool:
        """Whether every sample's shortest residual is; one that is not a number, or infinite, is not."""
        return bool((np.abs(self.target[:, self.steps]) <= bounds).all())

    @property
    def residual(self) -> Tensor:
        """[B] the length of the shortest residual."""
        return torch.from_numpy(np.abs(self.target[:, self.steps]))

    def extend(self, product: Map) -> None:
        """One product more."""
        k = self.steps
        mapped = _flat(product(self._as_given(self.following[k]))).contiguous().numpy()
        scaled = self.following[min(k + 1, self.room - 1)].numpy()  # after the last of them nobody asks
        self._each(extend_samples, k, self.basis, mapped, self.triangle, self.turns, self.target, self.gain, scaled)
        self.steps += 1

    def combination(self, *, best: bool, rest: bool) -> Tensor:
        """The sum of what is asked for: the combination with the shortest residual, and that residual itself."""
        out = torch.empty_like(self.following[0])
        self._each(combine_samples, self.steps, self.basis, self.triangle, self.turns, self.target, best, rest, out.numpy())
        return self._as_given(out)

    def _each(self, function: Callable[..., None], *args: Any) -> None:
        """function(first, end, *args) for all samples; a thread is worth waking for more than a few microseconds' work only."""
        samples = len(self.target)
        if self.threads == 1:
            function(0, samples, *args)
        else:
            over_samples(lambda first, end: function(first, end, *args), samples, number=self.threads, least=samples)

    def _as_given(self, flat: Tensor) -> Tensor:
        """[B, n] as the vectors that were given, the memory left as it is."""
        if len(self.shape) != 4:
            return flat.view(self.shape)
        samples, channels, height, width = self.shape
        return flat.view(samples, height, width, channels).permute(0, 3, 1, 2)


def _flat(vectors: Tensor) -> Tensor:
    """[B, n]; convolutions are faster with channels last."""
    return (vectors.permute(0, 2, 3, 1) if vectors.dim() == 4 else vectors).flatten(1)


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
def start_samples(first: int, end: int, start: Any, basis: Any, target: Any, gain: Any, scaled: Any) -> None:
    """basis[0] <- the start's direction, target[:, 0] its length; scaled <- gain times that direction, unless gain is empty."""
    for b in range(first, end):
        length = np.sqrt(dot(start[b], start[b]))  # the square of something tiny may vanish: then it counts as nothing
        new, target[b, 0] = basis[0, b], length
        for i in range(len(new)):
            new[i] = start[b, i] / length if length != 0 else length
        scale_sample(b, new, gain, scaled)


@compiled
def scale_sample(b: int, new: Any, gain: Any, scaled: Any) -> None:
    for i in range(gain.shape[1]):
        scaled[b, i] = gain[b, i] * new[i]


@compiled
def extend_samples(first: int, end: int, k: int, basis: Any, mapped: Any, triangle: Any, turns: Any, target: Any,
                   gain: Any, scaled: Any) -> None:  # fmt: skip
    """basis[k + 1] <- what v_k - A v_k adds to the basis; H's new column is turned, and the target along with it.

    scaled <- gain times the new vector, unless gain is empty.
    """
    for b in range(first, end):
        new, column = basis[k + 1, b], triangle[b, :, k]
        for i in range(len(new)):
            new[i] = basis[k, b, i] - mapped[b, i]
        for j in range(k + 1):
            column[j] = dot(basis[j, b], new)
            add_multiple(new, -column[j], basis[j, b])
        beyond = np.sqrt(dot(new, new))
        for i in range(len(new)):
            new[i] = new[i] / beyond if beyond > 0 else beyond
        scale_sample(b, new, gain, scaled)
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
def combine_samples(first: int, end: int, k: int, basis: Any, triangle: Any, turns: Any, target: Any, best: Any, rest: Any,
                    out: Any) -> None:  # fmt: skip
    """out <- best: [v_0 … v_{k-1}] R^-1 target; rest: [v_0 … v_k] Q^T (0 … 0, last of target); both: their sum."""
    for b in range(first, end):
        weights = np.zeros(k + 1, target.dtype)
        if best:
            for j in range(k - 1, -1, -1):
                weights[j] = target[b, j]
                for i in range(j + 1, k):
                    weights[j] -= triangle[b, j, i] * weights[i]
                weights[j] /= triangle[b, j, j]
        if rest:
            last = target[b, k]
            for j in range(k - 1, -1, -1):
                weights[j + 1] += turns[b, j, 0] * last
                last = -turns[b, j, 1] * last
            weights[0] += last
        for i in range(out.shape[1]):
            out[b, i] = weights[0] * basis[0, b, i]
        for j in range(1, k + 1):
            add_multiple(out[b], weights[j], basis[j, b])
