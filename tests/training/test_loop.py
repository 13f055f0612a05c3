"""The training loop: the same seed gives the same bits, a kill loses nothing, and every way it can stop gives a message."""

from __future__ import annotations

import dataclasses
import math
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from fsnn_lava.errors import BadArgument, BadFile, Diverged
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.neurons import SigmaDelta
from fsnn_lava.quantisation.quantise import quantise
from fsnn_lava.training.build import build_network
from fsnn_lava.training.checkpoint import load_state, save_state
from fsnn_lava.training.evaluate import evaluate_network
from fsnn_lava.training.log import read_log
from fsnn_lava.training.loop import PATIENCE, Batch, TrainingLoop, _Sums, train
from fsnn_lava.training.progress import TrainingProgress
from fsnn_lava.training.recipe import Recipe, load_recipe, parse_recipe
from fsnn_lava.training.samples import load_samples

ROOT = Path(__file__).parents[2]
QUIET = TrainingProgress(quiet=True)
SMALL = {
    "data": "digits",
    "architecture": "12 (F12)",
    "neuron": "lif",
    "leak": 0.9,
    "steps": 4,
    "epochs": 3,
    "batch": 32,
    "train_samples": 200,
    "test_samples": 50,
    "learning_rate": {"decay": 0.5, "every": 2, "warmup": 5},
}
INPUT = {
    "digits": (1, 8, 8),
    "mnist": (1, 28, 28),
    "fashion-mnist": (1, 28, 28),
    "cifar10": (3, 32, 32),
    "cifar100": (3, 32, 32),
    "nmnist": (2, 34, 34),
}


def small(**changes: object) -> Recipe:
    return parse_recipe({**SMALL, **changes})


def run(recipe: Recipe, folder: Path, **options: bool):
    return train(recipe, load_samples(recipe), folder, progress=QUIET, **options)


def weights(path: Path) -> dict[str, torch.Tensor]:
    return FSNN.load(path).state_dict()


def same(first: Path, second: Path) -> None:
    """Models, optimiser and log of two runs agree in every bit (times aside)."""
    for name in ("last.pt", "best.pt"):
        one, other = weights(first / name), weights(second / name)
        assert one.keys() == other.keys()
        assert all(torch.equal(one[key], other[key]) for key in one)
    states = [torch.load(folder / "state.pt", weights_only=True) for folder in (first, second)]
    buffers = [[value["momentum_buffer"] for value in state["optimiser"]["state"].values()] for state in states]
    assert all(torch.equal(one, other) for one, other in zip(*buffers, strict=True))
    logs = [[{**record, "seconds": 0} for record in read_log(folder)] for folder in (first, second)]
    assert logs[0] == logs[1]


