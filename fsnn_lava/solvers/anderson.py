"""Anderson mixing: iterate on the combination of the last few points whose residuals nearly cancel."""

from __future__ import annotations

import torch
from torch import Tensor

from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.solution import BestIterate, Map, Norm, Solution, Stop, every_sample, max_norm


def anderson(
    f: Map,
    start: Tensor,
    *,
    memory: int = 5,
    tol: float = 1e-5,
    max_steps: int = 200,
    norm: Norm = max_norm,
    stop: Stop = every_sample,
    affine: bool = False,
) -> Solution:
    """Solve by Anderson mixing: combine the last `memory` points, sample by sample, with the weights that make the residual shortest.

    `affine`: the caller guarantees that f(x) = A x + b. The residual of a combination is then the combination of the residuals, so the
    combined point is returned as soon as that residual is small enough, without another evaluation of f.
    """
    if memory < 1:
        raise BadArgument(f"memory must be at least 1, got {memory}")
    best, value = BestIterate(tol=tol, norm=norm, stop=stop), start
    points: list[Tensor] = []  # x_i, [B, n]
    residuals: list[Tensor] = []  # f(x_i) - x_i, [B, n]
    gram = torch.zeros(len(start), 0, 0, dtype=start.dtype, device=start.device)
    for _ in range(max_steps):
        residual = (f(value) - value).flatten(1)
        if best.update(value, residual.view_as(value)):
            break
        if len(points) == memory:
            del points[0], residuals[0]
            gram = gram[:, 1:, 1:]
        points.append(value.flatten(1))
        residuals.append(residual)
        gram = _append_inner_products(gram, residuals)
        weights = _mixing_weights(gram)
        point, remainder = _combine(weights, points), _combine(weights, residuals)
        if affine and stop(norm(remainder.view_as(value)) <= tol):
            return Solution(point.view_as(value), norm(remainder.view_as(value)), best.steps, True)
        value = point.add_(remainder).view_as(value)
    return best.solution()


def _append_inner_products(gram: Tensor, vectors: list[Tensor]) -> Tensor:
    """Return the inner products of `vectors`, [B, m, m], given those of all but the last."""
    row = torch.stack([(vector * vectors[-1]).sum(1) for vector in vectors], dim=1)
    size = len(vectors)
    grown = row.new_empty(len(row), size, size)
    grown[:, : size - 1, : size - 1] = gram
    grown[:, -1, :] = row
    grown[:, :, -1] = row
    return grown


def _mixing_weights(gram: Tensor) -> Tensor:
    """Return weights [B, m] with sum 1 that make the weighted residual shortest; where they are not finite, take only the newest point."""
    size = gram.shape[1]
    ridge = torch.diagonal(gram, dim1=1, dim2=2).amax(1).clamp_min(torch.finfo(gram.dtype).tiny) * (10 * torch.finfo(gram.dtype).eps)
    system = gram + torch.diag_embed(ridge[:, None].expand(-1, size))
    weights = torch.linalg.solve_ex(system, torch.ones(len(gram), size, 1, dtype=gram.dtype, device=gram.device))[0][..., 0]
    total = weights.sum(1, keepdim=True)
    newest = torch.zeros_like(weights)
    newest[:, -1] = 1.0
    usable = torch.isfinite(weights).all(1, keepdim=True) & torch.isfinite(total) & (total != 0)
    return torch.where(usable, weights / torch.where(usable, total, torch.ones_like(total)), newest)


def _combine(weights: Tensor, vectors: list[Tensor]) -> Tensor:
    out = vectors[0] * weights[:, :1]
    for i in range(1, len(vectors)):
        out.addcmul_(vectors[i], weights[:, i : i + 1])
    return out
