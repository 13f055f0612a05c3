"""Recipes: read, checked, changed from the command line, printed back."""

from __future__ import annotations

from pathlib import Path

import pytest

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.training.build import build_network
from fsnn_lava.training.recipe import load_recipe, parse_recipe, read_recipe, recipe_differences

RECIPES = sorted((Path(__file__).parents[2] / "train").glob("*.toml"))
SMALL = {"data": "digits", "architecture": "12 (F12)", "neuron": "if", "steps": 5, "epochs": 3}


def write(folder: Path, text: str) -> Path:
    path = folder / "some.toml"
    path.write_text(text)
    return path


@pytest.mark.parametrize("path", RECIPES, ids=lambda path: path.stem)
def test_every_recipe_reads_and_prints_back_to_itself(path, tmp_path):
    recipe = load_recipe(path)
    assert load_recipe(write(tmp_path, recipe.to_toml())) == recipe


def test_there_is_a_recipe_for_every_row_of_the_paper():
    names = {path.stem for path in RECIPES}
    rows = {f"{data}-{neuron}" for data in ("mnist", "fashion-mnist", "nmnist") for neuron in ("if", "lif")}
    rows |= {f"cifar10-{net}-{neuron}-{steps}" for net in ("alexnet-f", "cifarnet-f") for neuron in ("if", "lif") for steps in (30, 100)}
    rows |= {f"cifar100-cifarnet-f-{neuron}-{steps}" for neuron in ("if", "lif") for steps in (30, 100)}
    rows |= {"cifar100-alexnet-f-if-100", "cifar10-alexnet-f-lif-5", "digits"}
    assert rows <= names


OWN = (
    "digits",
    "digits-deep",
    "cifar10-feedback",
    "cifar10-small",
    "fashion-mnist-delta",
    "fashion-mnist-frugal",
    "fashion-mnist-recurrent",
    "fashion-mnist-resnet",
    "mnist-certified",
    "mnist-deep",
    "mnist-delta",
    "mnist-feedback",
    "mnist-frugal",
    "nmnist-small",
)  # not of the paper


