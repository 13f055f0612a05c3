"""fsnn-run --resume: what was finished before an interruption is kept, and the results are those of an uninterrupted run."""

from __future__ import annotations

import json
import multiprocessing
import random
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.files.lock import locked
from fsnn_lava.formats import results
from fsnn_lava.formats.results_columns import detail_columns, row_columns
from fsnn_lava.formats.results_part import Layout
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.running.journal import Journal, Span, open_journal
from fsnn_lava.training.processes import Processes
from fsnn_lava.verify.comparator import Comparator
from tests.helpers.run_files import SAMPLES, arguments, content, write_inputs
from tests.torture.damage import damaged

ROOT = Path(__file__).parents[2]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_inputs(tmp_path)
    return tmp_path


@pytest.fixture
def after(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None], None]:
    """`after(n)`: the emulator is interrupted when a run has asked it for n batches; `after(None)`: never again."""
    honest, state = Emulator.run, {"left": -1, "steps": 0}

    def run(self: Emulator, values: np.ndarray, *, steps: int | None = None, spikes: bool = False) -> object:
        state["steps"] = max(state["steps"], steps or 0)
        if len(values) == 4 and (steps or 0) == state["steps"]:  # not what a report looks at, and not a shorter run
            state["left"] -= 1
            if state["left"] == -1:
                raise KeyboardInterrupt
        return honest(self, values, steps=steps, spikes=spikes)

    def stop(number: int | None) -> None:
        state["left"] = -2 if number is None else number

    monkeypatch.setattr(Emulator, "run", run)
    return stop


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Return what was printed to stderr, without the progress."""
    progress = re.compile(rf"of {SAMPLES} samples, (done|(at most )?\d+ \w+ left)$")
    return [line for line in capsys.readouterr().err.splitlines() if not progress.search(line)]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_an_interrupted_run_continues_where_it_stopped(
    folder: Path, after: Callable[[int | None], None], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["fsnn-run", "net.h5", "--out", "r.h5"])
    assert fsnn_run(arguments(folder, "whole.h5", "--json")) == 0
    whole = json.loads(capsys.readouterr().out)
    after(6)  # the comparator runs every batch again: three are finished
    assert fsnn_run(arguments(folder, "r.h5")) == 130
    kept = f"12 of {SAMPLES} samples are kept in {folder / 'r.h5.part'}"
    assert said(capsys) == [f"fsnn-run: interrupted: {kept}; continue with: fsnn-run net.h5 --out r.h5 --resume"]
    assert not (folder / "r.h5").exists()
    after(5)  # and once more
    assert fsnn_run(arguments(folder, "r.h5", "--resume")) == 130
    assert f"20 of {SAMPLES} samples are kept" in said(capsys)[1]
    after(None)
    assert fsnn_run(arguments(folder, "r.h5", "--resume", "--json")) == 0
    out, err = capsys.readouterr()
    assert f"fsnn-run: 20 of {SAMPLES} samples are kept" in err.splitlines()
    again = json.loads(out)
    assert content(folder / "r.h5") == content(folder / "whole.h5")
    assert names(folder) == ["net.h5", "own.npz", "r.h5", "whole.h5"]
    for found in (whole, again):
        found["verdict"]["about"].pop("seconds")
        for name in ("seconds", "samples_per_second", "out"):
            found.pop(name)
    assert again == whole


def test_the_verdict_covers_what_ran_before_the_interruption(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    honest, calls = Emulator.run, []

    def bent(self: Emulator, values: np.ndarray, **options: object) -> object:
        calls.append(1)
        if len(calls) == 7:
            raise KeyboardInterrupt
        result = honest(self, values, **options)  # type: ignore[arg-type]
        return replace(result, potentials=(result.potentials[0] + 64, *result.potentials[1:])) if len(calls) < 7 else result

    monkeypatch.setattr(Emulator, "run", bent)
    assert fsnn_run(arguments(folder, "r.h5")) == 130
    assert fsnn_run(arguments(folder, "r.h5", "--resume", "--json")) == 1
    charge = next(c for c in json.loads(capsys.readouterr().out)["verdict"]["checks"] if c["name"] == "charge")
    assert not charge["passed"]
    assert charge["offenders"][0]["sample"] == 0
    assert charge["numbers"]["neurons"] % SAMPLES == 0


def test_batches_may_be_of_another_size_afterwards(folder: Path, after: Callable[[int | None], None]) -> None:
    assert fsnn_run(arguments(folder, "whole.h5")) == 0
    after(6)
    assert fsnn_run(arguments(folder, "r.h5")) == 130
    after(None)
    assert fsnn_run(arguments(folder, "r.h5", "--resume", "--batch", "7")) == 0
    assert content(folder / "r.h5") == content(folder / "whole.h5")


def test_a_report_of_a_resumed_run_draws_its_first_samples(folder: Path, after: Callable[[int | None], None]) -> None:
    after(6)
    assert fsnn_run(arguments(folder, "r.h5")) == 130
    after(None)
    assert fsnn_run(arguments(folder, "r.h5", "--resume", "--report", str(folder / "report.html"))) == 0
    assert "needs the network and the run" not in (folder / "report.html").read_text()


def test_without_anything_kept_it_starts_from_the_beginning_and_says_so(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fsnn_run(arguments(folder, "r.h5", "--resume", "--no-compare")) == 0
    assert said(capsys) == [f"fsnn-run: {folder / 'r.h5.part'} contains no finished samples: starting from the beginning"]
    assert results.read_results(folder / "r.h5").samples == SAMPLES


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ((), "contains 12 samples of an interrupted run: add --resume to continue it, or delete the folder"),
        (("--resume", "--steps", "5"), "contains a different run: steps 12 instead of 5; continue that one, or delete the folder"),
        (("--resume", "--limit", "30"), f"samples {SAMPLES} instead of 30"),
        (("--resume", "--spikes"), "spikes False instead of True"),
        (("--resume", "--no-compare"), "comparison"),
        (
            (
                "--resume",
                "--network",
            ),
            "network ",
        ),
        (
            (
                "--resume",
                "--values",
            ),
            "samples 0 … 3 of data set own are not those that",
        ),
    ],
)
def test_another_run_is_refused(
    folder: Path, after: Callable[[int | None], None], capsys: pytest.CaptureFixture[str], more: tuple[str, ...], sentence: str
) -> None:
    after(6)
    assert fsnn_run(arguments(folder, "r.h5", "--steps", "12")) == 130
    after(None)
    kept = names(folder / "r.h5.part")
    if "--network" in more:
        write_inputs(folder, decay=90)
    if "--values" in more:
        found = dict(np.load(folder / "own.npz"))
        found["x"].reshape(-1)[5] ^= 1
        np.savez(folder / "own.npz", **found)
    capsys.readouterr()
    options = ["--steps", "12", *(word for word in more if word not in ("--network", "--values"))]
    assert fsnn_run(arguments(folder, "r.h5", *options)) == 2
    lines = said(capsys)
    assert sentence in lines[-1]
    assert "delete that file" not in lines[-1]
    assert "Traceback" not in "".join(lines)
    assert names(folder / "r.h5.part") == kept


@pytest.mark.parametrize("name", ["TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"])
def test_a_command_that_is_started_once_more_continues_by_itself(
    folder: Path, after: Callable[[int | None], None], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "0")
    after(3)
    assert fsnn_run(arguments(folder, "r.h5", "--no-compare")) == 130
    assert fsnn_run(arguments(folder, "r.h5", "--no-compare")) == 2
    monkeypatch.setenv(name, "1")
    after(None)
    assert fsnn_run(arguments(folder, "r.h5", "--no-compare")) == 0
    assert results.read_results(folder / "r.h5").samples == SAMPLES


def test_resume_needs_a_file(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert fsnn_run([str(folder / "net.h5"), "--data", str(folder / "own.npz"), "--backend", "emu", "--resume"]) == 2
    assert "--resume needs the results file of the run to continue: add --out" in capsys.readouterr().err


def test_a_damaged_part_is_named(folder: Path, after: Callable[[int | None], None], capsys: pytest.CaptureFixture[str]) -> None:
    after(6)
    assert fsnn_run(arguments(folder, "r.h5")) == 130
    after(None)
    part = sorted((folder / "r.h5.part").glob("*.h5"))[1]
    whole = part.read_bytes()
    for harm in (whole[:-700], whole[:1500] + bytes(400) + whole[1900:], b""):
        part.write_bytes(harm)
        capsys.readouterr()
        assert fsnn_run(arguments(folder, "r.h5", "--resume")) == 2
        assert f"{part.name}" in said(capsys)[-1]
    note = folder / "r.h5.part" / "run.json"
    about = note.read_text()
    for harm in ("[]", "3", "{", '{"steps": ' + "[" * 10**5):
        note.write_text(harm)
        assert fsnn_run(arguments(folder, "r.h5", "--resume")) == 2
        assert "run.json" in (line := said(capsys)[-1]) or "contains a different run" in line
    note.write_text(about)
    part.unlink()  # as the sentence says
    assert fsnn_run(arguments(folder, "r.h5", "--resume")) == 0
    assert fsnn_run(arguments(folder, "whole.h5")) == 0
    assert content(folder / "r.h5") == content(folder / "whole.h5")


def test_parts_with_seeded_damage_are_read_or_refused(folder: Path, after: Callable[[int | None], None]) -> None:
    """Damaged byte by byte and as HDF5 with other contents, as tests/torture does with every reader."""
    after(6)
    assert fsnn_run(arguments(folder, "r.h5")) == 130
    part = min((folder / "r.h5.part").glob("0*.h5"))
    whole, run = part.read_bytes(), json.loads((folder / "r.h5.part" / "run.json").read_text())
    chip = ChipNetwork.load(folder / "net.h5")
    journal = Journal(
        part.parent, Layout(row_columns(chip, steps=run["steps"]), detail_columns(chip, run["steps"], spikes=False)), run, Processes()
    )
    outcomes = []
    for seed in range(60):
        part.write_bytes(damaged("hdf5", whole, random.Random(seed)))
        try:
            with journal.read(Span(0, 4)) as opened_part:
                Comparator(chip, equilibrium_samples=0).take_in(opened_part.load().found)
            outcomes.append("read")
        except BadFile:
            outcomes.append("refused")
    assert outcomes.count("refused") > 30


def _hold(path: Path, ready: object, release: object, note: str = "77 of 1") -> None:
    with locked(path, note=note, what="x"):
        ready.set()  # type: ignore[attr-defined]
        release.wait(60)  # type: ignore[attr-defined]


@pytest.mark.parametrize("size", [1, 2])
def test_a_second_run_into_the_same_file_is_refused(folder: Path, size: int, capsys: pytest.CaptureFixture[str]) -> None:
    """The second has as many processes, or more, so that only one of them meets the lock itself."""
    fork = multiprocessing.get_context("fork")
    ready, release = fork.Event(), fork.Event()
    holder = fork.Process(target=_hold, args=(folder / "r.h5.part" / "lock.0", ready, release))
    holder.start()
    assert ready.wait(30)
    layout = Layout((), ())
    try:
        with (
            pytest.raises(BadArgument, match=r"another run \(process 77 of 1\) is writing .*r\.h5; wait for it, or choose another --out"),
            open_journal(folder / "r.h5", layout, {}, number=4, processes=Processes(size - 1, size), resume=False),
        ):
            pass
        assert fsnn_run(arguments(folder, "r.h5")) == 2
    finally:
        release.set()
        holder.join()
    assert "another run (process 77 of 1) is writing" in capsys.readouterr().err
    assert fsnn_run(arguments(folder, "r.h5", "--no-compare")) == 0  # whoever held it is gone, and so is the lock
    assert names(folder) == ["net.h5", "own.npz", "r.h5"]


@pytest.mark.parametrize("before", ["", "66 of 3"])
def test_a_process_whose_note_is_not_written_yet_is_waited_for(folder: Path, before: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The other one of a pair holds its lock, but the file is empty still, or tells of a killed run of three."""
    fork = multiprocessing.get_context("fork")
    ready, release = fork.Event(), fork.Event()
    lock = folder / "r.h5.part" / "lock.0"
    holder = fork.Process(target=_hold, args=(lock, ready, release, before))
    holder.start()
    waits: list[float] = []

    def write_note(seconds: float) -> None:
        waits.append(seconds)
        lock.write_text("77 of 2")

    monkeypatch.setattr("fsnn_lava.running.journal.time.sleep", write_note)
    try:
        assert ready.wait(30)
        with open_journal(folder / "r.h5", Layout((), ()), {}, number=4, processes=Processes(1, 2), resume=False):
            pass
        assert len(waits) == 1
    finally:
        release.set()
        holder.join()


