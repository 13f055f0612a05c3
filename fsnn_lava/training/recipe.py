"""The recipe: everything that determines what a training run computes, read from a TOML file."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, get_args

from fsnn_lava.data.names import NAMES, TONIC
from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.files.toml import parse_toml, read_toml
from fsnn_lava.nn.dynamics import SCHEDULES, Schedule
from fsnn_lava.nn.feedback import NORMS, NormKind
from fsnn_lava.nn.neurons import Activation
from fsnn_lava.solvers.solver import LINEAR_METHODS, PRECISIONS, Method, Precision
from fsnn_lava.training.graph_keys import GraphKeys
from fsnn_lava.training.recipe_keys import key_rule, nested_keys, nested_recipe_keys, print_keys, read_keys

TaskName = Literal["classes", "multi-label", "regression"]
TASKS: tuple[TaskName, ...] = get_args(TaskName)


@dataclasses.dataclass(frozen=True)
class Optimiser:
    """Stochastic gradient descent with momentum. Weight decay acts on every parameter, alpha and batch norm included, as in the paper."""

    learning_rate: float = key_rule(float, 0.05, low=0.0, open_low=True)
    momentum: float = key_rule(float, 0.9, low=0.0, high=1.0, open_high=True)
    weight_decay: float = key_rule(float, 5e-4, low=0.0)


@dataclasses.dataclass(frozen=True)
class LearningRate:
    """The learning rate is multiplied by `decay` every `every` epochs (0: never) or at each of `milestones`, or follows half a cosine down
    to zero over all epochs; in every case after a linear warm-up of `warmup` iterations.
    """

    decay: float = key_rule(float, 0.1, low=0.0, open_low=True, high=1.0)
    every: int = key_rule(int, 0, low=0)
    milestones: tuple[int, ...] = key_rule(int, (), low=1, many=True)
    cosine: bool = key_rule(bool, False)
    warmup: int = key_rule(int, 0, low=0)


@dataclasses.dataclass(frozen=True)
class SolverChoice:
    """How E5 is solved: until the relative residual is `tol`, with at most `max_steps` products (0: the Jacobian-free gradient).

    `precision` is that of the products; see `Solver`.
    """

    method: Method = key_rule(str, "gmres", choices=LINEAR_METHODS)
    tol: float = key_rule(float, 1e-2, low=0.0, open_low=True)
    max_steps: int = key_rule(int, 30, low=0)
    precision: Precision = key_rule(str, "full", choices=PRECISIONS)


@dataclasses.dataclass(frozen=True)
class Quantise:
    """Fake-quantise to `bits`-bit weights during training."""

    bits: int = key_rule(int, low=2, high=8)


@dataclasses.dataclass(frozen=True)
class Penalty:
    """Add `operations` times the synaptic operations per step and sample to the loss (E17), growing linearly over `warmup` iterations.

    The best epoch is then the best of those that began after the warm-up.
    """

    operations: float = key_rule(float, low=0.0, open_low=True)
    warmup: int = key_rule(int, 0, low=0)


@dataclasses.dataclass(frozen=True)
class Phase:
    """What changes after `after` epochs, until the next phase; a key that is not given keeps the recipe's own value."""

    after: int = key_rule(int, low=1)
    steps: int | None = key_rule(int, None, low=1)
    turns: int | None = key_rule(int, None, low=0)
    limit: float | None = key_rule(float, None, low=0.0, open_low=True)
    dropout: float | None = key_rule(float, None, low=0.0, high=1.0, open_high=True)
    shift: int | None = key_rule(int, None, low=0, high=16)
    cutout: int | None = key_rule(int, None, low=0)
    learning_rate: float | None = key_rule(float, None, low=0.0, open_low=True)  # instead of optimiser.learning_rate
    tol: float | None = key_rule(float, None, low=0.0, open_low=True)  # instead of solver.tol
    max_steps: int | None = key_rule(int, None, low=0)  # instead of solver.max_steps


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recipe:
    """One training run. Two equal recipes on the same machine and number of threads give the same bits."""

    data: str = key_rule(str, choices=NAMES, ending=".npz", prefix=TONIC, folders=True)
    architecture: str = key_rule(str, "")  # in the paper's notation; alternatively, give a graph
    graph: GraphKeys | None = dataclasses.field(default=None, metadata=nested_keys(GraphKeys))
    neuron: str = key_rule(str, choices=("if", "lif", "delta"))
    steps: int = key_rule(int, low=1)
    epochs: int = key_rule(int, low=1)
    task: TaskName = key_rule(str, "classes", choices=TASKS)  # what the outputs are
    turns: int = key_rule(int, 0, low=0)  # in training, rates come from this many iterations of f (E4) instead of spikes; 0: spikes
    leak: float = key_rule(float, 1.0, low=0.0, open_low=True, high=1.0)
    dead_band: float = key_rule(float, 0.0, low=0.0, high=1.0)  # of neuron "delta": the smallest change of a rate that is sent
    activation: Activation = key_rule(str, "clip", choices=get_args(Activation))  # of neuron "delta"
    vth: float = key_rule(float, 2.0, low=0.0, open_low=True)
    schedule: Schedule = key_rule(str, "sequential", choices=SCHEDULES)
    norm: NormKind = key_rule(str, "kernel", choices=NORMS)
    limit: float = key_rule(float, 1.0, low=0.0, open_low=True)
    dropout: float = key_rule(float, 0.2, low=0.0, high=1.0, open_high=True)
    augment: bool = key_rule(bool, False)  # for CIFAR: crop and flip
    shift: int = key_rule(int, 0, low=0, high=16)  # pixels by which training images are shifted at random
    flip: bool = key_rule(bool, False)  # mirror half of the training images
    cutout: int = key_rule(int, 0, low=0)  # side of the square that is set to zero in every training image
    drop_events: float = key_rule(float, 0.0, low=0.0, high=1.0, open_high=True)  # share of the events that training leaves out
    start: str = key_rule(str, "")  # a model.pt to start from, instead of new weights
    seed: int = key_rule(int, 1, low=0, high=2**31 - 1)
    batch: int = key_rule(int, 128, low=2)
    label_smoothing: float = key_rule(float, 0.0, low=0.0, high=1.0, open_high=True)
    validation: int = key_rule(int, 0, low=0)  # training samples held out to choose the best epoch; 0: it is chosen on the test samples
    train_samples: int = key_rule(int, 0, low=0)
    test_samples: int = key_rule(int, 0, low=0)
    optimiser: Optimiser = dataclasses.field(default_factory=Optimiser, metadata=nested_keys(Optimiser))
    learning_rate: LearningRate = dataclasses.field(default_factory=LearningRate, metadata=nested_keys(LearningRate))
    solver: SolverChoice = dataclasses.field(default_factory=SolverChoice, metadata=nested_keys(SolverChoice))
    quantise: Quantise | None = dataclasses.field(default=None, metadata=nested_keys(Quantise))
    penalty: Penalty | None = dataclasses.field(default=None, metadata=nested_keys(Penalty))
    phases: tuple[Phase, ...] = dataclasses.field(default=(), metadata=nested_recipe_keys(Phase))

    def to_toml(self) -> str:
        """Return the whole recipe as TOML, defaults included; it reads back to an equal recipe."""
        return print_keys(self)

    def at(self, epoch: int) -> Recipe:
        """Return the recipe that applies in epoch `epoch` (the first is 0): this one with the changes of its phase, without `phases`."""
        begun = [phase for phase in self.phases if phase.after <= epoch]
        if not begun:
            return dataclasses.replace(self, phases=())
        changes: dict[str, Any] = {
            key: value for key, value in dataclasses.asdict(begun[-1]).items() if value is not None and key != "after"
        }
        solver = {key: changes.pop(key) for key in ("tol", "max_steps") if key in changes}
        rate = {"learning_rate": changes.pop("learning_rate")} if "learning_rate" in changes else {}
        changes["solver"], changes["optimiser"] = dataclasses.replace(self.solver, **solver), dataclasses.replace(self.optimiser, **rate)
        return dataclasses.replace(self, **changes, phases=())


