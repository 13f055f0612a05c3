"""Read checkpoints of the authors' code (github.com/pkuxmq/IDE-FSNN), such as model_best.pth.tar; nothing in them is executed.

A checkpoint contains weights by name, but no leak, threshold or geometry. The architecture follows from the names and shapes; stride
and padding of the first convolution are those that lead from the input to the number of values that the classifier takes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as nnf
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument, BadFile, FsnnError
from fsnn_lava.files.torch_archive import unpack_torch_archive
from fsnn_lava.importing.blocks import block_feedback_limit
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.layer_shape import layer_shape
from fsnn_lava.nn.modules import from_modules
from fsnn_lava.nn.neurons import IF, LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.operators import Pair, Shape

WHAT = "a checkpoint of IDE-FSNN (model_best.pth.tar)"
ALPHA_MAX = 1.0  # the authors' norm_range
STRIDES = (1, 2)
_NORM_PARTS = ("weight", "bias", "running_mean", "running_var")
_DAMAGE = (LookupError, TypeError, ValueError, RuntimeError, AttributeError, ArithmeticError, MemoryError, RecursionError)
State = Mapping[str, Tensor]
Feedback = nn.Linear | nn.Conv2d | nn.ConvTranspose2d


def from_ide_fsnn(
    path: str | Path,
    *,
    leak: float,
    input_shape: Sequence[int] | None = None,
    vth: float = 2.0,
    steps: int = 30,
    normalisation: Normalisation | None = None,
    class_names: Sequence[str] = (),
    dtype: torch.dtype | None = None,
) -> FSNN:
    """Load an IDE-FSNN checkpoint written by the authors' training scripts, without executing anything in it.

    The network computes what their code computes right after loading the checkpoint. Their feedback weight depends on a power iteration
    that advances with every batch; here it is taken after the first step.

    Args:
        path: checkpoint.pth.tar or model_best.pth.tar.
        leak: the value passed as --leaky in training; 1 for IF. The file does not contain it.
        input_shape: (N,) or (C, H, W); optional for a dense network, required for a convolutional one.
        vth: the value passed as --vth; their default is 2.
        steps: T, the value passed as --time_step: by default 5 for their dense network, 30 for the others.
        normalisation: their transforms, such as `Normalisation(mean=(0.1307,), std=(0.3081,))` for MNIST; required by `quantise`.
        class_names: one per class, or empty.
        dtype: torch.float64 also computes the norm of the feedback in double precision; by default the dtype in the file.

    Returns:
        The network, in eval mode.

    Raises:
        BadFile: it is not such a checkpoint, or it is damaged.
        BadArgument: `input_shape` is missing or does not fit, or another argument is out of range.

    Examples:
        >>> net = fl.from_ide_fsnn("model_best.pth.tar", leak=0.95, steps=5)
    """
    state = {name: value.to(dtype) for name, value in _state(Path(path)).items()}
    neuron = IF() if leak == 1.0 else LIF(leak)
    try:
        layers, feedback = _modules(state, input_shape)
        readout = _linear(state, "classifier")
        net = from_modules(
            layers,
            input_shape=_input_shape(state, input_shape),
            classes=readout.out_features,
            connections={(f"l{len(layers)}", "l1"): feedback},
            readout=readout,
            neuron=neuron,
            vth=vth,
            steps=steps,
            limit=block_feedback_limit([feedback]),
            normalisation=normalisation,
            class_names=class_names,
        )
    except FsnnError:
        raise
    except _DAMAGE as error:
        raise BadFile(f"{path} is damaged: its contents do not form a network of IDE-FSNN ({type(error).__name__}: {error})") from error
    net.metrics["imported"] = (
        f"IDE-FSNN checkpoint {Path(path).name}: {len(state)} arrays read as data; "
        f"leak {leak:g}, threshold {vth:g} and T = {steps} as given"
    )
    return net.eval()


def _state(path: Path) -> State:
    """Return the network's arrays by name, without the DataParallel prefix and without duplicates under other names."""
    content = unpack_torch_archive(path, what=WHAT)
    found = content.get("state_dict", content) if isinstance(content, dict) else None
    if not isinstance(found, dict):
        raise BadFile(f"{path} is not {WHAT}: it must be a dict that contains 'state_dict'")
    named = {str(name).removeprefix("module."): value for name, value in found.items()}
    own = {name: value for name, value in named.items() if re.match(r"network_[xs]\d*\.|classifier\.", name)}
    state = {name: value for name, value in own.items() if isinstance(value, Tensor) and value.is_floating_point()}
    if not any(name.startswith("network_x.") for name in state) or "classifier.weight" not in state:
        raise BadFile(f"{path} is not {WHAT}: it needs arrays named network_x.… and classifier.weight")
    for name, value in state.items():
        if not bool(torch.isfinite(value).all()):
            raise BadFile(f"{path} is damaged: {name} contains NaN or infinity")
    dtypes = {value.dtype for value in state.values()}
    if dtypes != {torch.float32} and dtypes != {torch.float64}:
        raise BadFile(f"{path} is damaged: its arrays must all be float32 or all be float64")
    return state