@pytest.mark.parametrize("path", sorted((ROOT / "train").glob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_builds_its_network(path):
    recipe = load_recipe(path)
    classes = 100 if recipe.data == "cifar100" else 10
    with torch.device("meta") if recipe.data.startswith("cifar") else torch.device("cpu"):
        net = build_network(recipe, input_shape=INPUT[recipe.data], classes=classes, normalisation=None)
    assert recipe.architecture in (net.architecture.text, "")  # a graph has no notation
    assert (net.steps, net.neuron.leak) == (recipe.steps, recipe.leak)
    assert (net.solver.method, net.solver.max_steps) == (recipe.solver.method, recipe.solver.max_steps)


def test_it_learns_and_says_so(tmp_path):
    recipe = small(epochs=4, train_samples=0, test_samples=0, architecture="40 (F40)")
    outcome = run(recipe, tmp_path / "run")
    records = read_log(tmp_path / "run")
    assert [record["epoch"] for record in records] == [1, 2, 3, 4]
    assert records[-1]["loss"] < records[0]["loss"] / 2
    assert outcome.best_accuracy == max(record["test_accuracy"] for record in records) > 0.85
    assert outcome.last_accuracy == records[-1]["test_accuracy"]
    for record in records:
        assert len(record["firing_rates"]) == 1
        assert 0 < record["firing_rates"][0] < 1
        assert 0 < record["solver_residual"] < recipe.solver.tol
        assert abs(record["alpha"]) <= recipe.limit


def test_the_saved_models_are_the_ones_that_were_judged(tmp_path):
    recipe = small()
    outcome = run(recipe, tmp_path / "run")
    data = load_samples(recipe)
    best, last = FSNN.load(tmp_path / "run/best.pt"), FSNN.load(tmp_path / "run/last.pt")
    assert evaluate_network(best, data.test).accuracy == outcome.best_accuracy == best.metrics["accuracy"]
    assert evaluate_network(last, data.test).accuracy == outcome.last_accuracy == last.metrics["accuracy"]
    assert (best.metrics["data"], best.metrics["epochs"], last.metrics["epochs"]) == ("digits", outcome.best_epoch, 3)
    assert last.normalisation == data.normalisation
    assert last.class_names == tuple("0123456789")
    assert load_recipe(tmp_path / "run/recipe.toml") == recipe


def test_with_a_validation_split_the_best_epoch_is_chosen_there_and_the_test_samples_are_looked_at_once(tmp_path):
    recipe = small(validation=150)
    outcome = run(recipe, tmp_path / "run")
    records, data = read_log(tmp_path / "run"), load_samples(recipe)
    assert (len(data.validation), outcome.judged_by) == (150, "validation")
    assert [record["test_accuracy"] for record in records] == [None] * 3
    assert outcome.best_accuracy == max(record["validation_accuracy"] for record in records)
    best = FSNN.load(tmp_path / "run/best.pt")
    assert evaluate_network(best, data.validation).accuracy == outcome.best_accuracy == best.metrics["validation_accuracy"]
    assert evaluate_network(best, data.test).accuracy == outcome.test_accuracy
    assert "accuracy" not in best.metrics
    run(small(validation=150, epochs=2), tmp_path / "killed")
    run(recipe, tmp_path / "killed", resume=True)
    same(tmp_path / "run", tmp_path / "killed")


def test_label_smoothing_changes_the_loss_that_is_trained(tmp_path):
    run(small(epochs=1), tmp_path / "hard")
    run(small(epochs=1, label_smoothing=0.2), tmp_path / "smooth")
    hard, smooth = (read_log(tmp_path / name)[0] for name in ("hard", "smooth"))
    assert smooth["loss"] != hard["loss"]


def test_the_same_seed_gives_the_same_bits_and_another_seed_does_not(tmp_path):
    for name, seed in (("one", 5), ("two", 5), ("other", 6)):
        run(small(seed=seed), tmp_path / name)
    same(tmp_path / "one", tmp_path / "two")
    with pytest.raises(AssertionError):
        same(tmp_path / "one", tmp_path / "other")


def test_a_run_continued_after_each_epoch_is_the_run_that_never_stopped(tmp_path):
    run(small(), tmp_path / "whole")
    for epochs in (1, 2, 3):
        run(small(epochs=epochs), tmp_path / "parts", resume=epochs > 1)
    same(tmp_path / "whole", tmp_path / "parts")


def test_a_kill_between_two_files_leaves_no_trace(tmp_path, monkeypatch):
    """The state of an epoch is on disk, its models and its log line are not: resuming writes them."""
    run(small(), tmp_path / "whole")
    write, calls = TrainingLoop._write_models, []

    def killed(self: TrainingLoop) -> None:
        calls.append(self.epoch)
        if self.epoch == 2:
            raise KeyboardInterrupt
        write(self)

    monkeypatch.setattr(TrainingLoop, "_write_models", killed)
    with pytest.raises(KeyboardInterrupt):
        run(small(), tmp_path / "cut")
    monkeypatch.undo()
    assert len(read_log(tmp_path / "cut")) == 1
    run(small(), tmp_path / "cut", resume=True)
    same(tmp_path / "whole", tmp_path / "cut")


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> tuple[Recipe, Path, str]:
    """A run that refused a second one and was then killed with signal 9 in the middle of an epoch."""
    folder = tmp_path_factory.mktemp("killed") / "run"
    recipe = small(epochs=100000, train_samples=600)
    (folder.parent / "small.toml").write_text(recipe.to_toml())
    threads = str(torch.get_num_threads())
    command = [sys.executable, "-m", "fsnn_lava.cli.train", str(folder.parent / "small.toml"), "--out", str(folder), "--threads", threads]
    process = subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)}, stderr=subprocess.DEVNULL)
    try:
        while not (folder / "log.jsonl").exists() and process.poll() is None:
            time.sleep(0.02)
        with pytest.raises(BadArgument) as refused:
            run(recipe, folder, resume=True)
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert f"(process {process.pid})" in str(refused.value)
    return recipe, folder, str(refused.value)


def test_two_runs_do_not_share_a_folder(killed):
    _, folder, refused = killed
    assert refused.endswith(f"is writing into {folder}; wait for it, or choose another --out")


