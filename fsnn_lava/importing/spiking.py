"""Convert a network of spiking neurons to an FSNN: the measurements become thresholds, one leak, and recurrent connections."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.blocks import Block, Blocks, assemble
from fsnn_lava.importing.chain import Link
from fsnn_lava.importing.linear_path import Affine
from fsnn_lava.importing.neuron_facts import CLOSE, NeuronFacts
from fsnn_lava.importing.probe import probe
from fsnn_lava.importing.sources.framework import Framework, Recurrence
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.neurons import IF, LIF
from fsnn_lava.nn.normalisation import Normalisation


@dataclass(frozen=True, eq=False)
class KnownLayer:
    """A block, and what its neurons do."""

    block: Block
    facts: NeuronFacts
    recurrence: Recurrence | None


@torch.no_grad()
def convert(
    blocks: Blocks,
    layers: Sequence[KnownLayer],
    *,
    connections: Mapping[tuple[str, str], Affine] | None = None,
    steps: int,
    normalisation: Normalisation | None,
    class_names: Sequence[str],
    dtype: torch.dtype,
    precision: float = CLOSE,
) -> FSNN:
    """Convert blocks of spiking neurons to our network in float64, with thresholds for `dtype`.

    Args:
        blocks: the layers and the readout.
        layers: the same layers, with what is known about their neurons.
        connections: by source and target, in addition to those into and within the layers.
        steps: T.
        normalisation: for raw values; stored in the network.
        class_names: stored in the network.
        dtype: the dtype that the network will have.
        precision: largest difference allowed between the leaks of the layers.
    """
    own = {(layer.block.name, layer.block.name): _recurrent(layer) for layer in layers}
    return assemble(
        blocks,
        [_with_bias(layer) for layer in layers],
        blocks.readout_module(),
        vths=[_vth(layer.facts, dtype) for layer in layers],
        neuron=_neuron(layers, precision),
        connections={**{ends: module for ends, module in own.items() if module is not None}, **(connections or {})},
        steps=steps,
        normalisation=normalisation,
        class_names=class_names,
    )


@torch.no_grad()
def measured_spiking_layer(block: Block, framework: Framework) -> KnownLayer:
    """Probe the spiking neurons of a block; raise BadArgument if an FSNN cannot reproduce what they do."""
    neurons = framework.prepared(block.neurons.module)
    recurrence = framework.recurrence(neurons)
    alone = _single_neuron(framework.without_recurrence(neurons), block.neurons)

    def run(currents: Tensor) -> Tensor:
        return framework.run(framework.prepared(alone), currents.unsqueeze(-1)).spikes.squeeze(-1)

    facts = probe(run, stated_threshold=framework.stated_threshold(alone))
    check_spiking_block(block, facts, said_by=f"measured with {framework}", remedy=f"train with {framework.remedy}")
    return KnownLayer(block, facts, recurrence)


def _single_neuron(module: nn.Module, link: Link) -> nn.Module:
    """Reduce every parameter of the neurons to one number, so that any number of them can be run; BadArgument if they differ."""
    for part in module.modules():
        for name, value in [*part.named_parameters(recurse=False), *part.named_buffers(recurse=False)]:
            if value.numel() <= 1:
                continue
            if not bool((value == value.flatten()[0]).all()):
                low, high = (float(bound) for bound in torch.aminmax(value))
                raise BadArgument(f"{link}: {name} differs between its neurons ({low:g} … {high:g}); all neurons of a layer must share it")
            value.data = value.data.flatten()[0].clone()
    return module


def check_spiking_block(block: Block, facts: NeuronFacts, *, said_by: str, remedy: str) -> None:
    """Raise BadArgument unless an FSNN can reproduce these spiking neurons; `said_by` and `remedy` become parts of the message."""
    problem = None
    if facts.oddities:
        problem = f"it {facts.oddities[0]}, which an FSNN cannot do: {remedy}"
    elif facts.reset == "zero":
        problem = f"it resets to zero, which loses charge with every spike, so there is no equilibrium: {remedy}"
    elif facts.reset != "subtract":
        problem = f"it {str(facts).partition(',')[0]}, but an FSNN subtracts its threshold: {remedy}"
    elif facts.delay:
        problem = f"its spikes come {facts.delay} step(s) late, but the layers of an FSNN fire without delay: {remedy}"
    elif not 0.0 < facts.leak <= 1.0:
        problem = f"it keeps {facts.leak:g} of its potential per step, which must lie in (0, 1]"
    if problem is not None:
        raise BadArgument(f"{block}: {said_by}, {problem}")


def describe_spiking_layers(layers: Sequence[KnownLayer]) -> str:
    """Describe what the spiking neurons do, with one sentence for all layers that behave alike."""
    names: dict[str, list[str]] = {}
    for layer in layers:
        names.setdefault(str(layer.facts), []).append(layer.block.name)
    return "; ".join(f"{', '.join(them)} {sentence}" for sentence, them in names.items())


def _neuron(layers: Sequence[KnownLayer], precision: float) -> LIF:
    leak = layers[0].facts.leak
    for layer in layers[1:]:
        if abs(layer.facts.leak - leak) > precision:
            raise BadArgument(
                f"{layer.block} keeps {layer.facts.leak:.6g} of its potential per step, but {layers[0].block} keeps {leak:.6g}: all layers "
                "of an FSNN share one leak; train with the same one"
            )
    return IF() if leak == 1.0 else LIF(leak)


def _vth(facts: NeuronFacts, dtype: torch.dtype) -> float:
    """Return the threshold; for neurons that fire only above it, the next larger number in the network's dtype."""
    if not facts.strict:
        return facts.threshold
    kind = np.float64 if dtype == torch.float64 else np.float32
    nearest = kind(facts.threshold)
    return float(nearest if float(nearest) > facts.threshold else np.nextafter(nearest, kind(np.inf)))


