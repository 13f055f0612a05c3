"""Checkpoints laid out as the authors' training scripts write them: names, shapes and dicts, with random numbers."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import torch
from torch import Tensor


def random_state(
    kind: str, *, inputs: int = 12, hidden: int = 7, classes: int = 3, side: int = 3, kernel: int = 5, dtype: torch.dtype = torch.float64
) -> OrderedDict[str, Tensor]:
    """The arrays of a network by name; `kind` is "fc", "conv" or "deep", `side` that of the last layer."""
    torch.manual_seed(3)
    state: OrderedDict[str, Tensor] = OrderedDict()
    name = "fc" if kind == "fc" else "conv"
    first = (hidden, inputs) if kind == "fc" else (hidden, inputs, kernel, kernel)
    _linear(state, f"network_x.{name}", first, dtype)
    _norm(state, "network_x.bn", hidden, dtype)
    last = hidden
    if kind == "deep":
        for number, channels in enumerate((4, 5, 6, 3), start=1):
            _linear(state, f"network_s{number}.conv", (channels, last, 3, 3), dtype)
            _norm(state, f"network_s{number}.bn", channels, dtype)
            last = channels
    loop = {"fc": (hidden, hidden), "conv": (hidden, hidden, 3, 3), "deep": (last, hidden, 3, 3)}[kind]
    _restricted(state, {"fc": "network_s.fc", "conv": "network_s.conv", "deep": "network_s5.convT"}[kind], loop, dtype)
    _linear(state, "classifier", (classes, hidden if kind == "fc" else last * side**2), dtype)
    return state


def write_checkpoint(path: Path, state: OrderedDict[str, Tensor], *, parallel: bool = True) -> None:
    """As torch.save writes what the scripts pass to it: every array also under the names of the modules that share it."""
    shared = {name: value for name, value in state.items() if name.startswith("network_")}
    named = {**state, **{f"snn_func.{name}": value for name, value in shared.items()}}
    prefix = "module." if parallel else ""
    content = {
        "epoch": 3,
        "state_dict": OrderedDict((prefix + name, value) for name, value in named.items()),
        "acc": 88.5,
        "best_acc": 88.75,
        "optimizer": {"state": {0: {"momentum_buffer": torch.zeros(2)}}, "param_groups": [{"lr": 0.05, "foreach": None, "params": [0]}]},
    }
    torch.save(content, path)


def _linear(state: OrderedDict[str, Tensor], name: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    state[f"{name}.weight"] = torch.randn(shape, dtype=dtype)
    state[f"{name}.bias"] = torch.randn(shape[0], dtype=dtype)


def _norm(state: OrderedDict[str, Tensor], name: str, channels: int, dtype: torch.dtype) -> None:
    for part in ("weight", "running_var"):
        state[f"{name}.{part}"] = 0.5 + torch.rand(channels, dtype=dtype)
    for part in ("bias", "running_mean"):
        state[f"{name}.{part}"] = torch.randn(channels, dtype=dtype)
    state[f"{name}.num_batches_tracked"] = torch.tensor(7)


def _restricted(state: OrderedDict[str, Tensor], name: str, shape: tuple[int, ...], dtype: torch.dtype) -> None:
    """Weight, norm that it is given, and the two vectors of a power iteration that has not converged."""
    columns = int(torch.Size(shape[1:]).numel())
    state[f"{name}.weight_g"] = torch.tensor(-1.7, dtype=dtype)  # to be clipped to -1
    state[f"{name}.weight_w"] = torch.randn(shape, dtype=dtype)
    for part, size in (("u", shape[0]), ("v", columns)):
        state[f"{name}.weight_{part}"] = torch.nn.functional.normalize(torch.randn(size, dtype=dtype), dim=0)