def test_killed_with_signal_9_in_an_epoch_and_resumed_is_never_stopped(killed, tmp_path):
    recipe, cut, _ = killed
    (cut / ".state.pt.abc.part").write_text("what a kill in the middle of writing leaves")
    done = torch.load(cut / "state.pt", weights_only=True)["epoch"]
    longer = dataclasses.replace(recipe, epochs=done + 2)
    run(longer, cut, resume=True)
    run(longer, tmp_path / "whole")
    same(tmp_path / "whole", cut)
    assert sorted(path.name for path in cut.iterdir()) == sorted(path.name for path in (tmp_path / "whole").iterdir())


def test_a_state_that_records_how_busy_the_network_was_is_still_read(tmp_path):
    """Earlier versions chose the simulation of a batch by the activity of the one before, and kept it."""
    run(small(epochs=1), tmp_path / "run")
    run(small(epochs=2), tmp_path / "whole")
    state = torch.load(tmp_path / "run/state.pt", weights_only=True)
    torch.save({**state, "activity": 0.75}, tmp_path / "run/state.pt")
    run(small(epochs=2), tmp_path / "run", resume=True)
    same(tmp_path / "whole", tmp_path / "run")


def test_a_state_of_a_torch_with_fewer_settings_is_continued(tmp_path):
    recipe = small(epochs=1)
    first = TrainingLoop(recipe, load_samples(recipe), tmp_path, QUIET)
    first.one_epoch()
    save_state(tmp_path / "state.pt", first._state())
    state = load_state(tmp_path / "state.pt", recipe)
    del state.optimiser["param_groups"][0]["momentum"]
    resumed = TrainingLoop(recipe, first.data, tmp_path, QUIET)
    resumed.restore(state)
    assert resumed.optimiser.param_groups[0]["momentum"] == 0.9
    resumed.one_epoch()


@pytest.mark.parametrize("change", [{"history": 2}, {"best_accuracy": 5.0}])
def test_a_state_that_no_training_comes_to_is_refused(tmp_path, change):
    run(small(epochs=1), tmp_path / "run")
    state = torch.load(tmp_path / "run/state.pt", weights_only=True)
    if "history" in change:
        change = {"history": [{**state["history"][0], "epoch": change["history"]}]}
    torch.save({**state, **change}, tmp_path / "run/state.pt")
    with pytest.raises(BadFile, match="is damaged or not a training state"):
        run(small(epochs=1), tmp_path / "run", resume=True)


def test_another_recipe_is_not_continued(tmp_path):
    run(small(epochs=1), tmp_path / "run")
    with pytest.raises(BadArgument, match=r"another recipe \(optimiser.momentum: 0.9, 0.5; seed: 1, 2\); give another folder"):
        run(small(seed=2, optimiser={"momentum": 0.5}), tmp_path / "run", resume=True)


@pytest.mark.parametrize("version", [1, 3])
def test_an_older_state_is_continued_and_a_newer_one_refused(tmp_path, version):
    run(small(epochs=1), tmp_path / "run")
    state = torch.load(tmp_path / "run/state.pt", weights_only=True)
    torch.save({**state, "version": version, "recipe": "0123abcd"}, tmp_path / "run/state.pt")
    if version == 1:
        assert run(small(epochs=2), tmp_path / "run", resume=True).epochs == 2
    else:
        with pytest.raises(BadFile, match=r"state\.pt has format version 3; this release reads only versions 1 to 2"):
            run(small(epochs=2), tmp_path / "run", resume=True)


def test_a_folder_with_a_run_is_not_written_over(tmp_path):
    run(small(epochs=1), tmp_path / "run")
    before = (tmp_path / "run/state.pt").read_bytes()
    with pytest.raises(BadArgument, match="already contains a run; continue it with --resume"):
        run(small(epochs=1), tmp_path / "run")
    assert (tmp_path / "run/state.pt").read_bytes() == before


def test_there_must_be_a_run_to_resume(tmp_path):
    with pytest.raises(BadArgument, match=r"contains no run to resume \(no state.pt\)"):
        run(small(), tmp_path / "run", resume=True)


@pytest.mark.parametrize("damage", [b"", b"no state at all", None], ids=["empty", "other", "cut"])
def test_a_damaged_state_is_refused_with_a_message(tmp_path, damage):
    run(small(epochs=1), tmp_path / "run")
    state = tmp_path / "run/state.pt"
    state.write_bytes(state.read_bytes()[:2000] if damage is None else damage)
    with pytest.raises(BadFile, match=r"state.pt is damaged or not a training state"):
        run(small(), tmp_path / "run", resume=True)


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_the_last_good_epoch(tmp_path, monkeypatch):
    run(small(epochs=2), tmp_path / "good")
    step = TrainingLoop._one_batch

    def poisoned(self: TrainingLoop, batch: Batch, sums) -> None:
        if (self.epoch, batch.index) == (2, 3):
            with torch.no_grad():
                self.net.readout.weight[0, 0] = math.nan
        step(self, batch, sums)

    monkeypatch.setattr(TrainingLoop, "_one_batch", poisoned)
    with pytest.raises(Diverged, match="the loss became nan in epoch 3, batch 4; the checkpoint of epoch 2 is kept in") as caught:
        run(small(), tmp_path / "run")
    assert caught.value.exit_code == 1
    same(tmp_path / "good", tmp_path / "run")


