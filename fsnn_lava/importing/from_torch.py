"""fl.from_torch: a trained torch module of another framework as an FSNN, compared with the source before it is returned."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.balance import balance
from fsnn_lava.importing.blocks import split
from fsnn_lava.importing.chain import links
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.graph import checked_shape
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Shape
from fsnn_lava.nn.raw_values import fractional_range


def from_torch(
    module: nn.Module,
    *,
    input_shape: Sequence[int],
    calibration: Tensor,
    steps: int = 30,
    normalisation: Normalisation | None = None,
    class_names: Sequence[str] = (),
) -> FSNN:
    """Convert a trained nn.Sequential, and compare the result with the source before returning it.

    A network of ReLUs becomes rates without feedback: batch norm and pooling are folded, and each layer is scaled on the calibration batch.
    What that costs is in `metrics["imported"]`. Give a network that was trained with fl.FSNN to `FSNN.load` instead.

    Args:
        module: nn.Sequential, nested ones included, of Linear, Conv2d, BatchNorm, ReLU, AvgPool2d, Flatten and Dropout, which ends in
            Linear. It is not changed.
        input_shape: (N,) or (C, H, W), without batch and time.
        calibration: [B, *input_shape], raw uint8 or as the module takes them; some hundred training samples.
        steps: T; the network's own, and that of the comparison.
        normalisation: how raw uint8 values become the module's inputs; `quantise` needs it unless the module takes raw values.
        class_names: one per output, or none.

    Returns:
        The network, in eval mode, with the module's dtype.

    Raises:
        BadArgument: a layer cannot be converted; the message says which one, why, and what to use instead.
        BadNetwork: the source does something that its modules do not say.

    Examples:
        >>> ann = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
        >>> net = fl.from_torch(ann, input_shape=(1, 8, 8), calibration=torch.rand(16, 1, 8, 8))
        >>> net.graph.shapes
        ((32,),)
    """
    shape = checked_shape(tuple(input_shape), "the input")
    blocks = split(links(module), shape, lambda one: isinstance(one, nn.ReLU))
    values = _inputs(calibration, shape, normalisation)
    balanced = balance(module, blocks, values, steps=steps, normalisation=normalisation, class_names=class_names)
    net = balanced.net.to(_dtype(module)).eval()
    net.metrics["imported"] = f"torch {torch.__version__}: {balanced}"
    if normalisation is None:
        net.trained_range = fractional_range(calibration)
    return net


def _inputs(calibration: Tensor, shape: Shape, normalisation: Normalisation | None) -> Tensor:
    """The calibration batch as the module takes it, in float64."""
    if not isinstance(calibration, Tensor) or tuple(calibration.shape[1:]) != shape or not len(calibration):
        got = list(calibration.shape) if isinstance(calibration, Tensor) else type(calibration).__name__
        raise BadArgument(f"calibration must be a tensor [B, {', '.join(map(str, shape))}] of at least one sample, got {got}")
    values = calibration.double()
    if calibration.dtype != torch.uint8 or normalisation is None:
        return values
    return normalisation.apply(values, channels_axis=-len(shape))


def _dtype(module: nn.Module) -> torch.dtype:
    """Of its weights; float32 unless they are float64."""
    return torch.float64 if any(one.dtype == torch.float64 for one in module.parameters()) else torch.float32