def _with_bias(layer: KnownLayer) -> Affine:
    """Return the connection into a layer, plus the bias of its recurrent connection, which is the same in every step."""
    module = layer.block.path.module()
    own = None if layer.recurrence is None else layer.recurrence.own
    if layer.recurrence is not None and layer.recurrence.entry is not None:
        module = _through(module, layer.recurrence.entry, layer.block)
    if isinstance(own, (nn.Linear, nn.Conv2d)) and own.bias is not None and module.bias is not None:
        module.bias.add_(own.bias)
    return module


def _through(module: Affine, entry: nn.Linear, block: Block) -> nn.Linear:
    """Multiply two dense connections into one."""
    if not isinstance(module, nn.Linear) or entry.in_features != module.out_features:
        raise BadArgument(f"{block}: a recurrent container with weights for its input must follow nn.Linear")
    made = nn.Linear(module.in_features, entry.out_features, dtype=torch.float64)
    made.weight.copy_(entry.weight @ module.weight)
    made.bias.copy_(entry.weight @ module.bias)
    if entry.bias is not None:
        made.bias.add_(entry.bias)
    return made


def _recurrent(layer: KnownLayer) -> Affine | None:
    """Return a layer's connection to itself: the source's, plus what its reset subtracts beyond ours; both act one step later."""
    shape, excess = layer.block.path.shape, layer.facts.excess
    own = None if layer.recurrence is None else layer.recurrence.own
    if own is None and excess == 0.0:
        return None
    if not (own is None or isinstance(own, (nn.Linear, nn.Conv2d, Tensor))):
        raise BadArgument(f"{layer.block}: its recurrent connection is {type(own).__name__}; it must be nn.Linear or nn.Conv2d")
    if isinstance(own, nn.Conv2d):
        return _copied_convolution(own, excess, layer.block)
    made: Affine
    if isinstance(own, nn.Linear) or len(shape) == 1:
        made = nn.Linear(shape[0], shape[0], bias=False, dtype=torch.float64)
        made.weight.copy_(_matrix(own, shape[0], layer.block) - excess * torch.eye(shape[0]))
        return made
    if isinstance(own, Tensor) and own.numel() > 1:
        raise BadArgument(f"{layer.block}: one recurrent factor per neuron needs a layer of shape (N,), got {shape}")
    made = nn.Conv2d(shape[0], shape[0], 1, groups=shape[0], bias=False, dtype=torch.float64)
    made.weight.fill_((0.0 if own is None else float(own)) - excess)
    return made


def _matrix(own: nn.Linear | Tensor | None, size: int, block: Block) -> Tensor:
    if own is None:
        return torch.zeros(size, size, dtype=torch.float64)
    if isinstance(own, nn.Linear):
        if own.weight.shape != (size, size):
            raise BadArgument(f"{block}: its recurrent weight must be {size} x {size}, got {list(own.weight.shape)}")
        return own.weight.double()
    return torch.diag(own.double().flatten().expand(size))


def _copied_convolution(own: nn.Conv2d, excess: float, block: Block) -> nn.Conv2d:
    kernel, channels = own.kernel_size, own.out_channels
    same = (kernel[0] // 2, kernel[1] // 2)
    plain = own.stride == own.dilation == (1, 1) and own.groups == 1 and own.padding_mode == "zeros"
    if not plain or own.padding != same or kernel[0] % 2 == 0 or kernel[1] % 2 == 0:
        raise BadArgument(
            f"{block}: its recurrent convolution must have an odd kernel, zero padding that keeps the shape, and no stride or groups"
        )
    made = nn.Conv2d(channels, channels, (kernel[0], kernel[1]), padding=same, bias=False, dtype=torch.float64)
    made.weight.copy_(own.weight)
    every = torch.arange(channels)
    made.weight[every, every, same[0], same[1]] -= excess
    return made
