"""Solvers for a = f(a) (E4), and for the linear system of the gradient (E5). Each is a plain function with an explicit outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fsnn_lava.compiled.compiler import compilable, compiled
from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.gmres import Map, Solution, dot, everywhere, gmres_in_parts


@dataclass(frozen=True)
class Equilibrium:
    """Rates with a = f(a), one tensor per layer."""

    rates: tuple[Tensor, ...]
    residual: Tensor  # [B] max over neurons of |f(a) - a| of the last layer
    steps: int
    converged: bool


class _Best:
    """Keeps, per sample, the iterate with the smallest residual."""

    def __init__(self, tol: float, norm: Callable[[Tensor], Tensor], stop: Callable[[Tensor], bool] = everywhere) -> None:
        self.tol, self.norm, self.stop = tol, norm, stop
        self.steps = 0
        self.value: Tensor | None = None
        self.residual = torch.empty(0)

    def see(self, value: Tensor, difference: Tensor) -> bool:
        """Take note of f(value) - value; True when every sample is within `tol`."""
        self.steps += 1
        residual = torch.nan_to_num(self.norm(difference), nan=torch.inf)
        if self.value is None:
            self.value, self.residual = value, residual
        else:
            better = residual < self.residual
            if bool(better.all()):
                self.value, self.residual = value, residual
            elif bool(better.any()):
                self.value = torch.where(better.view(-1, *[1] * (value.dim() - 1)), value, self.value)
                self.residual = torch.where(better, residual, self.residual)
        return self.stop(self.residual <= self.tol)

    def solution(self) -> Solution:
        if self.value is None:
            raise BadArgument("max_steps must be at least 1")
        return Solution(self.value, self.residual, self.steps, bool((self.residual <= self.tol).all()))


def largest(difference: Tensor) -> Tensor:
    """[B] the largest absolute entry of each sample."""
    return difference.abs().flatten(1).amax(1)


def lengths(vectors: Tensor, *, typical: Tensor | None = None) -> Tensor:
    """[B] the length of each sample's vector, but at least `typical`: the root mean square of all, if not given.

    What residuals are divided by. A sample without gradient is thus judged by the others.
    """
    tiny = torch.finfo(vectors.dtype).tiny
    if typical is None and compilable(vectors) and vectors.numel() > 0:
        out = vectors.new_empty(len(vectors))
        find_lengths(vectors.detach().flatten(1).numpy(), out.numpy(), tiny)
        return out
    length = vectors.flatten(1).norm(dim=1)
    typical = length.norm() / max(len(length), 1) ** 0.5 if typical is None else typical
    return torch.maximum(length, typical).clamp_min(tiny)


@compiled
def find_lengths(vectors: Any, out: Any, tiny: Any) -> None:
    """The same for [B, n] in one pass."""
    for b in range(len(out)):
        out[b] = np.sqrt(dot(vectors[b], vectors[b]))
    typical = np.sqrt(dot(out, out) / len(out))
    for b in range(len(out)):
        length = typical if typical > out[b] or typical != typical else out[b]  # what is not a number stays so
        out[b] = tiny if length < tiny else length


def fixed_point(
    f: Map,
    start: Tensor,
    *,
    tol: float = 1e-5,
    max_steps: int = 200,
    norm: Callable[[Tensor], Tensor] = largest,
    stop: Callable[[Tensor], bool] = everywhere,
) -> Solution:
    """Iterate a <- f(a) until `norm` of the change is at most `tol`."""
    return damped(f, start, damping=1.0, tol=tol, max_steps=max_steps, norm=norm, stop=stop)


def damped(
    f: Map,
    start: Tensor,
    *,
    damping: float = 0.5,
    tol: float = 1e-5,
    max_steps: int = 200,
    norm: Callable[[Tensor], Tensor] = largest,
    stop: Callable[[Tensor], bool] = everywhere,
) -> Solution:
    """Iterate a <- (1 - d) a + d f(a); with d = 1/2 the paper's scheme for N-MNIST."""
    if not 0.0 < damping <= 1.0:
        raise BadArgument(f"damping must lie in (0, 1], got {damping}")
    best, value = _Best(tol, norm, stop), start
    for _ in range(max_steps):
        difference = f(value) - value
        if best.see(value, difference):
            break
        value = torch.add(value, difference, alpha=damping)
    return best.solution()