def test_a_huge_learning_rate_ends_with_a_message(tmp_path):
    with pytest.raises(Diverged, match=r"in epoch \d, batch \d+; no epoch was finished; use a smaller learning rate"):
        run(small(optimiser={"learning_rate": 1e30}), tmp_path / "run")
    assert not (tmp_path / "run/state.pt").exists()


def test_feedback_that_diverges_stops_the_run(tmp_path):
    """Backward solves that end no better than they began, PATIENCE of them in a row."""
    one = TrainingLoop(small(), load_samples(small()), tmp_path, QUIET)
    for residual in [1.5] * (PATIENCE - 1) + [0.9] + [1.0] * (PATIENCE - 1):
        one.net.last_solve = (8, residual)
        one._check_solver(0)
    one.net.last_solve = (8, math.inf)
    with pytest.raises(Diverged, match=f"the feedback is diverging: {PATIENCE} backward solves in a row .* in epoch 1, batch 4"):
        one._check_solver(3)


def test_the_jacobian_free_gradient_trains_too(tmp_path):
    run(small(solver={"max_steps": 0}), tmp_path / "run")
    assert [record["solver_residual"] for record in read_log(tmp_path / "run")] == [None] * 3


def test_every_phase_trains_with_its_own_keys_and_a_resumed_run_is_in_the_right_one(tmp_path):
    phases = [{"after": 1, "steps": 7, "limit": 0.3, "max_steps": 0, "shift": 1}, {"after": 2, "turns": 2, "learning_rate": 0.01}]
    recipe = small(phases=phases)
    run(recipe, tmp_path / "whole")
    for epochs in (1, 2, 3):
        run(small(phases=phases, epochs=epochs), tmp_path / "parts", resume=epochs > 1)
    same(tmp_path / "whole", tmp_path / "parts")
    records = read_log(tmp_path / "whole")
    assert [record["learning_rate"] for record in records] == pytest.approx([0.05, 0.05, 0.005])
    assert [record["solver_steps"] > 0 for record in records] == [True, False, True]
    assert abs(records[1]["alpha"]) <= 0.3
    assert FSNN.load(tmp_path / "whole" / "last.pt").steps == 4


def test_rates_from_turns_of_the_map_train_without_spikes(tmp_path, monkeypatch):
    run(small(turns=2), tmp_path)
    losses = [record["loss"] for record in read_log(tmp_path)]
    assert losses[2] < losses[1] < losses[0]
    training = TrainingLoop(small(turns=2), load_samples(small(turns=2)), tmp_path, QUIET)
    monkeypatch.setattr(training.net, "_simulate", None)  # is not called
    training._one_batch(next(training._batches()), _Sums())


@pytest.mark.parametrize("activation", ["clip", "relu"])
def test_neurons_that_send_changes_are_trained_judged_and_exported_as_they_are(tmp_path, activation):
    changes = {"steps": 3, "epochs": 12, "learning_rate": {}, "penalty": {"operations": 1e-6}}
    recipe = small(neuron="delta", leak=1.0, dead_band=0.1, activation=activation, **changes)
    outcome = run(recipe, tmp_path / "run")
    log = read_log(tmp_path / "run")
    assert outcome.last_accuracy > 0.6
    net = FSNN.load(tmp_path / "run" / "last.pt")
    assert net.neuron == SigmaDelta(dead_band=0.1, activation=activation) and net.steps == 3
    data = load_samples(recipe)
    trace = net.simulate(torch.from_numpy(data.test.batch(range(50))))
    messages = float(trace.counts[0].sum()) / 50
    assert log[-1]["operations"] == pytest.approx(messages * (12 + 10))  # each reaches 12 neurons and 10 outputs
    chip = quantise(net, calibration=data.train.batch(range(100)))
    assert chip.delta is not None and chip.delta.activation == activation and chip.steps == 3
    assert chip.delta.dead_bands == (round(0.1 * chip.delta.one),)
    if activation == "relu":
        with pytest.raises(BadArgument, match="its rates may exceed 1, which spikes cannot"):
            quantise(net, encoding="rate")
    else:
        assert quantise(net, encoding="rate").delta is None
