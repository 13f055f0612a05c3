"""The file model.pt: a float network with everything that export needs. It is read as plain data, so no file can execute anything."""

from __future__ import annotations

from math import prod
from pathlib import Path
from typing import Any

import torch

from fsnn_lava.errors import BadFile, FsnnError
from fsnn_lava.files.torch_archive import unpack_torch_archive, write_torch_archive
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.fsnn_config import read_architecture
from fsnn_lava.nn.neurons import SigmaDelta

FORMAT = "fsnn-lava model"
VERSION = 3  # 1: a chain in the paper's notation, which every release can read; 2: any graph; 3: neurons that send changes

FIXED_MAX = 2**25  # numbers for identities and pooling, which are not in the file


def write_model(net: FSNN, path: str | Path) -> None:
    """Write a float model to a file that plain torch can read too."""
    content = {
        "format": FORMAT,
        "version": _version(net),
        "config": net.config(),
        "state": {name: tensor.detach().cpu() for name, tensor in net.state_dict().items()},
        "metrics": dict(net.metrics),
        "trained_range": None if net.trained_range is None else list(net.trained_range),
    }
    write_torch_archive(path, content)


def _version(net: FSNN) -> int:
    """Return the oldest model format that can hold the network."""
    if isinstance(net.neuron, SigmaDelta):
        return 3
    return 1 if net.graph.is_chain and net.architecture.notation is not None else 2


def read_model(path: str | Path) -> FSNN:
    """Read the float model in `path`, in eval mode; BadFile says what is wrong with the file."""
    content = unpack_torch_archive(Path(path), what="a model of fsnn-lava (train one with fsnn-train)")
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise BadFile(f"{path} is not a model of fsnn-lava (train one with fsnn-train)")
    version = content.get("version")
    if not isinstance(version, int) or not 1 <= version <= VERSION:
        raise BadFile(f"{path} has model format version {version}, but this release reads only versions 1 to {VERSION}: update fsnn-lava")
    try:
        config, state = content["config"], content["state"]
        _check_sizes(Path(path), config, state)
        with torch.random.fork_rng(devices=[]):
            net = FSNN.from_config(config)
        dtypes = {tensor.dtype for tensor in state.values() if tensor.is_floating_point()}
        if torch.float64 in dtypes:
            net = net.double()
        net.load_state_dict(state)
        net.metrics = dict(content.get("metrics", {}))
        net.trained_range = _range(content.get("trained_range"))
    except FsnnError as error:
        raise BadFile(f"{path} is damaged: {error}") from error
    except (LookupError, TypeError, ValueError, RuntimeError, AttributeError, ArithmeticError, MemoryError, RecursionError) as error:
        raise BadFile(f"{path} is damaged: its contents do not form a network ({type(error).__name__})") from error
    for name, tensor in net.state_dict().items():
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            raise BadFile(f"{path} is damaged: {name} contains NaN or infinity")
    return net.eval()


def _range(kept: Any) -> tuple[float, float] | None:
    """Return the trained range, two numbers, or None in files written by older versions."""
    if kept is None:
        return None
    low, high = kept
    return float(low), float(high)


def _check_sizes(path: Path, config: Any, state: Any) -> None:
    """Check the size of the architecture against the tensors in the file before memory is allocated for it."""
    if not isinstance(config, dict) or not isinstance(state, dict):
        raise BadFile(f"{path} is damaged: config and state must be dicts")
    if not all(isinstance(name, str) and isinstance(tensor, torch.Tensor) for name, tensor in state.items()):
        raise BadFile(f"{path} is damaged: the state must contain only tensors")
    architecture = read_architecture(config)
    storages = {
        tensor.untyped_storage().data_ptr(): tensor.untyped_storage().nbytes() // tensor.element_size() for tensor in state.values()
    }
    held = sum(storages.values())  # each storage once, even if several tensors share it
    graph = architecture.graph
    fixed = sum(prod(graph.operator(one).weight_shape) for one in graph.connections if one.fixed)
    if fixed > FIXED_MAX:
        raise BadFile(f"{path} is damaged: identity and pooling take {fixed} numbers, more than {FIXED_MAX}")
    vectors = 0 if config.get("norm") == "kernel" else sum(prod(graph.shape(one.target)) for one in graph.feedback)  # of power iterations
    if architecture.parameters + vectors > held:
        raise BadFile(f"{path} is damaged: {architecture} has {architecture.parameters} weights, the file holds {held} numbers")
