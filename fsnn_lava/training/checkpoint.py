"""The checkpoint of a run after a full epoch, in one file that is consistent even if the process is killed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.files.torch_archive import unpack_torch_archive, write_torch_archive
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.training.log import EpochRecord
from fsnn_lava.training.momentum_sgd import MomentumSGD
from fsnn_lava.training.recipe import Recipe, load_recipe, read_recipe, recipe_differences
from fsnn_lava.training.run_folder import RECIPE

FORMAT = "fsnn-lava training state"
VERSION = 2
_STILL_USABLE = "last.pt and best.pt in the same folder may still be usable"
_OPTIONAL = ("solver_residual", "alpha", "test_accuracy", "validation_accuracy", "operations")  # keys of an epoch's record


@dataclasses.dataclass
class State:
    """Everything that the next epoch depends on. All randomness comes from (seed, epoch, batch), so no generator is stored."""

    epoch: int  # full epochs done
    iteration: int  # optimiser steps done
    network: dict[str, torch.Tensor]
    optimiser: dict[str, Any]
    best_accuracy: float
    best_epoch: int
    history: list[dict[str, Any]]  # one record per epoch, as in log.jsonl
    recipe: str  # as TOML
    threads: int
    processes: int = 1


def save_state(path: Path, state: State) -> None:
    """Write the checkpoint; at any time, either the old file or the complete new one exists. It loads with weights_only=True."""
    content = {"format": FORMAT, "version": VERSION, **_fields(state)}
    write_torch_archive(path, content)


def load_state(path: Path, recipe: Recipe) -> State:
    """Load the checkpoint of an earlier run of the same recipe; BadFile or BadArgument says why it cannot be continued."""
    if not path.exists():
        raise BadArgument(f"{path.parent} contains no run to resume (no {path.name}); start one without --resume")
    try:
        content = unpack_torch_archive(path, what="a training state")
        if content.pop("format") != FORMAT:
            raise KeyError("format")
        content.pop("activity", None)  # from versions whose simulation depended on the previous batch
        version = int(content.pop("version"))
        state = State(**content) if version <= VERSION else None
        if state is not None:
            _check(state)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise BadFile(f"{path} is damaged or not a training state; {_STILL_USABLE}") from error
    if state is None:
        raise BadFile(
            f"{path} has format version {version}; this release reads only versions 1 to {VERSION}: "
            "resume it with the version of fsnn-lava that wrote it"
        )
    changed = recipe_differences(_recipe_of(path, state, version), recipe)
    if changed:
        raise BadArgument(f"{path.parent} contains a run of another recipe ({'; '.join(changed)}); give another folder with --out")
    return state


def _recipe_of(path: Path, state: State, version: int) -> Recipe:
    """Return the recipe of the state; version 1 kept it only in a separate file."""
    return load_recipe(path.parent / RECIPE) if version == 1 else read_recipe(str(state.recipe), where=str(path))


def restore_tensors(state: State, net: FSNN, optimiser: MomentumSGD) -> None:
    """Load a checkpoint into the network and the optimiser; BadFile if a number is not finite or it belongs to another network."""
    try:
        if not all(bool(torch.isfinite(value).all()) for value in state.network.values()):
            raise ValueError("a parameter is not finite")
        settings = [{**group} for group in optimiser.param_groups]
        net.load_state_dict(state.network)
        optimiser.load_state_dict(state.optimiser)
        if not all(_same_settings(new, old) for new, old in zip(optimiser.param_groups, settings, strict=True)):
            raise ValueError("its optimiser has different settings")
        for new, old in zip(optimiser.param_groups, settings, strict=True):
            new.update({name: value for name, value in old.items() if name not in new})
        for parameter, numbers in optimiser.state.items():
            if not all(_fits(number, parameter) for number in numbers.values()):
                raise ValueError("the optimiser's momentum does not fit the parameters")
    except (RuntimeError, ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        sentence = " ".join(str(error).split())[:200]
        raise BadFile(f"the training state does not match the network in its recipe: {sentence}; {_STILL_USABLE}") from error


def _same_settings(new: dict[str, Any], old: dict[str, Any]) -> bool:
    """Return whether the settings that stay constant in a run agree; which ones exist depends on the version of torch."""
    return all(name in ("params", "lr", "foreach", "fused") or new.get(name, value) == value for name, value in old.items())


def _fits(number: Any, parameter: torch.Tensor) -> bool:
    """Return whether this is a valid optimiser value for a parameter: a finite number for every weight, or None."""
    if not isinstance(number, torch.Tensor):
        return number is None
    return number.shape == parameter.shape and number.dtype == parameter.dtype and bool(torch.isfinite(number).all())


def _check(state: State) -> None:
    """Raise ValueError or TypeError if a value is impossible in a training run."""
    counts = (state.epoch, state.iteration, state.best_epoch, state.threads, state.processes)
    if not all(type(number) is int and 0 <= number < 2**53 for number in counts) or not state.best_epoch <= state.epoch:
        raise ValueError("counts must be non-negative integers")
    if not (_is_number(state.best_accuracy) and 0 <= state.best_accuracy <= 1):
        raise ValueError("the best accuracy must lie in [0, 1]")
    if not isinstance(state.network, dict) or not isinstance(state.optimiser, dict):
        raise TypeError("network and optimiser must be dicts")
    if not all(isinstance(value, torch.Tensor) for value in state.network.values()):
        raise TypeError("the network must contain tensors")
    if not isinstance(state.history, list) or not len(state.history) == state.epoch > 0:
        raise ValueError("an epoch is missing")
    for number, record in enumerate(state.history, start=1):
        if record["epoch"] != number:
            raise ValueError("an epoch is missing")
        found = dataclasses.asdict(EpochRecord(**record))
        if (found["test_accuracy"] is None) == (found["validation_accuracy"] is None):
            raise ValueError("an epoch must have either a test or a validation accuracy")
        numbers = [*found.pop("firing_rates"), *(value for name, value in found.items() if value is not None or name not in _OPTIONAL)]
        if not all(_is_number(number) for number in numbers):
            raise TypeError("the figures of an epoch must be numbers")


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _fields(state: State) -> dict[str, Any]:
    return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
