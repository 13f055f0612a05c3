"""The Solver: which method solves an affine system x = A x + b, to what tolerance, and at what maximum cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor

from fsnn_lava.errors import BadArgument
from fsnn_lava.solvers.anderson import anderson
from fsnn_lava.solvers.broyden import broyden
from fsnn_lava.solvers.damped import damped
from fsnn_lava.solvers.fixed_point import fixed_point
from fsnn_lava.solvers.gmres import gmres_in_parts, gmres_over_batch
from fsnn_lava.solvers.solution import Map, Norm, Solution, Stop, every_sample, lengths

Method = Literal["gmres", "fixed-point", "damped", "anderson", "broyden"]
LINEAR_METHODS: tuple[Method, ...] = get_args(Method)
Precision = Literal["full", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)
_ITERATIONS = {"fixed-point": fixed_point, "damped": damped, "broyden": broyden}


@dataclass(frozen=True)
class Solver:
    """How the gradient's linear system (E5) is solved.

    Args:
        method: "gmres" needs the fewest products; "broyden" is the paper's; "anderson", "damped" and "fixed-point" are for comparison.
            On a GPU, and with batch norm inside the loop of several processes, Anderson mixing replaces GMRES.
        tol: relative residual at which to stop. At 1e-2, the gradient is within 0.3 % of the exact one for the trained networks that
            bench/gradient_error.py measures.
        max_steps: the largest number of vector-Jacobian products per backward pass. 0 gives the Jacobian-free gradient, which is fast
            but biased.
        precision: "bfloat16" rounds what enters and leaves the convolutions of the backward pass (the sums are not rounded), which takes
            half the time on a processor that has instructions for it, and longer on others. It applies to float32 networks of several
            layers with one feedback connection on a CPU; all others are computed in "full" precision.

    Raises:
        BadArgument: the method or the precision is unknown, or a number is out of range.

    Examples:
        >>> exact = fl.Solver(tol=1e-6, max_steps=200)
    """

    method: Method = "gmres"
    tol: float = 1e-2
    max_steps: int = 30
    precision: Precision = "full"

    def __post_init__(self) -> None:
        if self.method not in LINEAR_METHODS:
            raise BadArgument(f"solver method must be one of {', '.join(LINEAR_METHODS)}, got {self.method!r}")
        if self.precision not in PRECISIONS:
            raise BadArgument(f"solver precision must be one of {', '.join(PRECISIONS)}, got {self.precision!r}")
        if not self.tol > 0:
            raise BadArgument(f"solver tol must be positive, got {self.tol}")
        if self.max_steps < 0:
            raise BadArgument(f"solver max_steps must be 0 (Jacobian-free) or more, got {self.max_steps}")

    def solve_affine(
        self,
        product: Map,
        constant: Tensor,
        *,
        gain: Tensor | None = None,
        independent: bool = True,
        whole: bool = False,
        scale: Norm = lengths,
        stop: Stop = every_sample,
    ) -> Solution:
        """Solve x = product(gain x) + constant to a relative residual of `tol`. Training calls this; you rarely need to.

        GMRES returns one plain iteration beyond the point whose residual it reports, at no cost. Anderson mixing cannot do that,
        so it continues to half of `tol`.

        Args:
            product: a linear map on [B, ...].
            constant: [B, ...].
            gain: [B, ...]; 1 if not given.
            independent: no sample's product depends on another sample, and `product` accepts any subset of them. Batch norm inside the
                loop breaks this; unless `whole` is true, residuals then need a product, and Anderson mixing replaces GMRES (as on a GPU).
            whole: these are all the samples that `product` couples; GMRES then treats all of them as one vector.
            scale: a function that computes from `constant` what the lengths of residuals are divided by, [B].
            stop: decides from the solved samples [B] whether to stop. Processes that solve together must stop together.

        Returns:
            The best iterate with its residual; `converged` says whether every sample reached `tol`.
        """
        if self.max_steps == 0:
            return Solution(constant, torch.full((len(constant),), torch.nan), 0, False)
        scales = scale(constant)
        if self.method == "gmres" and whole and constant.device.type == "cpu":
            return gmres_over_batch(product, constant, scale=scales, ahead=True, tol=self.tol, max_steps=self.max_steps)
        if self.method == "gmres" and independent and constant.device.type == "cpu":
            return gmres_in_parts(product, constant, scale=scales, gain=gain, ahead=True, tol=self.tol, max_steps=self.max_steps)

        def affine(x: Tensor) -> Tensor:
            return product(x if gain is None else x * gain).add_(constant)

        def norm(difference: Tensor) -> Tensor:
            return difference.flatten(1).norm(dim=1) / scales

        if self.method in _ITERATIONS:
            return _ITERATIONS[self.method](affine, constant, tol=self.tol, max_steps=self.max_steps, norm=norm, stop=stop)
        tol, known_affine = (self.tol / 2, False) if self.method == "gmres" else (self.tol, independent)
        return anderson(affine, constant, tol=tol, max_steps=self.max_steps, norm=norm, stop=stop, affine=known_affine)
