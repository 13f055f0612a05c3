"""fl.from_torch: convert a trained torch module from another framework to an FSNN, and compare them before returning it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.balance import balance
from fsnn_lava.importing.blocks import split
from fsnn_lava.importing.chain import TORCH, Link, links
from fsnn_lava.importing.proof import prove
from fsnn_lava.importing.sources.framework import Framework
from fsnn_lava.importing.sources.known import framework_of
from fsnn_lava.importing.spiking import convert, describe_spiking_layers, measured_spiking_layer
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.layer_shape import layer_shape
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Shape
from fsnn_lava.nn.raw_values import range_unless_raw_values

PROOF_SAMPLES = 16


def from_torch(
    module: nn.Module,
    *,
    input_shape: Sequence[int],
    calibration: Tensor,
    steps: int = 30,
    normalisation: Normalisation | None = None,
    class_names: Sequence[str] = (),
) -> FSNN:
    """Convert a trained nn.Sequential from torch, and compare the result with the source before returning it.

    Spiking neurons from snnTorch, SpikingJelly, norse and sinabs are stimulated to find out what they do, whatever they claim. The
    imported network sends the same spikes as the source, which is checked. A network of ReLUs becomes rates without feedback, scaled on
    the calibration batch. `metrics["imported"]` says what was measured. Load networks of fsnn-lava itself with `FSNN.load`.

    Args:
        module: nn.Sequential, nested ones included, of Linear, Conv2d, BatchNorm, AvgPool2d, Flatten and Dropout, with either spiking
            neurons or ReLU between them; with ReLU it must end in Linear. It is not changed.
        input_shape: (N,) or (C, H, W), without batch and time.
        calibration: [B, *input_shape], raw uint8 or in the form that the module takes: a few hundred training samples. For spiking
            neurons also [B, T, *input_shape].
        steps: T, for the network and for the comparison.
        normalisation: how raw uint8 values become the module's inputs; required by `quantise` unless the module takes raw values.
        class_names: one per output, or empty.

    Returns:
        The network, in eval mode, with the module's dtype.

    Raises:
        BadArgument: a layer cannot be converted; the message says which one, why, and what to use instead.
        BadNetwork: the source computes something that is not in its modules.
        CheckFailed: the imported network sends different spikes; the message names the first one, with both potentials.

    Examples:
        >>> ann = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 3))
        >>> net = fl.from_torch(ann, input_shape=(1, 8, 8), calibration=torch.rand(16, 1, 8, 8))
        >>> net.graph.shapes
        ((32,),)
    """
    shape = layer_shape(tuple(input_shape), "the input")
    framework = framework_of(module) if isinstance(module, nn.Module) else None
    values = _inputs(calibration, shape, normalisation, frames=None if framework is None else steps)
    chain = links(module, TORCH if framework is None else framework.kinds)
    if framework is None:
        blocks = split(chain, shape, lambda one: isinstance(one, nn.ReLU))
        balanced = balance(module, blocks, values, steps=steps, normalisation=normalisation, class_names=class_names)
        net, said = balanced.net.to(_dtype(module)), f"torch {torch.__version__}: {balanced}"
    else:
        _check_no_relu(chain, framework)
        blocks = split(chain, shape, framework.is_neuron)
        dtype = _dtype(module)
        layers = [measured_spiking_layer(block, framework) for block in blocks.layers]
        net = convert(blocks, layers, steps=steps, normalisation=normalisation, class_names=class_names, dtype=dtype).to(dtype)
        proof = prove(chain, framework, net, values[:PROOF_SAMPLES], steps=steps).checked()
        said = f"measured with {framework}: {describe_spiking_layers(layers)}; {proof}"
    net.metrics["imported"] = said
    if normalisation is None:
        net.trained_range = range_unless_raw_values(calibration)
    return net.eval()


def _inputs(calibration: Tensor, shape: Shape, normalisation: Normalisation | None, *, frames: int | None) -> Tensor:
    """Return the calibration batch in float64, as the module takes it; sequences need `frames` frames each, None allows no sequences."""
    good = isinstance(calibration, Tensor) and len(calibration) > 0
    sequence = good and frames is not None and tuple(calibration.shape[2:]) == shape
    if not good or not (sequence or tuple(calibration.shape[1:]) == shape):
        got = list(calibration.shape) if isinstance(calibration, Tensor) else type(calibration).__name__
        raise BadArgument(f"calibration must be a tensor [B, {', '.join(map(str, shape))}] of at least one sample, got {got}")
    if sequence and frames is not None and calibration.shape[1] < frames:
        raise BadArgument(f"calibration has {calibration.shape[1]} frames per sample, fewer than steps = {frames}: change one of them")
    values = calibration.double()
    if calibration.dtype != torch.uint8 or normalisation is None:
        return values
    return normalisation.apply(values, channels_axis=-len(shape))


def _check_no_relu(chain: Sequence[Link], framework: Framework) -> None:
    relu = next((link for link in chain if isinstance(link.module, nn.ReLU)), None)
    if relu is not None:
        raise BadArgument(f"{relu}: a network with spiking neurons of {framework.title} cannot also contain ReLUs; remove it")


def _dtype(module: nn.Module) -> torch.dtype:
    """Return the dtype of a module's weights; float32 unless they are float64."""
    return torch.float64 if any(one.dtype == torch.float64 for one in module.parameters()) else torch.float32