def _modules(state: State, input_shape: Sequence[int] | None) -> tuple[dict[str, nn.Sequential], Feedback]:
    """Return the module that leads into each layer, and the feedback from the last layer to the first."""
    if "network_x.fc.weight" in state:
        first = nn.Sequential(_linear(state, "network_x.fc"), _norm(state, "network_x.bn", nn.BatchNorm1d))
        weight = _feedback(state, "network_s.fc")
        return {"l1": first}, _filled(nn.Linear(weight.shape[1], weight.shape[0], bias=False), weight)
    if input_shape is None:
        raise BadArgument("a convolutional checkpoint does not contain the size of its input: pass input_shape, such as (1, 28, 28)")
    shape = layer_shape(tuple(input_shape), "the input")
    deep = "network_s1.conv.weight" in state
    stride, padding = _geometry(state, shape, deep=deep)
    layers = {"l1": _convolution(state, "network_x", stride=stride, padding=padding)}
    if not deep:
        weight = _feedback(state, "network_s.conv")
        return layers, _filled(nn.Conv2d(weight.shape[1], weight.shape[0], _kernel(weight), padding=_same(weight), bias=False), weight)
    for number in range(1, 5):
        same = _same(state[f"network_s{number}.conv.weight"])
        layers[f"l{number + 1}"] = _convolution(state, f"network_s{number}", stride=2 if number == 2 else 1, padding=same)
    weight = _feedback(state, "network_s5.convT")
    back = nn.ConvTranspose2d(weight.shape[0], weight.shape[1], _kernel(weight), 2, 1, 1, bias=False)  # stride, padding, output padding
    return layers, _filled(back, weight)


def _input_shape(state: State, given: Sequence[int] | None) -> Shape:
    """Return the input shape; for a dense network it may be inferred."""
    dense = "network_x.fc.weight" in state
    takes = int(state["network_x.fc.weight" if dense else "network_x.conv.weight"].shape[1])
    if given is None:
        return (takes,)
    shape = layer_shape(tuple(given), "the input")
    if (prod(shape) if dense else shape[0]) != takes:
        raise BadArgument(f"the checkpoint's first layer takes {takes} {'values' if dense else 'channels'}, but input_shape is {shape}")
    return shape


def _geometry(state: State, shape: Shape, *, deep: bool) -> tuple[int, int]:
    """Find the stride and padding of the first convolution: the only pair that gives as many values as the classifier takes."""
    kernel = _kernel(state["network_x.conv.weight"])
    last = "network_s4.conv.weight" if deep else "network_x.conv.weight"
    wanted, channels = state["classifier.weight"].shape[1], state[last].shape[0]
    found = []
    for stride in STRIDES:
        for padding in range(max(kernel)):
            sides = tuple((side + 2 * padding - size) // stride + 1 for side, size in zip(shape[1:], kernel, strict=True))
            if deep:  # the second of four layers has half as many rows and columns, and the feedback doubles them again
                sides = tuple(side // 2 if side % 2 == 0 else 0 for side in sides)
            if min(sides) > 0 and channels * prod(sides) == wanted:
                found.append((stride, padding))
    if len(found) != 1:
        raise BadArgument(
            f"with input_shape {shape}, {len(found) or 'no'} stride and padding pairs of a {kernel[0]} x {kernel[1]} kernel give the "
            f"{wanted} values that the classifier takes; check input_shape"
        )
    return found[0]


def _convolution(state: State, name: str, *, stride: int, padding: int) -> nn.Sequential:
    weight = state[f"{name}.conv.weight"]
    conv = _filled(nn.Conv2d(weight.shape[1], weight.shape[0], _kernel(weight), stride, padding), weight, state[f"{name}.conv.bias"])
    return nn.Sequential(conv, _norm(state, f"{name}.bn", nn.BatchNorm2d))


def _kernel(weight: Tensor) -> Pair:
    return int(weight.shape[2]), int(weight.shape[3])


def _same(weight: Tensor) -> int:
    return (int(weight.shape[2]) - 1) // 2


def _linear(state: State, name: str) -> nn.Linear:
    weight = state[f"{name}.weight"]
    return _filled(nn.Linear(weight.shape[1], weight.shape[0]), weight, state[f"{name}.bias"])


def _filled(module: Any, weight: Tensor, bias: Tensor | None = None) -> Any:
    """Fill a linear module with these weights."""
    module = module.to(weight.dtype).requires_grad_(False)
    module.weight.copy_(weight)
    if bias is not None:
        module.bias.copy_(bias)
    return module


def _norm(state: State, name: str, kind: type[nn.BatchNorm1d] | type[nn.BatchNorm2d]) -> nn.BatchNorm1d | nn.BatchNorm2d:
    values = {part: state[f"{name}.{part}"] for part in _NORM_PARTS}
    made = kind(len(values["weight"])).to(values["weight"].dtype).requires_grad_(False)
    made.load_state_dict({**made.state_dict(), **values})
    return made


def _feedback(state: State, name: str) -> Tensor:
    """Return W = g W^ / ||W^|| with |g| <= 1 (E6); ||W^|| is estimated as they do, by one power iteration from the vector in the file."""
    direction, left, gain = (state[f"{name}.weight_{part}"].double() for part in ("w", "u", "g"))
    matrix = direction.flatten(1)
    right = nnf.normalize(matrix.t() @ left, dim=0)
    norm = float(torch.linalg.vector_norm(matrix @ right))
    if not norm > 0.0:
        raise BadFile(f"the checkpoint is damaged: {name}.weight_w does not have a positive norm")
    return (direction * (gain.clamp(-ALPHA_MAX, ALPHA_MAX) / norm)).to(state[f"{name}.weight_w"].dtype)
