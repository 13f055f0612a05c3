"""An FSNN composed of torch modules: each provides the geometry and the weights of a connection."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.dynamics import Schedule
from fsnn_lava.nn.feedback import NormKind
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.graph import INPUT, Connection, Graph, Neurons
from fsnn_lava.nn.layer_shape import layer_shape
from fsnn_lava.nn.neurons import LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Pair, Shape

Linear = nn.Linear | nn.Conv2d | nn.ConvTranspose2d
Norm = nn.BatchNorm1d | nn.BatchNorm2d
LINEAR, NORM = (nn.Linear, nn.Conv2d, nn.ConvTranspose2d), (nn.BatchNorm1d, nn.BatchNorm2d)
_TAKEN = "Linear, Conv2d, ConvTranspose2d, AvgPool2d, Identity, and after them BatchNorm1d or BatchNorm2d"


@dataclass(frozen=True)
class _Part:
    """A connection as its modules define it, and the modules whose weights it copies."""

    connection: Connection
    channels: int  # of the target; 0 means those of the source
    linear: Linear | None = None
    norm: Norm | None = None

    def made_shape(self, source: Shape) -> Shape:
        connection = self.connection
        if isinstance(self.linear, nn.ConvTranspose2d):
            pairs = zip(source[1:], *(_pair(getattr(self.linear, name)) for name in ("kernel_size", "stride", "padding", "output_padding")))
            return (self.channels, *((n - 1) * s - 2 * p + k + o for n, k, s, p, o in pairs))
        made = connection.made_shape(source, self.channels or source[0])
        return made if connection.pool == 1 else (made[0], *(n // connection.pool for n in made[1:]))


def from_modules(
    layers: Mapping[str, nn.Module] | nn.Sequential,
    *,
    input_shape: Sequence[int],
    classes: int,
    connections: Mapping[tuple[str, str], nn.Module] | None = None,
    readout: nn.Linear | None = None,
    neuron: LIF | None = None,
    vth: float | Sequence[float] = 2.0,
    steps: int = 30,
    schedule: Schedule = "sequential",
    dropout: float = 0.0,
    norm: NormKind = "kernel",
    limit: float = 1.0,
    normalisation: Normalisation | None = None,
    class_names: Sequence[str] = (),
) -> FSNN:
    """Compose a network from torch modules, whose weights it copies.

    Leave activations out, since the neurons replace them. Feedback is restricted (E6), so a module whose norm is larger than `limit`
    is scaled down to it.

    Args:
        layers: for each layer's name, the module that leads into it from the previous layer, or from the input: nn.Linear, nn.Conv2d,
            nn.ConvTranspose2d, nn.AvgPool2d or nn.Identity; nn.Sequential(nn.Conv2d(…), nn.AvgPool2d(2), nn.BatchNorm2d(…)) for a
            convolution with pooling and batch norm. With one nn.Sequential of them all, the layers are called l1, l2, …
        input_shape: (N,) or (C, H, W), without batch and time.
        classes: outputs of the readout.
        connections: further modules by (source, target): skips, recurrence and feedback. "input" may be a source too.
        readout: the module after the last layer; by default a new one.
        neuron: as for `FSNN`, like all arguments that follow.
        vth: threshold of all layers, or one for each.
        steps: T.
        schedule: "sequential" or "pipelined".
        dropout: share of currents dropped in training.
        norm: how the feedback's norm is estimated.
        limit: of the feedback's alpha.
        normalisation: how raw values become inputs.
        class_names: one per class, or none.

    Returns:
        The network, with copies of the weights, and batch norm only where a module has it. It is in float64 if any module is.

    Raises:
        BadArgument: a module is not one of these.
        BadArchitecture: the shapes do not fit together.

    Examples:
        >>> blocks = {"a": torch.nn.Conv2d(1, 4, 3, stride=2, padding=1), "b": torch.nn.Conv2d(4, 4, 3, padding=1)}
        >>> back = torch.nn.Conv2d(4, 4, 3, padding=1, bias=False)
        >>> more = {("a", "b"): torch.nn.Identity(), ("b", "a"): back}
        >>> net = fl.from_modules(blocks, connections=more, input_shape=(1, 8, 8), classes=3)
    """
    shape = layer_shape(tuple(input_shape), "the input")
    parts, neurons = [], []
    source, known = INPUT, shape
    for name, modules in _named(layers).items():
        part = _part(modules, source, name)
        source, known = name, part.made_shape(known)
        parts.append(part)
        neurons.append(Neurons(name, known))
    parts += [_part([module], *ends) for ends, module in (connections or {}).items()]
    net = FSNN(
        Graph(shape, neurons, [part.connection for part in parts]),
        classes=classes,
        neuron=neuron,
        vth=vth,
        steps=steps,
        schedule=schedule,
        dropout=dropout,
        norm=norm,
        limit=limit,
        normalisation=normalisation,
        class_names=class_names,
    ).to(_dtype(parts, readout))
    _take_weights(net, parts, readout)
    return net


def _named(layers: Mapping[str, nn.Module] | nn.Sequential) -> dict[str, list[nn.Module]]:
    """Return the modules of every layer; in a Sequential, each linear module starts a new layer."""
    if not isinstance(layers, nn.Sequential):
        return {name: [module] for name, module in layers.items()}
    found: dict[str, list[nn.Module]] = {}
    for module in layers:
        begins = isinstance(module, (*LINEAR, nn.Sequential, nn.Identity))
        if begins or not found:
            found[f"l{len(found) + 1}"] = [module]
        else:
            found[f"l{len(found)}"].append(module)
    return found


def _part(modules: Sequence[nn.Module], source: str, target: str) -> _Part:
    flat = [inner for module in modules for inner in (module if isinstance(module, nn.Sequential) else [module])]
    flat = [module for module in flat if not isinstance(module, nn.Flatten)]  # a dense connection flattens its input itself
    where = f"{source!r} -> {target!r}"
    if not flat:
        raise BadArgument(f"{where}: there is no module; give one of {_TAKEN}")
    part = _first(flat[0], source, target, where)
    for module in flat[1:]:
        if isinstance(module, nn.AvgPool2d) and part.norm is None and part.connection.kind == "conv" and part.connection.pool == 1:
            part = replace(part, connection=replace(part.connection, pool=pooling_module_side(module, where)))
        elif isinstance(module, NORM) and part.norm is None:
            part = replace(part, norm=module, connection=replace(part.connection, batch_norm=True))
        else:
            activation = "; leave activations out, since the neurons replace them" if "activation" in type(module).__module__ else ""
            raise BadArgument(f"{where}: {type(module).__name__} cannot follow here; use one of {_TAKEN}{activation}")
    return part


def _first(module: nn.Module, source: str, target: str, where: str) -> _Part:
    plain = Connection(source=source, target=target, batch_norm=None)
    if isinstance(module, nn.Identity):
        return _Part(replace(plain, kind="identity"), 0)
    if isinstance(module, nn.AvgPool2d):
        size = pooling_module_side(module, where)
        return _Part(replace(plain, kind="pool", kernel=size), 0)
    if isinstance(module, nn.Linear):
        return _Part(replace(plain, batch_norm=False), module.out_features, module)
    if not isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
        raise BadArgument(f"{where}: {type(module).__name__} is not a connection; use one of {_TAKEN}")
    if module.padding_mode != "zeros" or isinstance(module.padding, str):
        raise BadArgument(f"{where}: a convolution needs zero padding given in numbers, got {module.padding_mode!r}, {module.padding!r}")
    kernel, stride, padding, dilation = (_pair(getattr(module, name)) for name in ("kernel_size", "stride", "padding", "dilation"))
    if isinstance(module, nn.Conv2d):
        shaped = replace(plain, kind="conv", dilation=dilation, groups=module.groups, batch_norm=False)
        return _Part(replace(shaped, kernel=kernel, stride=stride, padding=padding), module.out_channels, module)
    if module.groups > 1 or dilation != (1, 1):
        raise BadArgument(f"{where}: a transposed convolution must have one group and no dilation")
    shaped = replace(plain, kind="transposed", kernel=kernel, stride=stride, padding=padding, batch_norm=False)
    return _Part(shaped, module.out_channels, module)


def pooling_module_side(module: nn.AvgPool2d, where: str) -> int:
    """Return the side of the squares that a module averages, as `from_modules` does; BadArgument if they overlap, pad or are not square."""
    kernel, stride = _pair(module.kernel_size), _pair(module.stride)
    if kernel[0] != kernel[1] or kernel != stride or _pair(module.padding) != (0, 0) or module.ceil_mode or module.divisor_override:
        raise BadArgument(f"{where}: average pooling must be square, without overlap and padding, such as nn.AvgPool2d(2)")
    return kernel[0]


def _pair(value: int | tuple[int, ...]) -> Pair:
    return (value, value) if isinstance(value, int) else (value[0], value[1])


def _dtype(parts: Sequence[_Part], readout: nn.Linear | None) -> torch.dtype:
    """Return float64 if any module has it; half precision becomes float32."""
    weights = [part.linear.weight for part in parts if part.linear is not None] + ([] if readout is None else [readout.weight])
    return torch.float64 if any(weight.dtype == torch.float64 for weight in weights) else torch.float32


@torch.no_grad()
def _take_weights(net: FSNN, parts: Sequence[_Part], readout: nn.Linear | None) -> None:
    by_connection = {id(part.connection): part for part in parts}
    for stage in net.stages:
        part = by_connection[id(stage.connection)]
        if part.linear is not None and stage.linear is not None:
            stage.linear.weight.copy_(part.linear.weight)
            if part.linear.bias is not None and stage.linear.bias is not None:
                stage.linear.bias.copy_(part.linear.bias)
        if part.norm is not None and stage.norm is not None:
            stage.norm.load_state_dict(part.norm.state_dict())
    for connection, feedback in zip(net.graph.feedback, net.feedbacks, strict=True):
        part = by_connection[id(connection)]
        if part.linear is None:
            continue
        if part.linear.bias is not None:
            raise BadArgument(f"{connection}: feedback has no bias; make its module with bias=False")
        feedback.direction.copy_(part.linear.weight)
        for _ in range(20):
            feedback.iterate_()
        feedback.alpha.copy_(feedback.spectral_norm())
    net.clip_feedback_()
    if readout is not None:
        if tuple(readout.weight.shape) != tuple(net.readout.weight.shape) or readout.bias is None:
            raise BadArgument(f"the readout must be nn.Linear({net.readout.in_features}, {net.readout.out_features}) with a bias")
        net.readout.load_state_dict(readout.state_dict())
