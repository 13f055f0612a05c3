"""The training loop: every epoch ends in a checkpoint, and a resumed run computes the same bits as one that was never stopped."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fsnn_lava.data import Dataset
from fsnn_lava.errors import BackendFailed, BadArgument, BadFile, Diverged
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.nn.fan_out import fan_out, operations_by_fan_out
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.training import run_folder
from fsnn_lava.training.augmentation import MARGIN, augmented, without_some_events
from fsnn_lava.training.batches import batch_count, epoch_batches
from fsnn_lava.training.build import build_network, build_optimiser, configure_network
from fsnn_lava.training.checkpoint import State, load_state, restore_tensors, save_state
from fsnn_lava.training.descent import descend
from fsnn_lava.training.distributed import distributed_coupling, sum_distributed_gradients
from fsnn_lava.training.evaluate import evaluate_network
from fsnn_lava.training.log import EpochRecord, append_record, rewrite_records
from fsnn_lava.training.penalty import penalty_warmed_up, penalty_weight
from fsnn_lava.training.process_group import ProcessGroup
from fsnn_lava.training.progress import TrainingProgress
from fsnn_lava.training.random_streams import AUGMENT, DROP_EVENTS, DROPOUT, generator, stream_seed
from fsnn_lava.training.recipe import Recipe
from fsnn_lava.training.run_table import epoch_row, run_table_header, run_table_remark, run_table_titles
from fsnn_lava.training.schedule import learning_rate
from fsnn_lava.training.task import make_task

PATIENCE = 20  # consecutive backward solves without any improvement, after which the feedback counts as diverging


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The outcome of a run. The best epoch is the one with the highest accuracy on the samples that `judged_by` names."""

    folder: Path
    epochs: int
    best_accuracy: float
    best_epoch: int
    last_accuracy: float
    seconds: float  # of all epochs, including those before a resume
    judged_by: str  # "validation" or "test": the samples of best_accuracy and last_accuracy
    test_accuracy: float | None  # of best.pt, if it was chosen on the validation samples


def train(
    recipe: Recipe,
    data: Dataset,
    folder: Path,
    *,
    resume: bool = False,
    progress: TrainingProgress | None = None,
    group: ProcessGroup | None = None,
) -> Outcome:
    """Run the training loop for `recipe.epochs` epochs; `folder` then has best.pt, last.pt, state.pt, log.jsonl and recipe.toml.

    Args:
        recipe: what to train.
        data: its samples (see `load_samples`).
        folder: output folder of the run.
        resume: continue the run in `folder`.
        progress: shows the progress; by default on stderr.
        group: the processes that train together; by default only this one.

    Raises:
        Diverged: the loss or the gradient is not finite; the folder keeps the last good epoch.
        BadArgument: the folder already contains a run and `resume` is False, or the run in it is of another recipe.
    """
    group = group or ProcessGroup()
    progress = progress or TrainingProgress()
    with run_folder.claim_run_folder(folder, resume=resume) if group.first else contextlib.nullcontext():
        state = load_state(folder / run_folder.STATE, recipe) if resume else None
        run = TrainingLoop(recipe, data, folder, progress, group)
        if state is not None:
            run.restore(state)
        if group.first:
            _write_text(folder / run_folder.RECIPE, recipe.to_toml())
        run.introduce()
        try:
            while run.epoch < recipe.epochs:
                run.one_epoch()
        except KeyboardInterrupt:
            progress.say(f"stopped in epoch {run.epoch + 1}; {run.kept()}" + ("; --resume continues from there" if run.epoch else ""))
            raise
        except BackendFailed as error:
            raise BackendFailed(f"{error} (in epoch {run.epoch + 1}); {run.kept()}; restart with --resume") from error
        return run.outcome()