def load_recipe(path: str | Path, *, changes: Iterable[str] = ()) -> Recipe:
    """Load a recipe from a TOML file and apply `changes` ("key=value", dotted for tables); BadFile or BadArgument names key and file."""
    file = Path(path)
    values = read_toml(file, what="recipe")
    where = str(file)
    for change in changes:
        _apply(values, change)
        where = f"{file} with --set {change}" if where == str(file) else f"{where} --set {change}"
    return parse_recipe(values, where=where)


def read_recipe(text: str, *, where: str) -> Recipe:
    """Read a recipe from TOML text."""
    return parse_recipe(parse_toml(text, where=where), where=where)


def parse_recipe(values: dict[str, Any], *, where: str = "recipe") -> Recipe:
    """Return the recipe in a parsed TOML document; every key and all combinations are checked."""
    recipe = read_keys(Recipe, values, where=where)
    if bool(recipe.architecture) == (recipe.graph is not None):
        got = "both" if recipe.architecture else "neither"
        raise BadFile(f"{where}: give 'architecture' (a notation such as '64C5s (F64C5)') or 'graph' (layers and connections), got {got}")
    if recipe.neuron == "lif" and recipe.leak == 1.0:
        raise BadFile(f"{where}: neuron 'lif' needs 'leak' below 1 (the paper: 0.95, or 0.99 for CIFAR), got {recipe.leak:g}")
    if recipe.neuron != "lif" and recipe.leak != 1.0:
        raise BadFile(f"{where}: neuron {recipe.neuron!r} has no leak, got 'leak' = {recipe.leak:g}; remove it or set neuron = \"lif\"")
    if recipe.neuron != "delta" and (recipe.dead_band or recipe.activation != "clip"):
        key = "dead_band" if recipe.dead_band else "activation"
        raise BadFile(f"{where}: {key!r} belongs to neuron 'delta', got neuron {recipe.neuron!r}; remove it or set neuron = \"delta\"")
    if recipe.task != "classes" and recipe.label_smoothing:
        raise BadFile(f"{where}: 'label_smoothing' belongs to task 'classes', got task {recipe.task!r}")
    decay = recipe.learning_rate
    if decay.every and decay.milestones:
        raise BadFile(f"{where}: give 'learning_rate.every' or 'learning_rate.milestones', not both")
    if decay.cosine and (decay.every or decay.milestones):
        raise BadFile(f"{where}: 'learning_rate.cosine' replaces 'every' and 'milestones'; give one of them")
    if list(decay.milestones) != sorted(set(decay.milestones)):
        raise BadFile(f"{where}: 'learning_rate.milestones' must be in increasing order, got {list(decay.milestones)}")
    if recipe.augment and not recipe.data.startswith("cifar"):
        raise BadFile(f"{where}: 'augment' (crop and flip) is for CIFAR only, got data = {recipe.data!r}; 'shift' is for all images")
    for plan in (recipe, *(recipe.at(phase.after) for phase in recipe.phases)):
        _check_augmentation(plan, where)
    starts = [phase.after for phase in recipe.phases]
    if starts != sorted(set(starts)):
        raise BadFile(f"{where}: the 'after' values of the phases must increase, got {starts}")
    return recipe


