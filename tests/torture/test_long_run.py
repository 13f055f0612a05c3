"""A run of many batches: memory, open files and processes do not grow, and no result depends on batch, position or process.

10,000 samples in 125 batches on both backends under `make torture`; fewer in `make test`.
"""

from __future__ import annotations

import importlib.util
import mmap
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import resource_tracker, shared_memory
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.running.run import run, run_batches
from tests.helpers.chip_networks import conv_network
from tests.helpers.run_files import content

TORTURE = os.environ.get("FSNN_TORTURE") == "1"
SIZES = {"emu": (2400, 20), "sim": (80, 4)}  # samples, batch
SETTLED = 8  # batches after which everything that is kept for later ones is there
SPARE = 2**23  # bytes that the allocator may hold back
STEPS = 6


@dataclass
class Moment:
    """The resources of this process and of those it has started."""

    resident: int  # bytes of this process
    others: int  # bytes of the others, shared pages counted in each
    files: int
    processes: int
    shared: int  # files in /dev/shm that one of them has made


class SharedMemory:
    """Which files in /dev/shm this process and those it has started have made. Others on the machine may use it, too."""

    def __init__(self, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """From here on every shared memory that Python makes is noted, also in processes forked from this one."""
        self.notes, self._names = notes, set[str]()
        notes.touch()
        honest = shared_memory._posixshmem.shm_open  # type: ignore[attr-defined]

        def noted(path: str, flags: int, **options: Any) -> int:
            if flags & os.O_CREAT:
                with notes.open("a") as file:
                    file.write(f"{path.lstrip('/')}\n")
            return int(honest(path, flags, **options))

        monkeypatch.setattr(shared_memory._posixshmem, "shm_open", noted)  # type: ignore[attr-defined]

    def there(self, family: list[int]) -> int:
        """Return how many of them exist now."""
        self._names |= set(self.notes.read_text().split()) | {name for pid in family for name in mapped(pid)}
        return sum(os.path.exists(f"/dev/shm/{name}") for name in self._names)

    @property
    def made(self) -> int:
        """Return how many there have been."""
        return len(self._names)


def mapped(pid: int) -> set[str]:
    """Files in /dev/shm that a process has in its memory, whoever made them for it: semaphores, too."""
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return set()
    paths = (line.split(maxsplit=5)[5] for line in lines if " /dev/shm/" in line)
    return {path.removeprefix("/dev/shm/") for path in paths if not path.endswith(" (deleted)")}


def now(shared: SharedMemory) -> Moment:
    me, family = os.getpid(), descendants(os.getpid())
    return Moment(resident(me), sum(map(resident, family)), len(os.listdir("/proc/self/fd")), len(family), shared.there([me, *family]))


def resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (FileNotFoundError, ProcessLookupError):
        return 0


def descendants(pid: int) -> list[int]:
    try:
        tasks = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except (FileNotFoundError, ProcessLookupError):
        return []
    children = [int(child) for task in tasks for child in task]
    return children + [one for child in children for one in descendants(child)]


def values(count: int, shape: tuple[int, ...]) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (count, *shape), np.uint8)


@pytest.mark.timeout(1500)
@pytest.mark.parametrize("backend", ["emu", "sim"])
def test_many_batches_leak_nothing_and_do_not_mix(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, record_property: Callable[[str, object], None]
) -> None:
    if backend == "sim" and importlib.util.find_spec("lava") is None:
        pytest.skip("Lava is not installed")
    samples, batch = (10_000, 80) if TORTURE else SIZES[backend]
    chip = conv_network(1, decay=80)
    inputs = values(samples, chip.input.shape)
    run(chip, inputs[:2], backend=backend, steps=STEPS)  # what is loaded once is loaded
    shared = SharedMemory(tmp_path / "shared memory", monkeypatch)
    before, moments, readouts, began = now(shared), [], [], time.monotonic()
    for result in run_batches(chip, (inputs[i : i + batch] for i in range(0, samples, batch)), backend=backend, batch=batch, steps=STEPS):
        readouts.append(result.readout)
        moments.append(now(shared))
    seconds, after = time.monotonic() - began, now(shared)
    growth, others = (moments[-1].resident - moments[SETTLED].resident, moments[-1].others - moments[SETTLED].others)
    held = f"always {moments[-1].processes} child processes, {moments[-1].files} open files, {moments[-1].shared} files in /dev/shm"
    record_property("measured", f"{samples} samples in {len(moments)} batches: {seconds:.0f} s, {growth >> 10} KiB more memory; {held}")
    assert len(moments) == samples // batch
    # what the loop keeps on purpose are readouts (80 KiB for 10,000): a leak of one potential per neuron and batch would be more
    assert growth < SPARE
    assert others < SPARE
    assert {(moment.files, moment.processes, moment.shared) for moment in moments[1:]} == {
        (moments[0].files, moments[0].processes, moments[0].shared)
    }
    assert after.processes <= before.processes
    assert after.files <= before.files + 1  # Python's own resource tracker stays
    assert after.shared <= before.shared
    assert shared.made == 0  # what processes share here has no name: it cannot be left behind
    order = np.random.default_rng(1).permutation(samples)
    shuffled = run(chip, inputs[order], steps=STEPS, batch=77)
    np.testing.assert_array_equal(shuffled.readout, np.concatenate(readouts)[order])


