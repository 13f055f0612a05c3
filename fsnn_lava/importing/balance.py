"""Balance a network of ReLUs as rates: scale every layer so that its largest activations become rate 1 (E4 without feedback)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument, BadNetwork
from fsnn_lava.importing.blocks import Blocks, assemble
from fsnn_lava.importing.linear_path import Affine
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.neurons import IF
from fsnn_lava.nn.normalisation import Normalisation

_Kind = TypeVar("_Kind", nn.Linear, nn.Conv2d, Affine)
QUANTILES = (1.0, 0.999, 0.99)  # of a layer's activations; this quantile becomes rate 1, and larger activations are clipped
FOLDING_ERROR = 1e-9  # relative, in float64


@dataclass(frozen=True)
class Balanced:
    """A rate network scaled by `balance`, and what the conversion costs on the calibration batch.

    Attributes:
        net: the network, in float64.
        quantile: the quantile of each layer's activations that became rate 1.
        steps: T at which `agreement` was measured.
        agreement: fraction of samples with the same answer as the source, when run in spikes for `steps` steps.
        agreement_of_rates: the same for exact rates, the limit of many steps; it shows what clipping alone costs.
        samples: number of samples in the calibration batch.
    """

    net: FSNN
    quantile: float
    steps: int
    agreement: float
    agreement_of_rates: float
    samples: int

    def __str__(self) -> str:
        return (
            f"ReLU activations as rates, where quantile {self.quantile:g} of each layer is rate 1; on {self.samples} calibration samples "
            f"it agrees with the source on {self.agreement:.1%} in {self.steps} steps, {self.agreement_of_rates:.1%} with exact rates"
        )


@torch.no_grad()
def balance(
    module: nn.Module,
    blocks: Blocks,
    calibration: Tensor,
    *,
    steps: int,
    normalisation: Normalisation | None,
    class_names: Sequence[str],
) -> Balanced:
    """Scale every layer on a calibration batch, with the quantile that preserves the most predictions in `steps` steps.

    Args:
        module: the source to compare with.
        blocks: its layers.
        calibration: [B, *input_shape], in the form that the source takes.
        steps: T.
        normalisation: for raw values; stored in the network.
        class_names: stored in the network.
    """
    if blocks.readout is None:
        raise BadArgument(f"{blocks.layers[-1]}: a network of ReLUs must end in nn.Linear, whose outputs are the class scores")
    values = calibration.double()
    modules, readout = [block.path.module() for block in blocks.layers], blocks.readout_module()
    activations = _activations(modules, values)
    outputs = readout(activations[-1].flatten(1))
    _check_folding(module, values, outputs)
    found = []
    for quantile in QUANTILES:
        scales = [_scale(one, quantile, f"{block}") for one, block in zip(activations, blocks.layers, strict=True)]
        net = assemble(
            blocks,
            _scaled(modules, scales),
            _times(readout, scales[-1], 1.0),
            vths=[1.0] * len(scales),
            neuron=IF(),
            steps=steps,
            normalisation=normalisation,
            class_names=class_names,
        )
        answers = outputs.argmax(1)
        exact = net.readout(net.equilibrium(values).rates[-1].flatten(1)).argmax(1)
        in_spikes, in_rates = (float((one == answers).double().mean()) for one in (net(values).argmax(1), exact))
        found.append(Balanced(net, quantile, steps, in_spikes, in_rates, len(values)))
    return max(found, key=lambda one: (one.agreement, one.agreement_of_rates))


def _activations(modules: Sequence[Affine], values: Tensor) -> list[Tensor]:
    """Return the activations of every layer, each [B, *shape]."""
    found = []
    for module in modules:
        values = torch.relu(module(values.flatten(1) if isinstance(module, nn.Linear) else values))
        found.append(values)
    return found


def _check_folding(module: nn.Module, values: Tensor, outputs: Tensor) -> None:
    """Raise BadNetwork unless the source computes the same outputs as the folded modules."""
    wanted = copy.deepcopy(module).double().eval()(values)
    off = float((wanted.flatten(1) - outputs).abs().max()) if wanted.flatten(1).shape == outputs.shape else torch.inf
    if not off <= FOLDING_ERROR * (1.0 + float(wanted.abs().max())):
        raise BadNetwork(
            f"the converted network differs from the source by {off:.3g} even without spikes: a hook or an overridden forward() computes "
            "something that is not in its modules; remove it"
        )


def _scale(activations: Tensor, quantile: float, where: str) -> float:
    scale = float(np.quantile(activations.numpy(), quantile))
    if not np.isfinite(scale):
        raise BadNetwork(f"{where}: an activation is not finite; check the calibration batch and the weights")
    return scale if scale > 0.0 else 1.0


def _scaled(modules: Sequence[Affine], scales: Sequence[float]) -> list[Affine]:
    """Return the modules with weights W_l s_{l - 1} / s_l and biases b_l / s_l, since a rate is an activation over its layer's scale."""
    return [_times(one, before / scale, 1.0 / scale) for one, before, scale in zip(modules, [1.0, *scales], scales)]


def _times(module: _Kind, factor: float, bias_factor: float) -> _Kind:
    made = copy.deepcopy(module)
    made.weight.mul_(factor)
    if made.bias is not None:
        made.bias.mul_(bias_factor)
    return made
