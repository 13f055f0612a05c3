"""Ends fsnn-run at random moments and resumes it until it is done: the results must be those of an uninterrupted run.

python -m tests.torture.resume_cases ROUNDS     prints what happened, as JSON; a difference ends it with a sentence
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random

import torch

from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.running.journal import Journal
from tests.helpers.run_files import arguments, content, write_inputs

WAIT = 0.002  # seconds between looks
HELD = 120.0  # seconds that a run waits for a signal
ONE_BY_ONE = ("--batch", "1", "--steps", "400")  # enough work for each sample to be ended in the middle of it


class Child:
    """fsnn-run into r.h5, one sample a batch, in a process of its own; what it says goes to files.

    With `hold`, it waits for a signal once so many parts are there, so that it cannot be over before it is ended.
    """

    def __init__(self, folder: Path, *more: str, name: str = "child", hold: int = 0, **environment: str) -> None:
        self.files = [folder.parent / f"{name}.out", folder.parent / f"{name}.err"]
        self.code: int | None = None
        self.pid = os.fork()
        if self.pid == 0:
            os.environ.update(environment)
            if hold:
                hold_after(folder, hold)
            for number, path in enumerate(self.files, start=1):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
            code = 1
            try:
                code = fsnn_run(arguments(folder, "r.h5", *ONE_BY_ONE, *more))
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)

    def running(self) -> bool:
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            self.code = os.waitstatus_to_exitcode(status) if pid else None
        return self.code is None

    def wait(self) -> int:
        while self.running():
            time.sleep(WAIT)
        return int(self.code or 0)

    def until(self, folder: Path, number: int) -> None:
        """Until so many parts are there, or it has ended."""
        while self.running() and len(parts(folder)) < number:
            time.sleep(WAIT)

    def end(self, sent: int) -> int:
        if self.running():
            os.kill(self.pid, sent)
        return self.wait()

    def said(self) -> list[str]:
        return [line for line in self.files[1].read_text().splitlines() if not line.endswith(" samples")]


def parts(folder: Path) -> list[str]:
    return sorted(path.name for path in (folder / "r.h5.part").glob("0*.h5"))


def hold_after(folder: Path, number: int) -> None:
    """Make every journal of this process wait after a part if there are `number` of them."""
    add = Journal.add

    def held(self: Journal, *args: object, **options: object) -> None:
        add(self, *args, **options)  # type: ignore[arg-type]
        if len(parts(folder)) >= number:
            time.sleep(HELD)

    Journal.add = held  # type: ignore[assignment]


def check(holds: bool, what: str) -> None:
    if not holds:
        raise SystemExit(what)


def kills(folder: Path, chance: Random) -> int:
    """Kill -9 until it is done; how many kills there were."""
    number, before = 0, []
    while not (folder / "r.h5").exists() or (folder / "r.h5.part").exists():
        child = Child(folder, "--resume")
        child.until(folder, len(before) + chance.randint(1, 9))
        time.sleep(chance.uniform(0, 0.02))
        number += child.end(signal.SIGKILL) == -signal.SIGKILL
        if not (folder / "r.h5").exists():
            check(set(before) <= set(parts(folder)), "a finished batch was lost")
            before = parts(folder)
    return number


def ended_by(folder: Path, sent: int) -> tuple[int, list[str]]:
    """Exit code and what was said when a run is ended politely."""
    child = Child(folder, hold=3)
    child.until(folder, 3)
    code = child.end(sent)
    check((folder / "r.h5.part").exists(), f"no part was kept: exit code {code}; {child.said()}")
    return code, child.said()


def pair(folder: Path, *more: str) -> tuple[list[int], list[str], str]:
    """Two processes, killed, and gone on with: exit codes, what the first said, what the first printed."""

    def both(*options: str, hold: int = 0) -> list[Child]:
        ranks = [{"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_PORT": "29533"} for rank in (0, 1)]
        return [Child(folder, *options, name=f"rank {rank['RANK']}", hold=hold, **rank) for rank in ranks]

    children = both(*more, hold=6)
    children[0].until(folder, 6)
    killed = [child.end(signal.SIGKILL) for child in children]
    check(killed == [-signal.SIGKILL] * 2, f"they ended before they were killed: {killed}; {[child.said() for child in children]}")
    children = both(*more, "--json", "--resume")
    codes = [child.wait() for child in children]
    check((folder / "r.h5").exists(), f"no results: exit codes {codes}; {[child.said() for child in children]}")
    check(children[1].files[0].read_text() == "", "the second process talks")
    return codes, children[0].said(), children[0].files[0].read_text()


def main(rounds: int) -> dict[str, object]:
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background of a shell script would ignore it
    chance = Random(5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        folder.mkdir()
        write_inputs(folder)
        with redirect_stdout(StringIO()), redirect_stderr(StringIO()):  # here, so that those to come find everything loaded
            check(fsnn_run(arguments(folder, "r.h5", *ONE_BY_ONE)) == 0, "the run in one go failed")
        whole = content(folder / "r.h5")
        inputs = [path.name for path in sorted(folder.iterdir())]
        found: dict[str, object] = {"kills": 0}
        for _ in range(rounds):
            (folder / "r.h5").unlink()
            found["kills"] = int(str(found["kills"])) + kills(folder, chance)
            check(content(folder / "r.h5") == whole, "after kills the results are others")
            check([path.name for path in sorted(folder.iterdir())] == inputs, "something was left beside the results")
        for sent in (signal.SIGINT, signal.SIGTERM):
            found[sent.name] = ended_by(folder, sent)
            shutil.rmtree(folder / "r.h5.part")
        (folder / "r.h5").unlink()
        found["pair"] = pair(folder, "--accuracy-min", "1.0", "--report", str(Path(name) / "report.html"))
        check(content(folder / "r.h5") == whole, "two processes give other results")
        found["report"] = (Path(name) / "report.html").read_text().count("accuracy must be at least")
        found["left"] = [path.name for path in sorted(folder.iterdir())]
    return found


if __name__ == "__main__":
    print(json.dumps(main(int(sys.argv[1]))))