def anderson(
    f: Map,
    start: Tensor,
    *,
    memory: int = 5,
    tol: float = 1e-5,
    max_steps: int = 200,
    norm: Callable[[Tensor], Tensor] = largest,
    stop: Callable[[Tensor], bool] = everywhere,
    affine: bool = False,
) -> Solution:
    """Iterate on the combination of the last `memory` points whose residuals nearly cancel, sample by sample.

    `affine` says that f(x) = A x + b: then the residual of a combination is the combination of the residuals, so the combined
    point is returned as soon as that is small enough, without another evaluation of f.
    """
    if memory < 1:
        raise BadArgument(f"memory must be at least 1, got {memory}")
    best, value = _Best(tol, norm, stop), start
    points: list[Tensor] = []  # x_i, [B, n]
    changes: list[Tensor] = []  # f(x_i) - x_i, [B, n]
    gram = torch.zeros(len(start), 0, 0, dtype=start.dtype, device=start.device)
    for _ in range(max_steps):
        change = (f(value) - value).flatten(1)
        if best.see(value, change.view_as(value)):
            break
        if len(points) == memory:
            del points[0], changes[0]
            gram = gram[:, 1:, 1:]
        points.append(value.flatten(1))
        changes.append(change)
        gram = _grow(gram, changes)
        mix = _cancelling(gram)
        point, remainder = _combine(mix, points), _combine(mix, changes)
        if affine and stop(norm(remainder.view_as(value)) <= tol):
            return Solution(point.view_as(value), norm(remainder.view_as(value)), best.steps, True)
        value = point.add_(remainder).view_as(value)
    return best.solution()


def _grow(gram: Tensor, vectors: list[Tensor]) -> Tensor:
    """[B, m, m] inner products of `vectors`, from those of all but the last."""
    row = torch.stack([(vector * vectors[-1]).sum(1) for vector in vectors], dim=1)
    size = len(vectors)
    grown = row.new_empty(len(row), size, size)
    grown[:, : size - 1, : size - 1] = gram
    grown[:, -1, :] = row
    grown[:, :, -1] = row
    return grown


def _cancelling(gram: Tensor) -> Tensor:
    """[B, m] weights with sum 1 that make the weighted residual shortest."""
    size = gram.shape[1]
    ridge = torch.diagonal(gram, dim1=1, dim2=2).amax(1).clamp_min(torch.finfo(gram.dtype).tiny) * (10 * torch.finfo(gram.dtype).eps)
    system = gram + torch.diag_embed(ridge[:, None].expand(-1, size))
    weights = torch.linalg.solve_ex(system, torch.ones(len(gram), size, 1, dtype=gram.dtype, device=gram.device))[0][..., 0]
    total = weights.sum(1, keepdim=True)
    newest = torch.zeros_like(weights)
    newest[:, -1] = 1.0
    sound = torch.isfinite(weights).all(1, keepdim=True) & torch.isfinite(total) & (total != 0)
    return torch.where(sound, weights / torch.where(sound, total, torch.ones_like(total)), newest)


def _combine(mix: Tensor, vectors: list[Tensor]) -> Tensor:
    out = vectors[0] * mix[:, :1]
    for i in range(1, len(vectors)):
        out.addcmul_(vectors[i], mix[:, i : i + 1])
    return out