def test_a_run_that_is_refused_takes_nothing_away_from_the_other(folder: Path) -> None:
    """Of three processes the second has begun, and has finished nothing yet."""
    fork = multiprocessing.get_context("fork")
    ready, release = fork.Event(), fork.Event()
    kept = folder / "r.h5.part"
    holder = fork.Process(target=_hold, args=(kept / "lock.1", ready, release, "77 of 3"))
    holder.start()
    try:
        assert ready.wait(30)
        (kept / "run.json").write_text("{}")
        assert fsnn_run(arguments(folder, "r.h5")) == 2
        assert {"lock.1", "run.json"} <= set(names(kept))
    finally:
        release.set()
        holder.join()


def test_gaps_are_what_no_part_holds(tmp_path: Path) -> None:
    journal = Journal(tmp_path, Layout((), ()), {}, Processes())
    assert journal.missing(0, 10) == [Span(0, 10)]
    for span in (Span(2, 4), Span(4, 5), Span(8, 9)):
        (tmp_path / span.name).touch()
    assert journal.missing(0, 10) == [Span(0, 2), Span(5, 8), Span(9, 10)]
    assert journal.missing(3, 7) == [Span(5, 7)]
    assert journal.missing(2, 5) == []
    assert journal.kept == 4
    (tmp_path / Span(3, 6).name).touch()
    with pytest.raises(Exception, match="contain the same samples"):
        journal.missing(0, 10)