@pytest.mark.parametrize("path", [path for path in RECIPES if path.stem not in OWN], ids=lambda path: path.stem)
def test_the_recipes_say_what_the_paper_says(path):
    recipe = load_recipe(path)
    cifar = recipe.data.startswith("cifar")
    assert (recipe.vth, recipe.limit, recipe.dropout, recipe.epochs, recipe.batch) == (2.0, 1.0, 0.2, 100, 128)
    assert (recipe.optimiser.learning_rate, recipe.optimiser.momentum, recipe.optimiser.weight_decay) == (0.05, 0.9, 5e-4)
    assert recipe.leak == (1.0 if recipe.neuron == "if" else 0.99 if cifar else 0.95)
    assert (recipe.learning_rate.every, recipe.learning_rate.milestones) == ((0, (50, 75)) if cifar else (30, ()))
    assert recipe.learning_rate.warmup == (400 if cifar else 0)
    assert recipe.augment == cifar


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"epoch": 5}, r"unknown key 'epoch'; did you mean 'epochs'\?"),
        ({"architecture": ""}, "give 'architecture' .* or 'graph' .*, got neither"),
        ({"graph": {"layers": [], "connections": []}}, "give 'architecture' .* or 'graph' .*, got both"),
        ({"graph": {"layers": [{"name": "a", "shape": 3}]}}, "'graph.layers 1: shape' must be a list, each a whole number >= 1, got 3"),
        ({"graph": {"connections": [{"source": "a", "target": "b", "kernel": [1, 2, 3]}]}}, "kernel' must be one number or a list of two"),
        ({"zzz": 5}, "unknown key 'zzz'; known here: data, architecture"),
        ({"steps": 0}, "'steps' must be a whole number >= 1, got 0"),
        ({"steps": 2.5}, "'steps' must be a whole number >= 1, got 2.5"),
        ({"steps": True}, "'steps' must be a whole number >= 1, got True"),
        ({"steps": "5"}, "'steps' must be a whole number >= 1, got '5'"),
        ({"dropout": 1.0}, "'dropout' must be a number >= 0 and < 1, got 1.0"),
        ({"vth": 0}, "'vth' must be a number > 0, got 0"),
        ({"vth": float("nan")}, "'vth' must be a number > 0, got nan"),
        ({"neuron": "adex"}, "'neuron' must be one of 'if', 'lif', 'delta', got 'adex'"),
        ({"neuron": "lif"}, "neuron 'lif' needs 'leak' below 1"),
        ({"leak": 0.9}, "neuron 'if' has no leak"),
        ({"neuron": "delta", "leak": 0.9}, "neuron 'delta' has no leak"),
        ({"dead_band": 0.1}, "'dead_band' belongs to neuron 'delta', got neuron 'if'"),
        ({"activation": "relu"}, "'activation' belongs to neuron 'delta', got neuron 'if'"),
        ({"neuron": "delta", "dead_band": 1.5}, "'dead_band' must be a number >= 0 and <= 1, got 1.5"),
        ({"learning_rate": {"cosine": True, "every": 3}}, "'learning_rate.cosine' replaces 'every' and 'milestones'"),
        ({"label_smoothing": 1.0}, "'label_smoothing' must be a number >= 0 and < 1, got 1.0"),
        (
            {"data": "imagenet"},
            r"'data' must be one of 'digits'.*, or a \.npz file, or tonic:NAME, or a folder, .*got 'imagenet'",
        ),
        ({"augment": True}, "'augment' .* is for CIFAR only"),
        ({"shift": 2, "augment": True, "data": "cifar10"}, "'augment' already shifts images, but 'shift' = 2 is set too"),
        ({"drop_events": 1.0}, "'drop_events' must be a number >= 0 and < 1, got 1.0"),
        ({"augment": 1}, "'augment' must be true or false, got 1"),
        ({"optimiser": {"momentum": 1.5}}, "'optimiser.momentum' must be a number >= 0 and < 1, got 1.5"),
        ({"optimiser": {"lr": 0.1}}, "unknown key 'optimiser.lr'"),
        ({"optimiser": 3}, "'optimiser' must be a table, got 3"),
        ({"learning_rate": {"every": 3, "milestones": [5]}}, "not both"),
        ({"learning_rate": {"milestones": [7, 5]}}, "must be in increasing order"),
        ({"learning_rate": {"milestones": [0]}}, "'learning_rate.milestones' must be a list, each a whole number >= 1"),
        ({"solver": {"method": "newton"}}, "'solver.method' must be one of 'gmres', 'fixed-point'"),
        ({"solver": {"tol": 0.0}}, "'solver.tol' must be a number > 0, got 0.0"),
        ({"quantise": {"bits": 9}}, "'quantise.bits' must be a whole number >= 2 and <= 8, got 9"),
        ({"quantise": {}}, "key 'quantise.bits' is missing"),
        ({"phases": {"after": 1}}, r"'phases' must be a list of tables, .*; write the keys of each under \[\[phases\]\]"),
        ({"phases": [{"steps": 3}]}, "key 'phases 1: after' is missing; it must be a whole number >= 1"),
        ({"phases": [{"after": 1}, {"after": 2, "step": 3}]}, r"unknown key 'phases 2: step'; did you mean 'phases 2: steps'\?"),
        ({"phases": [{"after": 2}, {"after": 1}]}, r"'after' values of the phases must increase, got \[2, 1\]"),
        ({"data": "cifar10", "augment": True, "phases": [{"after": 1, "shift": 2}]}, "'augment' already shifts images"),
    ],
)
def test_a_bad_recipe_is_refused_with_file_and_key(change, sentence):
    with pytest.raises(BadFile, match=sentence) as caught:
        parse_recipe({**SMALL, **change}, where="my.toml")
    assert str(caught.value).startswith("my.toml: ")


@pytest.mark.parametrize("key", [key for key in SMALL if key != "architecture"])
def test_a_missing_key_is_named(key):
    with pytest.raises(BadFile, match=f"key '{key}' is missing"):
        parse_recipe({name: value for name, value in SMALL.items() if name != key})


def test_set_changes_plain_and_dotted_keys(tmp_path):
    path = write(tmp_path, parse_recipe(SMALL).to_toml())
    recipe = load_recipe(path, changes=["seed=7", "optimiser.momentum = 0.5", "neuron=lif", "leak=0.9", "learning_rate.milestones=[2, 3]"])
    assert (recipe.seed, recipe.optimiser.momentum, recipe.neuron, recipe.leak) == (7, 0.5, "lif", 0.9)
    assert recipe.learning_rate.milestones == (2, 3)


