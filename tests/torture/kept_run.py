"""What an interrupted fsnn-run keeps: a part, the note of what is run, the note of a process that failed, the lock of one at work.

Each lies in a run of its own, and is read by the code that resumes.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
from pathlib import Path
from unittest.mock import patch

import numpy as np

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.data.dataset import ArraySplit, Dataset
from fsnn_lava.errors import BackendFailed, Diverged
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.running.job import Job, _hash_kept_data, _join_parts
from fsnn_lava.running.journal import Journal, Span, _refuse_other_size, open_journal
from fsnn_lava.running.options import RunOptions
from fsnn_lava.training.checkpoint import load_state
from fsnn_lava.training.loop import TrainingLoop
from fsnn_lava.training.processes import Processes
from fsnn_lava.training.progress import TrainingProgress
from fsnn_lava.training.recipe import Recipe
from fsnn_lava.verify.comparator import Comparator
from tests.helpers.chip_networks import dense_network

SAMPLES, BATCH = 4, 2
PART = Span(0, BATCH).name
ALONE, FIRST_OF_TWO = Processes(token="run"), Processes(0, 2, "run")
_CHIP = dense_network(6, decay=50)
_VALUES, _LABELS = np.random.default_rng(0).integers(0, 256, (SAMPLES, 7), np.uint8), np.array([2, 0, 1, 1])
_kept_open: list[int] = []  # ends of pipes: those who hold a lock end with this process


def _job() -> Job:
    options = RunOptions(backend="emu", steps=6, batch=BATCH, spikes=True)
    return Job(chip=_CHIP, split=ArraySplit(_VALUES, _LABELS), number=SAMPLES, data="own", options=options, detail=3, resume=True)


def _journal(path: Path, who: Processes = ALONE) -> Journal:
    job = _job()
    return Journal(path.parent, job.layout, job.identity, who)


def keep(path: Path) -> None:
    """Make the folder that holds `path` (results.h5.part) as a run leaves it that was interrupted when all its samples were done."""
    path.parent.mkdir(parents=True)
    journal, comparator = _journal(path), Comparator(_CHIP, equilibrium_samples=2)
    journal.begin(SAMPLES, resume=False)
    emulator = Emulator(_CHIP)
    for first in range(0, SAMPLES, BATCH):
        rows = slice(first, first + BATCH)
        result = emulator.run(_VALUES[rows], steps=6, spikes=True)
        comparator.add(result, _VALUES[rows], _LABELS[rows], offset=first)
        found = comparator.hand_over()
        journal.add(first, result, _VALUES[rows], _LABELS[rows], details=min(BATCH, 3 - first), found=found)
    if not path.exists():
        Journal(path.parent, journal.layout, journal.identity, Processes(1, 2, "another run")).report_failure(ValueError("made up"))


def resume(path: Path) -> None:
    """Everything that --resume does with what is kept, to the results file."""
    job, out = _job(), path.parent.with_name(path.parent.name.removesuffix(".part"))
    with open_journal(out, job.layout, job.identity, number=SAMPLES, processes=ALONE, resume=True) as journal:
        comparator = Comparator(_CHIP, equilibrium_samples=2)
        _join_parts(job, journal, out, comparator, _hash_kept_data(job, journal)).to_text()
        json.dumps(comparator.verdict().to_dict(series=True))


def listen(path: Path) -> None:
    """What the first process says of one that failed is content, whatever it is."""
    try:
        _journal(path, FIRST_OF_TWO)._raise_failure(1)
    except BackendFailed as error:
        if len(str(error)) > 2000:
            raise


def _training(folder: Path) -> TrainingLoop:
    recipe, split = Recipe(data="digits", architecture="3 (F3)", neuron="if", epochs=2, batch=2, steps=3), ArraySplit(_VALUES, _LABELS)
    data = Dataset(name="own", train=split, test=split, normalisation=Normalisation(divisor=255.0, mean=(0.5,), std=(0.3,)))
    return TrainingLoop(recipe, data, folder, TrainingProgress(quiet=True))


def train(path: Path) -> None:
    """Make the state of a training after its first epoch."""
    path.parent.mkdir(parents=True)
    _training(path.parent).one_epoch()


def resume_training(path: Path) -> None:
    """Everything that fsnn-train --resume does with it, and the next epoch."""
    run = _training(path.parent)
    run.restore(load_state(path, run.recipe))
    with contextlib.suppress(Diverged):  # finite numbers may be far too large
        run.one_epoch()
    run.outcome()


def hold(path: Path) -> None:
    """Make a lock, and have another process hold it for as long as this one lives."""
    path.parent.mkdir(parents=True)
    path.write_text("77 of 2")
    (ready, tell), (wait, live) = os.pipe(), os.pipe()
    if os.fork() == 0:
        try:
            os.close(live)
            handle = os.open(path, os.O_RDWR)
            fcntl.lockf(handle, fcntl.LOCK_EX)
            os.write(tell, b".")
            os.read(wait, 1)
        finally:
            os._exit(0)
    os.read(ready, 1)
    for end in (ready, tell, wait):
        os.close(end)
    _kept_open.append(live)


def meet(path: Path) -> None:
    """A run that finds the lock held: refused, unless its owner belongs to the same run. It looks as often as ever, without a pause."""
    with patch("fsnn_lava.running.journal.POLL_SECONDS", 0.0):
        _refuse_other_size(path.parent, Processes(1, 2), path.parent.with_name("results.h5"))