def _check_augmentation(recipe: Recipe, where: str) -> None:
    if recipe.shift and recipe.augment:
        raise BadFile(f"{where}: 'augment' already shifts images, but 'shift' = {recipe.shift} is set too")


def recipe_differences(first: Recipe, second: Recipe) -> list[str]:
    """Return the keys in which two recipes differ, as dotted 'key: first, second'; `epochs` only if the learning rate needs it."""
    left, right = (_flat(dataclasses.asdict(recipe)) for recipe in (first, second))
    keys = sorted(set(left) | set(right))
    free = set() if first.learning_rate.cosine or second.learning_rate.cosine else {"epochs"}
    return [f"{key}: {left.get(key)!r}, {right.get(key)!r}" for key in keys if key not in free and left.get(key) != right.get(key)]


def _flat(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in values.items():
        flat.update(_flat(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value})
    return flat


def _apply(values: dict[str, Any], change: str) -> None:
    key, equals, text = change.partition("=")
    parts = [part.strip() for part in key.split(".")]
    if not equals or not all(parts):
        raise BadArgument(f"--set must be key=value, for example seed=2 or optimiser.momentum=0.8, got {change!r}")
    table = values
    for part in parts[:-1]:
        table = table.setdefault(part, {})
        if not isinstance(table, dict):
            raise BadArgument(f"--set {change}: {part!r} is a value, not a table of values")
    table[parts[-1]] = _toml_value(text.strip())


def _toml_value(text: str) -> Any:
    """Return `text` as a TOML value; a bare word is a string."""
    try:
        return parse_toml(f"value = {text}", where="--set")["value"]
    except BadFile:
        return text
