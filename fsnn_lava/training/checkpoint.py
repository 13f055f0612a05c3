"""The state of a run after a full epoch, in one file: what is in it is consistent, whenever the process was killed."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import torch

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.formats.atomic import atomic_path
from fsnn_lava.formats.torch_archive import unpack
from fsnn_lava.training.recipe import Recipe, differences, load_recipe, read_recipe
from fsnn_lava.training.run_folder import RECIPE

FORMAT = "fsnn-lava training state"
VERSION = 2


@dataclasses.dataclass
class State:
    """Everything the next epoch depends on. All randomness comes from (seed, epoch, batch), so no generator is stored."""

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
    activity: float = 0.0  # of the last run: whether the next one is event-driven


def save_state(path: Path, state: State) -> None:
    """Write the state so that the old or the new file is there, never a half; loadable with weights_only=True."""
    content = {"format": FORMAT, "version": VERSION, **_fields(state)}
    with atomic_path(path) as temporary:
        torch.save(content, temporary)


def load_state(path: Path, recipe: Recipe) -> State:
    """The state of an earlier run of the same recipe; BadFile or BadArgument says why it cannot be continued."""
    if not path.exists():
        raise BadArgument(f"{path.parent} holds no run to resume (no {path.name}); start one without --resume")
    try:
        content = unpack(path, what="a training state")
        if content.pop("format") != FORMAT:
            raise KeyError("format")
        version = int(content.pop("version"))
        state = State(**content) if version <= VERSION else None
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadFile(f"{path} is damaged or not a training state; last.pt and best.pt beside it may still be loaded") from error
    if state is None:
        raise BadFile(f"{path} is of version {version}, newer than this program's {VERSION}; resume it with the program that wrote it")
    changed = differences(_earlier(path, state, version), recipe)
    if changed:
        raise BadArgument(f"{path.parent} holds a run of another recipe ({'; '.join(changed)}); give another folder with --out")
    return state


def _earlier(path: Path, state: State, version: int) -> Recipe:
    """The recipe that the state is of; version 1 kept it only beside the state."""
    return load_recipe(path.parent / RECIPE) if version == 1 else read_recipe(str(state.recipe), where=str(path))


def _fields(state: State) -> dict[str, Any]:
    return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}