class TrainingLoop:
    """A run in progress: network, optimiser and the epochs so far."""

    def __init__(self, recipe: Recipe, data: Dataset, folder: Path, progress: TrainingProgress, group: ProcessGroup | None = None) -> None:
        self.recipe, self.data, self.folder, self.progress = recipe, data, folder, progress
        self.group = group or ProcessGroup()
        _check_shares(recipe, len(data.train), self.group)
        _check_augmentation(recipe, data)
        self.net: FSNN = build_network(
            recipe, input_shape=data.shape, classes=data.classes, normalisation=data.normalisation, class_names=data.class_names
        )
        self.net.to(self.group.device)
        self.group.copy_from_first(*self.net.state_dict().values())
        self.synapses = fan_out(self.net)
        self.task = make_task(recipe, data)
        self.targets = self.task.targets(data.train)
        self.optimiser = build_optimiser(recipe, self.net)
        self.plan = recipe.at(0)
        self.epoch = 0
        self.iteration = 0
        self.best_accuracy, self.best_epoch = -1.0, 0
        self.history: list[dict[str, Any]] = []
        self.unsolved = 0  # consecutive backward solves without any improvement

    def introduce(self) -> None:
        """Print what is being trained, on which data, and the column titles of the table that follows."""
        judged_by = "test" if self.data.validation is None else "validation"
        for line in (
            *run_table_header(self.net, self.data, self.group),
            "",
            run_table_titles(judged_by, penalised=self.recipe.penalty is not None),
        ):
            self.progress.say(line)

    def one_epoch(self) -> None:
        """Train one epoch, evaluate, and write the checkpoint."""
        start = time.perf_counter()
        self.plan = self.recipe.at(self.epoch)
        configure_network(self.net, self.plan)
        sums = _Sums()
        for batch in self._batches():
            self._one_batch(batch, sums)
        held_out = self.data.validation
        evaluation = evaluate_network(self.net, self.data.test if held_out is None else held_out, self.group, task=self.task)
        self.epoch += 1
        record = EpochRecord(
            epoch=self.epoch,
            loss=sums.loss / sums.count,
            train_accuracy=float(self.group.total(torch.tensor(max(0.0, sums.score), device=self.group.device))) / sums.count,
            test_accuracy=evaluation.accuracy if held_out is None else None,
            validation_accuracy=None if held_out is None else evaluation.accuracy,
            firing_rates=evaluation.firing_rates,
            equilibrium_residual=evaluation.equilibrium_residual,
            solver_steps=sums.steps / sums.batches,
            solver_residual=sums.residual / sums.batches if sums.steps else None,
            alpha=max([float(one.alpha.detach()) for one in self.net.feedbacks], key=abs, default=None),
            learning_rate=float(self.optimiser.param_groups[0]["lr"]),
            seconds=time.perf_counter() - start,
            operations=evaluation.operations,
        )
        self._keep(record)

    def _batches(self) -> Iterator[Batch]:
        """Yield this process's share of every batch of the epoch, augmented if the recipe says so."""
        recipe = self.plan
        count = len(self.targets)
        order = epoch_batches(count, recipe.batch, seed=recipe.seed, epoch=self.epoch)
        title = f"epoch {self.epoch + 1}/{recipe.epochs}"
        for index, chosen in enumerate(self.progress.batches(order, total=batch_count(count, recipe.batch), title=title)):
            mine = self.group.share(len(chosen))
            images = torch.from_numpy(self.data.train.batch(chosen[mine].numpy()))
            if recipe.augment or recipe.shift or recipe.flip or recipe.cutout:
                random = generator(AUGMENT, recipe.seed, self.epoch, index)
                margin, flip = MARGIN if recipe.augment else recipe.shift, recipe.augment or recipe.flip
                images = augmented(images, random, margin=margin, flip=flip, cutout=recipe.cutout, samples=len(chosen), mine=mine)
            if recipe.drop_events:
                random = generator(DROP_EVENTS, recipe.seed, self.epoch, index)
                images = without_some_events(images, random, share=recipe.drop_events, samples=len(chosen), mine=mine)
            device = self.group.device
            yield Batch(index, images.to(device), self.targets[chosen[mine]].to(device), len(chosen))

    def _one_batch(self, batch: Batch, sums: _Sums) -> None:
        """Take one optimiser step; the loss is divided by the size of the joint batch, so that the gradients of all processes add up."""
        for group in self.optimiser.param_groups:
            group["lr"] = learning_rate(self.plan, epoch=self.epoch, iteration=self.iteration)
        torch.manual_seed(stream_seed(DROPOUT, self.recipe.seed, self.epoch, batch.index))
        self.net.train()
        for parameter in self.net.parameters():
            parameter.grad = None  # like zero_grad, but in a twentieth of the time
        logits, penalty = self._answer(batch)
        loss = self.task.loss(logits, batch.targets) / batch.samples
        value = float(self.group.total(loss))
        if not math.isfinite(value):
            raise Diverged(self._sentence(f"the loss became {value}", batch.index))
        self._backward(loss if penalty is None else loss + penalty, batch.index)
        sum_distributed_gradients(self.net, self.group)
        descend(self.optimiser)
        self.net.clip_feedback_()
        self.iteration += 1
        sums.add(value, self.task.score(logits.detach(), batch.targets), batch, self.net.last_solve or (0, 0.0))

    def _answer(self, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return the logits, and the cost penalty (E17) of this process's samples if the recipe has one."""
        coupling = distributed_coupling(self.group, batch.samples)
        if self.recipe.penalty is None:
            return self.net(batch.images, coupling=coupling), None
        rates = self.net.rates(batch.images, coupling=coupling)
        operations = operations_by_fan_out(rates, self.synapses).sum() / batch.samples
        return self.net.readout(rates[-1].flatten(1)), penalty_weight(self.recipe, iteration=self.iteration) * operations

    def _backward(self, loss: Tensor, index: int) -> None:
        """Compute the gradient (E5); Diverged says in which batch it failed and which epoch is kept."""
        try:
            loss.backward()
        except Diverged as error:
            raise Diverged(self._sentence(str(error), index)) from error
        self._check_solver(index)

    def _check_solver(self, index: int) -> None:
        """Raise Diverged after PATIENCE consecutive backward solves without any improvement."""
        steps, residual = self.net.last_solve or (0, math.nan)
        self.unsolved = self.unsolved + 1 if steps > 0 and not residual < 1.0 else 0
        if self.unsolved >= PATIENCE:
            text = (
                f"the feedback is diverging: {PATIENCE} backward solves in a row ended with a relative residual >= 1 (now {residual:.3g})"
            )
            raise Diverged(self._sentence(text, index))

    def _sentence(self, what: str, index: int) -> str:
        return f"{what} in epoch {self.epoch + 1}, batch {index + 1}; {self.kept()}; use a smaller learning rate or feedback limit"

    def kept(self) -> str:
        """Return a sentence that says which checkpoint is on disk."""
        return f"the checkpoint of epoch {self.epoch} is kept in {self.folder}" if self.epoch else "no epoch was finished"

    def _keep(self, record: EpochRecord) -> None:
        """Write the epoch's files, beginning with the state, because all others can be recreated from it."""
        if not all(bool(torch.isfinite(value).all()) for value in self.net.state_dict().values()):
            self.epoch -= 1
            last = batch_count(len(self.targets), self.recipe.batch) - 1
            raise Diverged(self._sentence("a parameter is not finite", last))
        if self._is_best(record):
            self.best_accuracy, self.best_epoch = record.accuracy, record.epoch
        self.history.append(dataclasses.asdict(record))
        if not self.group.first:
            return
        save_state(self.folder / run_folder.STATE, self._state())
        self._write_models()
        append_record(self.folder / run_folder.LOG, self.history[-1])
        limit = max([one.limit for one in self.net.feedbacks], default=None)
        self.progress.say(epoch_row(record, epochs=self.recipe.epochs, limit=limit, penalised=self.recipe.penalty is not None))
        remark = run_table_remark(self.history, limit)
        if remark is not None:
            self.progress.say(remark)
        self.progress.show(self.history)

    def _is_best(self, record: EpochRecord) -> bool:
        """Return whether an epoch is more accurate than all before it; one begun after the penalty's warm-up beats any begun earlier."""
        batches = batch_count(len(self.targets), self.recipe.batch)
        warm, best_warm = (penalty_warmed_up(self.recipe, iteration=(epoch - 1) * batches) for epoch in (record.epoch, self.best_epoch))
        return (warm, record.accuracy) > (best_warm, self.best_accuracy)

    def _state(self) -> State:
        return State(
            epoch=self.epoch,
            iteration=self.iteration,
            network=self.net.state_dict(),
            optimiser=self.optimiser.state_dict(),
            best_accuracy=self.best_accuracy,
            best_epoch=self.best_epoch,
            history=self.history,
            recipe=self.recipe.to_toml(),
            threads=torch.get_num_threads(),
            processes=self.group.size,
        )

    def _write_models(self) -> None:
        """Write last.pt, and best.pt if this epoch is the best."""
        self.net.metrics = self._metrics()
        names = [run_folder.LAST] + ([run_folder.BEST] if self.best_epoch == self.epoch else [])
        net = self._rounded() if self.recipe.quantise is not None else self.net
        for name in names:
            net.save(self.folder / name)

    def _rounded(self) -> FSNN:
        """Return the network with the rounded weights that it was trained with, for export."""
        from fsnn_lava.quantisation.fake_quantise import materialised

        return materialised(self.net)

    def _metrics(self) -> dict[str, float | str]:
        last = EpochRecord(**self.history[-1])
        rounded = {} if self.recipe.quantise is None else {"bits": float(self.recipe.quantise.bits)}
        held_out = {"validation": float(self.recipe.validation)} if self.recipe.validation else {}
        task = {} if self.recipe.task == "classes" else {"task": self.recipe.task}
        return {
            **rounded,
            **held_out,
            **task,
            "data": self.recipe.data,
            ("accuracy" if last.judged_by == "test" else "validation_accuracy"): last.accuracy,
            "loss": last.loss,
            "epochs": float(self.epoch),
            "seed": float(self.recipe.seed),
        }

    def restore(self, state: State) -> None:
        """Continue after `state`. Its models and log lines are written again, in case the run was killed between two files."""
        restore_tensors(state, self.net, self.optimiser)
        self.epoch, self.iteration = state.epoch, state.iteration
        self.best_accuracy, self.best_epoch = state.best_accuracy, state.best_epoch
        self.history = list(state.history)
        if not self.group.first:
            return
        self._write_models()
        rewrite_records(self.folder / run_folder.LOG, self.history)
        self.progress.say(f"resuming after epoch {self.epoch}")
        self.progress.show(self.history)
        then, now = (state.processes, state.threads), (self.group.size, torch.get_num_threads())
        if then != now:
            self.progress.say(
                f"note: the run so far used {then[0]} processes with {then[1]} threads each, this one uses {now[0]} with {now[1]}: sums "
                f"may round differently; with the same numbers the result is bit-identical"
            )

    def _tested(self) -> float:
        """Return the accuracy of best.pt on the test samples, which were not used to choose it."""
        best = FSNN.load(self.folder / run_folder.BEST).to(self.group.device)
        return evaluate_network(best, self.data.test, ProcessGroup(device=self.group.device), task=self.task).accuracy

    def outcome(self) -> Outcome:
        """Return the figures of the training run so far."""
        last = EpochRecord(**self.history[-1])
        return Outcome(
            folder=self.folder,
            epochs=self.epoch,
            best_accuracy=self.best_accuracy,
            best_epoch=self.best_epoch,
            last_accuracy=last.accuracy,
            seconds=sum(float(record["seconds"]) for record in self.history),
            judged_by=last.judged_by,
            test_accuracy=None if last.judged_by == "test" or not self.group.first else self._tested(),
        )


@dataclasses.dataclass(frozen=True)
class Batch:
    """This process's share of a batch."""

    index: int
    images: Tensor
    targets: Tensor
    samples: int  # of the joint batch


@dataclasses.dataclass
class _Sums:
    """Totals over the batches of an epoch."""

    loss: float = 0.0
    score: float = 0.0
    count: int = 0
    batches: int = 0
    steps: float = 0.0
    residual: float = 0.0

    def add(self, loss: float, score: float, batch: Batch, solve: tuple[int, float]) -> None:
        self.loss += loss * batch.samples
        self.score += score  # of this process's share
        self.count += batch.samples
        self.batches += 1
        self.steps += solve[0]
        self.residual += solve[1] if solve[0] else 0.0


def _check_augmentation(recipe: Recipe, data: Dataset) -> None:
    """Raise BadFile unless the samples can be augmented as requested: images shifted, mirrored and cut out, events dropped."""
    plans = [recipe.at(epoch) for epoch in (0, *(phase.after for phase in recipe.phases))]
    if any(plan.shift or plan.flip or plan.cutout for plan in plans) and len(data.shape) != 3:
        raise BadFile(f"'shift', 'flip' and 'cutout' change images [C, H, W]; the samples of {data.name} have shape {list(data.shape)}")
    if recipe.drop_events and data.kind != "events":
        raise BadFile(f"'drop_events' is for event data; {data.name} contains images")


def _check_shares(recipe: Recipe, samples: int, group: ProcessGroup) -> None:
    """Raise BadArgument unless every process gets a sample of every batch, including the last one."""
    smallest = min(chunk for chunk in (recipe.batch, samples % recipe.batch or recipe.batch, samples) if chunk > 1)
    if smallest < group.size:
        raise BadArgument(
            f"a batch of {smallest} samples cannot be divided among {group.size} processes; change 'batch', or start fewer processes"
        )


def _write_text(path: Path, text: str) -> None:
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