@pytest.fixture(scope="module")
def ended() -> dict[str, Any]:
    """Return how runs ended that were killed, ended by signals, or shared by two processes."""
    done = subprocess.run([sys.executable, "-m", "tests.torture.resume_cases", "1"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_kills_at_random_moments_lose_no_finished_batch(ended: dict[str, Any]) -> None:
    assert ended["kills"] >= 3


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_ends_it_with_one_message_and_130(ended: dict[str, Any], name: str) -> None:
    code, lines = ended[name]
    assert code == 130
    assert len(lines) == 1
    assert re.fullmatch(
        rf"fsnn-run: interrupted: \d+ of {SAMPLES} samples are kept in \S+r\.h5\.part; continue with: .* --resume", lines[0]
    )


def test_two_processes_give_one_verdict_and_continue_after_a_kill(ended: dict[str, Any]) -> None:
    codes, said, out = ended["pair"]
    assert codes == [1, 0]  # the accuracy is that of chance; the first process says so
    assert re.fullmatch(rf"fsnn-run: \d+ of {SAMPLES} samples are kept", said[0])
    verdict = json.loads(out)["verdict"]
    assert verdict["about"]["samples"] == SAMPLES
    assert [check["name"] for check in verdict["checks"] if check["mark"] in ("FAIL", "MISS")] == ["accuracy"]
    assert next(c for c in verdict["checks"] if c["name"] == "accuracy")["numbers"]["samples"] == SAMPLES
    assert ended["report"] == 1
    assert ended["left"] == ["net.h5", "own.npz", "r.h5"]