def test_set_is_checked_like_the_file(tmp_path):
    path = write(tmp_path, parse_recipe(SMALL).to_toml())
    with pytest.raises(BadFile, match=r"some\.toml with --set seed=-1: 'seed' must be a whole number >= 0"):
        load_recipe(path, changes=["seed=-1"])
    with pytest.raises(BadArgument, match="--set must be key=value"):
        load_recipe(path, changes=["seed"])
    with pytest.raises(BadArgument, match="'seed' is a value, not a table"):
        load_recipe(path, changes=["seed.deep=1"])


def test_a_file_that_is_not_a_recipe_is_refused_with_a_message(tmp_path):
    with pytest.raises(BadFile, match=r"cannot read the recipe .*none\.toml: No such file"):
        load_recipe(tmp_path / "none.toml")
    with pytest.raises(BadFile, match="is not a TOML file"):
        load_recipe(write(tmp_path, "data = \n"))
    binary = tmp_path / "binary.toml"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadFile, match="not a text file"):
        load_recipe(binary)


def test_a_phase_changes_its_keys_until_the_next_one_begins():
    phases = [{"after": 1, "steps": 9, "limit": 0.5, "learning_rate": 0.3}, {"after": 3, "turns": 2, "tol": 0.2, "max_steps": 0}]
    recipe = parse_recipe({**SMALL, "epochs": 5, "limit": 0.8, "phases": phases})
    plans = [recipe.at(epoch) for epoch in range(5)]
    assert [(plan.steps, plan.limit, plan.turns) for plan in plans] == [(5, 0.8, 0), (9, 0.5, 0), (9, 0.5, 0), (5, 0.8, 2), (5, 0.8, 2)]
    assert [plan.optimiser.learning_rate for plan in plans] == [0.05, 0.3, 0.3, 0.05, 0.05]
    assert [(plan.solver.tol, plan.solver.max_steps) for plan in plans[2:4]] == [(1e-2, 30), (0.2, 0)]
    assert all(plan.phases == () and plan.optimiser.momentum == 0.9 for plan in plans)
    assert read_recipe(recipe.to_toml(), where="printed") == recipe


def test_recipes_differ_in_every_key_but_epochs():
    first = parse_recipe(SMALL)
    assert recipe_differences(first, parse_recipe({**SMALL, "epochs": 9})) == []
    other = parse_recipe({**SMALL, "solver": {"tol": 1e-4}, "quantise": {"bits": 4}})
    assert recipe_differences(first, other) == ["quantise.bits: None, 4", "solver.tol: 0.01, 0.0001"]


def test_more_epochs_are_another_recipe_where_the_rate_depends_on_them():
    plain, cosine = (parse_recipe({**SMALL, "learning_rate": {"cosine": value}}) for value in (False, True))
    longer = parse_recipe({**SMALL, "epochs": 9}), parse_recipe({**SMALL, "epochs": 9, "learning_rate": {"cosine": True}})
    assert recipe_differences(plain, longer[0]) == []
    assert recipe_differences(cosine, longer[1]) == ["epochs: 3, 9"]


def test_a_graph_in_a_recipe_prints_as_it_was_read_and_makes_the_network():
    graph = {
        "layers": [{"name": "a", "shape": [2, 4, 4]}, {"name": "b", "shape": [5], "vth": 1.5}],
        "connections": [
            {"source": "input", "target": "a", "kind": "conv", "kernel": [3, 1], "padding": [1, 0]},
            {"source": "a", "target": "b"},
            {"source": "b", "target": "b", "limit": 0.5},
        ],
    }
    recipe = parse_recipe({key: value for key, value in SMALL.items() if key != "architecture"} | {"graph": graph})
    assert read_recipe(recipe.to_toml(), where="again") == recipe
    net = build_network(recipe, input_shape=(1, 4, 4), classes=2, normalisation=None)
    assert [layer.name for layer in net.graph.layers] == ["a", "b"]
    assert net.vths == (2.0, 1.5)
    assert [feedback.limit for feedback in net.feedbacks] == [0.5]
    assert net.stages[0].operator.kernel == (3, 1)