def test_shared_memory_of_this_process_and_its_children_is_counted_and_that_of_others_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stranger = shared_memory.SharedMemory(create=True, size=8)
    name = stranger.name
    stranger.close()
    shared = SharedMemory(tmp_path / "notes", monkeypatch)
    try:
        assert now(shared).shared == 0
        child = os.fork()
        if child == 0:
            shared_memory.SharedMemory(create=True, size=8)
            os._exit(0)  # and leaves it behind
        os.waitpid(child, 0)
        assert (now(shared).shared, shared.made) == (1, 1)
        with open(f"/dev/shm/{name}", "r+b") as file, mmap.mmap(file.fileno(), 8):
            assert now(shared).shared == 2  # now this process has it in its memory
    finally:
        for left in (name, *shared.notes.read_text().split()):
            os.unlink(f"/dev/shm/{left}")
            resource_tracker.unregister(f"/{left}", "shared_memory")
    assert now(shared).shared == 0


def in_processes(arguments: list[str], number: int) -> list[int]:
    """fsnn-run on so many processes at once: the largest memory of each, in KiB; all must end well."""
    children = []
    for rank in range(number):
        child = os.fork()
        if child == 0:
            os.environ.update(RANK=str(rank), WORLD_SIZE=str(number), MASTER_PORT="29544")
            null = os.open(os.devnull, os.O_WRONLY)
            os.dup2(null, 1)
            os.dup2(null, 2)
            code = 1
            try:
                code = fsnn_run(arguments)
            finally:
                os._exit(code)
        children.append(child)
    ended = [os.wait4(child, 0) for child in children]
    assert [os.waitstatus_to_exitcode(status) for _, status, _ in ended] == [0] * number
    return [usage.ru_maxrss for _, _, usage in ended]


@pytest.mark.timeout(1500)
def test_a_long_command_needs_no_more_memory_and_any_number_of_processes_gives_its_file(
    tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """In processes of their own, from one that has run nothing: see in_a_fresh_process."""
    import subprocess
    import sys

    samples, batch = (10_000, 80) if TORTURE else (160, 4)
    command = [sys.executable, "-m", "tests.torture.test_long_run", str(tmp_path), str(samples), str(batch)]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    short, long = (int(word) for word in done.stdout.split()[:2])
    memory = f"peak memory {long} KiB, with a tenth of the samples {short} KiB"
    record_property("measured", f"fsnn-run: {samples} samples in {samples // batch} batches: {memory}")
    # a comparison keeps three numbers per sample for the report, 32 bytes each in a list, and the answers: below 200 bytes per sample
    assert (long - short) * 1024 < SPARE + 200 * samples
    one, three = content(tmp_path / "1.h5"), content(tmp_path / "3.h5")
    assert one == three
    assert one["rows/readout"][1][0] == samples  # type: ignore[index]


def in_a_fresh_process(folder: Path, samples: int, batch: int) -> None:
    """A tenth of the samples, then all of them on one process and on three; prints what the first two took."""
    import torch

    torch.set_num_threads(1)
    chip = conv_network(1, decay=80)
    chip.save(folder / "net.h5")
    np.savez(folder / "own.npz", x=values(samples, chip.input.shape), y=np.arange(samples) % chip.readout.classes)
    options = [str(folder / "net.h5"), "--data", str(folder / "own.npz"), "--backend", "emu", "--batch", str(batch), "--detail", "50"]
    few = in_processes([*options, "--out", str(folder / "few.h5"), "--limit", str(samples // 10)], 1)
    all_of_them = in_processes([*options, "--out", str(folder / "1.h5")], 1)
    in_processes([*options, "--out", str(folder / "3.h5")], 3)
    print(few[0], all_of_them[0])


if __name__ == "__main__":
    import sys

    in_a_fresh_process(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