def broyden(
    f: Map,
    start: Tensor,
    *,
    tol: float = 1e-5,
    max_steps: int = 200,
    norm: Callable[[Tensor], Tensor] = largest,
    stop: Callable[[Tensor], bool] = everywhere,
) -> Solution:
    """Broyden's good method on g(x) = f(x) - x, sample by sample, with the inverse Jacobian as -I plus rank-one terms."""
    best, value = _Best(tol, norm, stop), start
    lefts: list[Tensor] = []  # inverse Jacobian = -I + sum left_i right_i^T, [B, n]
    rights: list[Tensor] = []

    def inverse(vector: Tensor) -> Tensor:
        out = -vector
        for left, right in zip(lefts, rights, strict=True):
            out = out + left * (right * vector).sum(1, keepdim=True)
        return out

    def inverse_transposed(vector: Tensor) -> Tensor:
        out = -vector
        for left, right in zip(lefts, rights, strict=True):
            out = out + right * (left * vector).sum(1, keepdim=True)
        return out

    change = (f(value) - value).flatten(1)
    for _ in range(max_steps):
        if best.see(value, change.view_as(value)) or best.steps == max_steps:
            break
        move = -inverse(change)
        value = value + move.view_as(value)
        after = (f(value) - value).flatten(1)
        bent = inverse(after - change)
        right = inverse_transposed(move)
        length = (move * bent).sum(1, keepdim=True)
        sound = length.abs() > torch.finfo(length.dtype).tiny
        left = torch.where(sound, (move - bent) / torch.where(sound, length, torch.ones_like(length)), torch.zeros_like(move))
        lefts.append(left)
        rights.append(right)
        change = after
    return best.solution()


METHODS: dict[str, Callable[..., Solution]] = {"fixed-point": fixed_point, "damped": damped, "anderson": anderson, "broyden": broyden}
LINEAR_METHODS = ("gmres", *METHODS)


@dataclass(frozen=True)
class Solver:
    """How the gradient's linear system is solved (E5). `max_steps` = 0 is the Jacobian-free gradient: no solving at all."""

    method: str = "gmres"
    tol: float = 1e-2  # relative residual
    max_steps: int = 30

    def __post_init__(self) -> None:
        if self.method not in LINEAR_METHODS:
            raise BadArgument(f"solver method must be one of {', '.join(LINEAR_METHODS)}, got {self.method!r}")
        if not self.tol > 0:
            raise BadArgument(f"solver tol must be positive, got {self.tol}")
        if self.max_steps < 0:
            raise BadArgument(f"solver max_steps must be 0 (Jacobian-free) or more, got {self.max_steps}")

    def solve_affine(self, product: Map, constant: Tensor, *, gain: Tensor | None = None, apart: bool = True) -> Solution:
        """beta with beta = product(gain beta) + constant, to a relative residual of `tol`.

        GMRES then goes one plain iteration further, which costs nothing: the residual is that of the point before. What stands in for
        it cannot, and stops at half of `tol`.
        `apart`: no sample's product depends on another sample, and `product` takes any of them. Batch norm inside the loop couples
        them; then residuals cannot be told without a product, and Anderson's mixing takes the place of GMRES; as it does on a GPU.
        """
        if self.max_steps == 0:
            return Solution(constant, torch.full((len(constant),), torch.nan), 0, False)
        scale = self.scale(constant)
        if self.method == "gmres" and apart and constant.device.type == "cpu":
            return gmres_in_parts(product, constant, scale=scale, gain=gain, ahead=True, tol=self.tol, max_steps=self.max_steps)
        options = {"affine": True} if self.method == "anderson" and apart else {}
        tol = self.tol / 2 if self.method == "gmres" else self.tol
        return METHODS["anderson" if self.method == "gmres" else self.method](
            lambda x: product(x if gain is None else x * gain).add_(constant),
            constant,
            tol=tol,
            max_steps=self.max_steps,
            norm=lambda difference: difference.flatten(1).norm(dim=1) / scale,
            stop=self.stop,
            **options,
        )

    def scale(self, constant: Tensor) -> Tensor:
        """[B] what the length of a residual is divided by."""
        return lengths(constant)

    def stop(self, small_enough: Tensor) -> bool:
        """Whether to stop, by the samples whose residual is small enough."""
        return everywhere(small_enough)
