"""GMRES for x = A x + b: after k products with A, the iterate has the smallest residual in the space that the products span."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fsnn_lava.compiled.gmres import combine_gmres, extend_gmres, start_gmres
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.compiled.vectors import Floats
from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.solution import Map, Solution, every_sample

WORTH_A_THREAD = 2**18  # numbers in a batch of vectors, above which threads pay off
NUMBERS_AT_ONCE = 2**19  # numbers in the vectors, one per sample, that are solved for together
LEAST_SAMPLES = 16  # samples solved together, enough for a convolution to use all cores


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
    """Solve x = product(gain x) + constant by GMRES for a linear `product`, until |residual| / `scale` [B] is at most `tol`.

    It builds an orthonormal basis of constant, product(constant), … sample by sample, and restarts after `memory` products. The iterates
    are those of Anderson mixing on a linear map, with half as many vectors.

    `ahead`: once x is found, return product(gain x) + constant instead. That is x plus its residual, so it needs no extra product, and it
    is closer to the solution wherever the map contracts. `residual` is still that of x.
    """
    if memory < 1 or max_steps < 1:
        raise BadArgument(f"memory and max_steps must be at least 1, got {memory} and {max_steps}")
    space = _KrylovSpace(constant, gain, min(memory, max_steps))
    bounds = (tol * scale).clamp(max=torch.finfo(scale.dtype).max).numpy()  # finite, so that an infinite residual is never within bounds
    value, steps = None, 0
    while True:
        while not (done := space.within(bounds)) and space.steps < space.room:
            space.extend(product)
        steps += space.steps
        part = space.combination(solution=True, residual=done and ahead)
        value = part if value is None else value + part
        if done or steps >= max_steps:
            return Solution(value, space.residual / scale, steps, done)
        space = _KrylovSpace(space.combination(solution=False, residual=True), gain, min(memory, max_steps - steps))


def gmres_in_parts(
    product: Map, constant: Tensor, *, scale: Tensor, gain: Tensor | None, ahead: bool, tol: float, max_steps: int
) -> Solution:
    """Solve as `gmres` does, a few samples at a time, so that the basis takes little memory; `product` must accept any number of samples.

    `steps` of the result is the largest of any part.
    """
    number = max(LEAST_SAMPLES, NUMBERS_AT_ONCE // max(constant[0].numel(), 1)) if len(constant) else 1
    parts = [slice(first, first + number) for first in range(0, len(constant), number)] or [slice(0, 0)]
    if len(parts) == 1:
        return gmres(product, constant, scale=scale, gain=gain, ahead=ahead, tol=tol, max_steps=max_steps)
    value, residual = torch.empty_like(constant), torch.empty_like(scale)
    steps = 0
    for rows in parts:
        own_gain = None if gain is None else gain[rows]
        part = gmres(product, constant[rows], scale=scale[rows], gain=own_gain, ahead=ahead, tol=tol, max_steps=max_steps)
        value[rows], residual[rows], steps = part.value, part.residual, max(steps, part.steps)
    return Solution(value, residual, steps, every_sample(residual <= tol))


def gmres_over_batch(product: Map, constant: Tensor, *, scale: Tensor, ahead: bool, tol: float, max_steps: int) -> Solution:
    """Solve as `gmres` does for a `product` that couples the samples: they share one space and one residual over the length of `scale`."""
    shape = constant.shape

    def joint(vectors: Tensor) -> Tensor:
        return _flat(product(_from_flat(vectors.view(len(constant), -1), shape))).reshape(1, -1)

    found = gmres(joint, _flat(constant).reshape(1, -1), scale=scale.norm()[None], ahead=ahead, tol=tol, max_steps=max_steps)
    value = _from_flat(found.value.view(len(constant), -1), shape)
    return Solution(value, found.residual.expand(len(constant)), found.steps, found.converged)


class _KrylovSpace:
    """Orthonormal vectors v_0 … v_k with (I - A) [v_0 … v_{k-1}] = [v_0 … v_k] H, one set per sample; H is kept as Q^T R."""

    def __init__(self, start: Tensor, gain: Tensor | None, room: int) -> None:
        flat = _flat(start).contiguous()
        samples, size = flat.shape
        self.shape, self.room, self.steps = start.shape, room, 0
        basis = flat.new_empty(room + 1, samples, size)
        self.factors = basis.unbind(0) if gain is None else [torch.empty_like(flat)] * room  # the k-th product is that of the k-th factor
        self.basis, dtype = basis.numpy(), basis.numpy().dtype
        self.gain = np.empty((samples, 0), dtype) if gain is None else _flat(gain).contiguous().numpy()
        self.triangle = np.zeros((samples, room, room), dtype)  # R
        self.rotations = np.zeros((samples, room, 2), dtype)  # cosines and sines, Q
        self.target = np.zeros((samples, room + 1), dtype)  # Q times the start
        self.threads = torch.get_num_threads() if flat.numel() > WORTH_A_THREAD else 1
        self._each_sample(start_gmres, flat.numpy(), self.basis, self.target, self.gain, self.factors[0].numpy())

    def within(self, bounds: NDArray[np.floating]) -> bool:
        """Return whether every sample's residual is within its bound; NaN and infinity never are."""
        return bool((np.abs(self.target[:, self.steps]) <= bounds).all())

    @property
    def residual(self) -> Tensor:
        """Return the length of the shortest residual in this space, [B]."""
        return torch.from_numpy(np.abs(self.target[:, self.steps]))

    def extend(self, product: Map) -> None:
        """Extend the space by one vector, which takes one product."""
        k = self.steps
        mapped = _flat(product(self._as_given(self.factors[k]))).contiguous().numpy()
        scaled = self.factors[min(k + 1, self.room - 1)].numpy()  # the value that the last step writes here is never read
        self._each_sample(extend_gmres, k, self.basis, mapped, self.triangle, self.rotations, self.target, self.gain, scaled)
        self.steps += 1

    def combination(self, *, solution: bool, residual: bool) -> Tensor:
        """Return the point with the shortest residual (`solution`), that residual itself (`residual`), or their sum."""
        out = torch.empty_like(self.factors[0])
        self._each_sample(
            combine_gmres, self.steps, self.basis, self.triangle, self.rotations, self.target, solution, residual, out.numpy()
        )
        return self._as_given(out)

    def _each_sample(self, function: Callable[..., None], *args: int | Floats) -> None:
        """Call function(first, end, *args) for all samples, on several threads only if there is more than a few µs of work."""
        samples = len(self.target)
        if self.threads == 1:
            function(0, samples, *args)
        else:
            over_samples(lambda first, end: function(first, end, *args), samples, number=self.threads, least=samples)

    def _as_given(self, flat: Tensor) -> Tensor:
        return _from_flat(flat, self.shape)


def _flat(vectors: Tensor) -> Tensor:
    """Flatten vectors to [B, n], channels last, because convolutions are faster that way."""
    return (vectors.permute(0, 2, 3, 1) if vectors.dim() == 4 else vectors).flatten(1)


def _from_flat(flat: Tensor, shape: torch.Size) -> Tensor:
    """Return [B, n] in this shape, as a view: the inverse of `_flat`."""
    if len(shape) != 4:
        return flat.view(shape)
    samples, channels, height, width = shape
    return flat.view(samples, height, width, channels).permute(0, 3, 1, 2)
