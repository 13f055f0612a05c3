"""Feedback that contracts: the restricted weight W = alpha W^/||W^||, and norms of operators that really hold (E6)."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as nnf
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.grad import conv2d_weight

from fsnn_lava.compiled.compiler import compilable, compiled
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.notation import FeedbackSpec, Shape
from fsnn_lava.solvers.gmres import add_multiple, dot

Kind = Literal["dense", "conv", "transposed"]


def apply_linear(
    weight: Tensor,
    values: Tensor,
    *,
    kind: str,
    stride: int = 1,
    padding: int = 0,
    output_padding: tuple[int, int] = (0, 0),
) -> Tensor:
    """The operation itself on [B, ...]: dense (flattens), conv or transposed."""
    if kind == "dense":
        return nnf.linear(values.flatten(1), weight)
    if kind == "conv":
        return nnf.conv2d(values, weight, stride=stride, padding=padding)
    return nnf.conv_transpose2d(values, weight, stride=stride, padding=padding, output_padding=output_padding)


class RestrictedFeedback(nn.Module):
    """W = alpha W^/||W^|| with a learnable alpha kept in [-limit, limit] (E6).

    `norm` "kernel" is the paper's (the largest singular value of the kernel as a matrix, tracked by power iteration while
    training); "operator" tracks that of the zero-padded operator itself. Both are estimates from below: `operator_norm_bound`
    is what certifies.
    """

    def __init__(self, spec: FeedbackSpec, *, norm: str = "kernel", limit: float = 1.0) -> None:
        super().__init__()
        if norm not in ("kernel", "operator"):
            raise BadArgument(f"norm must be 'kernel' or 'operator', got {norm!r}")
        if not limit > 0:
            raise BadArgument(f"limit must be positive, got {limit}")
        self.spec, self.norm, self.limit = spec, norm, float(limit)
        if spec.kind == "dense":
            shape: tuple[int, ...] = (spec.channels, prod(spec.in_shape))
        elif spec.kind == "conv":
            shape = (spec.channels, spec.in_shape[0], spec.kernel, spec.kernel)
        else:
            shape = (spec.in_shape[0], spec.channels, spec.kernel, spec.kernel)
        self.direction = nn.Parameter(initial_weight(shape))
        left = shape[0] if norm == "kernel" else prod(spec.out_shape)
        self.register_buffer("singular", nnf.normalize(torch.randn(left), dim=0))
        self.singular: Tensor
        with torch.no_grad():
            for _ in range(20):
                self._iterate()
            self.alpha = nn.Parameter(self.spectral_norm().clamp(max=self.limit).reshape(()))

    def forward(self, spikes: Tensor) -> Tensor:
        return self.connect(self.weight(), spikes)

    def connect(self, weight: Tensor, values: Tensor) -> Tensor:
        """W values, for a weight that `weight()` made before."""
        spec = self.spec
        return apply_linear(weight, values, kind=spec.kind, stride=spec.stride, padding=spec.padding, output_padding=spec.output_padding)

    def connect_transposed(self, weight: Tensor, values: Tensor) -> Tensor:
        """W^T values."""
        spec = self.spec
        if spec.kind == "dense":
            return (values @ weight).view(len(values), *spec.in_shape)
        if spec.kind == "conv":  # odd kernel, stride 1, same padding: the adjoint needs no output padding
            return nnf.conv_transpose2d(values, weight, padding=spec.padding)
        return nnf.conv2d(values, weight, stride=spec.stride, padding=spec.padding)

    def weight_gradient(self, values: Tensor, grads: Tensor) -> Tensor:
        """dL/dW for L = <grads, W values>, summed over the samples."""
        spec = self.spec
        if spec.kind == "dense":
            return grads.flatten(1).t() @ values.flatten(1)
        source, target = (values, grads) if spec.kind == "conv" else (grads, values)  # a transposed one is a convolution backwards
        return conv2d_weight(source, self.direction.shape, target, stride=spec.stride, padding=spec.padding)

    def weight(self) -> Tensor:
        """alpha W^/||W^||; with gradients to both. Power iteration moves on by one step in training."""
        return _Restricted.apply(self.direction, self.alpha, self, self.training and torch.is_grad_enabled())

    def limited(self, alpha: Tensor) -> Tensor:
        return alpha.clamp(-self.limit, self.limit)

    @torch.no_grad()
    def clip_(self) -> None:
        """alpha is within [-limit, limit] afterwards; called after every optimiser step."""
        self.alpha.clamp_(-self.limit, self.limit)

    def spectral_norm(self) -> Tensor:
        """The tracked estimate of ||W^||."""
        return self._transposed(self.singular).norm()

    def norm_gradient(self, left: Tensor, right: Tensor) -> Tensor:
        """d||W^||/dW^ = u v^T, as an operation of this kind, for its singular vectors u, v."""
        if self.norm == "kernel":
            return torch.outer(left, right).view_as(self.direction)
        return self.weight_gradient(right.view(1, *self.spec.in_shape), left.view(1, *self.spec.out_shape))

    def _matrix(self) -> Tensor:
        return self.direction.flatten(1)

    def _transposed(self, left: Tensor) -> Tensor:
        if self.norm == "kernel":
            return self._matrix().t() @ left
        return self.connect_transposed(self.direction, left.view(1, *self.spec.out_shape)).flatten()

    def _iterate(self) -> None:
        right = nnf.normalize(self._transposed(self.singular), dim=0)
        if self.norm == "kernel":
            left = self._matrix() @ right
        else:
            left = self.connect(self.direction, right.view(1, *self.spec.in_shape)).flatten()
        self.singular.copy_(nnf.normalize(left, dim=0))


class _Restricted(torch.autograd.Function):
    """alpha W^/||W^|| (E6). What is many small operations for torch is two compiled ones on a CPU."""

    @staticmethod
    def forward(ctx: Any, direction: Tensor, alpha: Tensor, feedback: RestrictedFeedback, moves: bool) -> Tensor:  # type: ignore[override]
        ctx.feedback, ctx.compiled = feedback, feedback.norm == "kernel" and compilable(direction)
        if ctx.compiled:
            weight, right = torch.empty_like(direction), direction.new_empty(direction[0].numel())
            matrix, out = direction.detach().flatten(1).numpy(), weight.flatten(1).numpy()
            kind = matrix.dtype.type
            given, most = kind(alpha.item()), kind(feedback.limit)  # compared in their own precision: the limit itself is within
            ctx.within, ctx.factor = abs(given) <= most, min(max(given, -most), most)
            ctx.norm = kind(restrict(matrix, feedback.singular.numpy(), right.numpy(), out, ctx.factor, moves))
        else:
            if moves:
                feedback._iterate()
            right = feedback._transposed(feedback.singular)
            ctx.norm = right.norm()  # as `spectral_norm` is
            weight = direction * (feedback.limited(alpha) / ctx.norm)
        ctx.save_for_backward(direction, alpha, feedback.singular.clone(), right)  # the next forward pass moves it on
        return weight

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        """dL/dW^ = s (G - <G, W^>/||W^|| u v^T) with s = alpha/||W^||; alpha has a gradient while it is within its limit."""
        direction, alpha, left, right = ctx.saved_tensors
        feedback, grad = ctx.feedback, grads[0].contiguous()
        if ctx.compiled:
            out = torch.empty_like(grad)
            given, matrix = grad.flatten(1).numpy(), direction.detach().flatten(1).numpy()
            along = restrict_back(given, matrix, left.numpy(), right.numpy(), out.flatten(1).numpy(), ctx.norm, ctx.factor)
            for_alpha = alpha.new_tensor(along if ctx.within else 0.0)
        else:
            along = torch.dot(grad.view(-1), direction.reshape(-1)) / ctx.norm
            scale = feedback.limited(alpha) / ctx.norm
            out = (grad * scale).add_(feedback.norm_gradient(left, right * (-along * scale / ctx.norm)))
            for_alpha = torch.where(alpha.abs() <= feedback.limit, along, torch.zeros_like(along))
        return out, for_alpha, None, None


@compiled
def restrict(matrix: Any, left: Any, right: Any, out: Any, alpha: Any, moves: Any) -> Any:
    """out <- alpha matrix/||matrix||, where left (moved on by a step of power iteration, if `moves`) and right track its norm: the norm."""
    transposed_product(right, matrix, left)
    if moves:
        make_unit(right)
        for i in range(len(left)):
            left[i] = dot(matrix[i], right)
        make_unit(left)
        transposed_product(right, matrix, left)
    norm = np.sqrt(dot(right, right))
    scale = divided(alpha, norm)
    for i in range(len(left)):
        write_multiple(out[i], scale, matrix[i])
    return norm


@compiled
def restrict_back(grad: Any, matrix: Any, left: Any, right: Any, out: Any, norm: Any, alpha: Any) -> Any:
    """out <- s (grad - along/||matrix||² left right^T) with s = alpha/||matrix||; along = <grad, matrix>/||matrix||."""
    along = norm - norm
    for i in range(len(left)):
        along += divided(dot(grad[i], matrix[i]), norm)
    scale = divided(alpha, norm)
    for i in range(len(left)):
        write_multiple(out[i], scale, grad[i])
        add_multiple(out[i], -divided(scale * along, norm) * left[i], right)
    return along


@compiled
def transposed_product(out: Any, matrix: Any, vector: Any) -> None:
    """out <- matrix^T vector."""
    out[:] = 0
    for i in range(len(vector)):
        add_multiple(out, vector[i], matrix[i])


@compiled
def make_unit(vector: Any) -> None:
    """Of length 1 afterwards, unless it is nothing."""
    length = np.sqrt(dot(vector, vector))
    if length > 0:
        write_multiple(vector, 1 / length, vector)


@compiled
def divided(number: Any, by: Any) -> Any:
    """number / by, and what is not a number where `by` is 0: a weight that cannot be scaled is seen, not stumbled over."""
    return number / by if by != 0 else number * np.nan


@compiled
def write_multiple(out: Any, factor: Any, vector: Any) -> None:
    for i in range(len(vector)):
        out[i] = factor * vector[i]


def initial_weight(shape: Sequence[int]) -> Tensor:
    """Uniform in [-1, 1], then every output dimension scaled to length 1 (the paper's initialisation)."""
    weight = torch.empty(*shape).uniform_(-1.0, 1.0)
    return nnf.normalize(weight.flatten(1), dim=1).view(*shape)


def operator_norm_bound(
    weight: NDArray[np.float64],
    *,
    kind: str,
    in_shape: Shape,
    stride: int | tuple[int, int] = 1,
    padding: int | tuple[int, int] = 0,
    output_padding: tuple[int, int] = (0, 0),
    groups: int = 1,
) -> float:
    """An upper bound of the largest singular value of the operation on inputs of `in_shape` that holds (E6).

    Dense: the SVD. Convolution: the largest singular value of the kernel's DFT symbol on a torus of side n + k - 1; a stride is
    written as stride 1 on its phases first. Transposed: the norm of the convolution it is the adjoint of.
    """
    matrix = np.asarray(weight, dtype=np.float64)
    if kind == "dense":
        return float(np.linalg.norm(matrix, 2))
    strides, pads = _pair(stride), _pair(padding)
    if kind == "transposed":
        sizes = [
            (n - 1) * s - 2 * p + k + o for n, s, p, k, o in zip(in_shape[1:], strides, pads, matrix.shape[2:], output_padding, strict=True)
        ]
        return operator_norm_bound(matrix, kind="conv", in_shape=(matrix.shape[1], *sizes), stride=stride, padding=padding)
    if groups > 1:
        inner = in_shape[0] // groups
        return max(
            operator_norm_bound(part, kind="conv", in_shape=(inner, *in_shape[1:]), stride=stride, padding=padding)
            for part in np.split(matrix, groups)
        )
    phases, sizes = _phases(matrix, strides, pads, in_shape[1:])
    return _largest_symbol(phases, [n + k - 1 for n, k in zip(sizes, phases.shape[2:], strict=True)])


def _pair(value: int | tuple[int, int]) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _phases(
    weight: NDArray[np.float64], stride: tuple[int, int], padding: tuple[int, int], size: Shape
) -> tuple[NDArray[np.float64], list[int]]:
    """The same operation with stride 1 on prod(stride) times the channels: input row s q + r becomes row q of phase r."""
    out, inner, rows, columns = weight.shape
    offsets = [[divmod(a - p, s) for a in range(k)] for k, p, s in zip((rows, columns), padding, stride, strict=True)]
    first = [min(q for q, _ in axis) for axis in offsets]
    length = [max(q for q, _ in axis) - f + 1 for axis, f in zip(offsets, first, strict=True)]
    phases = np.zeros((out, stride[0], stride[1], inner, *length))
    for i, (row, row_phase) in enumerate(offsets[0]):
        for j, (column, column_phase) in enumerate(offsets[1]):
            phases[:, row_phase, column_phase, :, row - first[0], column - first[1]] += weight[:, :, i, j]
    return phases.reshape(out, -1, *length), [-(-n // s) for n, s in zip(size, stride, strict=True)]


def _largest_symbol(kernel: NDArray[np.float64], torus: list[int]) -> float:
    """max over frequencies of the largest singular value of the kernel's Fourier transform."""
    symbol = np.fft.rfft2(kernel, s=torus).transpose(2, 3, 0, 1).reshape(-1, *kernel.shape[:2])
    largest = 0.0
    for part in np.array_split(symbol, max(1, symbol.size // 2**22)):
        if part.shape[1] > part.shape[2]:
            gram = np.conj(part).transpose(0, 2, 1) @ part
        else:
            gram = part @ np.conj(part).transpose(0, 2, 1)
        largest = max(largest, float(np.linalg.eigvalsh(gram)[:, -1].max()))
    return float(np.sqrt(largest)) * (1 + 1e-12 * kernel.shape[0])
