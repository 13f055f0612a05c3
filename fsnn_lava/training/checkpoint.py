"""The state of a run after a full epoch, in one file: what is in it is consistent, whenever the process was killed."""

from __future__ import annotations

import dataclasses
import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.formats.atomic import atomic_path
from fsnn_lava.training.recipe import Recipe, differences, load_recipe
from fsnn_lava.training.run_folder import RECIPE

VERSION = 1


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
    recipe: str  # Recipe.digest()
    threads: int
    processes: int = 1


def save_state(path: Path, state: State) -> None:
    """Write the state so that the old or the new file is there, never a half; loadable with weights_only=True."""
    content = {"format": "fsnn-lava training state", "version": VERSION, **_fields(state)}
    with atomic_path(path) as temporary:
        torch.save(content, temporary)


def load_state(path: Path, recipe: Recipe) -> State:
    """The state of an earlier run of the same recipe; BadFile or BadArgument says why it cannot be continued."""
    if not path.exists():
        raise BadArgument(f"{path.parent} holds no run to resume (no {path.name}); start one without --resume")
    try:
        content = torch.load(path, map_location="cpu", weights_only=True)
        if content.pop("format") != "fsnn-lava training state" or content.pop("version") != VERSION:
            raise BadFile(f"{path} is a training state of another version; start again in a new folder")
        state = State(**content)
    except (OSError, RuntimeError, KeyError, TypeError, AttributeError, EOFError, pickle.UnpicklingError, zipfile.BadZipFile) as error:
        raise BadFile(f"{path} is damaged or not a training state; last.pt and best.pt beside it may still be loaded") from error
    if state.recipe != recipe.digest():
        named = _named(path.parent / RECIPE, recipe)
        raise BadArgument(f"{path.parent} holds a run of another recipe{named}; give another folder with --out")
    return state


def _fields(state: State) -> dict[str, Any]:
    return {field.name: getattr(state, field.name) for field in dataclasses.fields(state)}


def _named(earlier: Path, recipe: Recipe) -> str:
    """The differing keys as ' (key: that run's value, this recipe's)', or nothing if the earlier recipe cannot be read."""
    try:
        return f" ({'; '.join(differences(load_recipe(earlier), recipe))})"
    except BadFile:
        return ""
