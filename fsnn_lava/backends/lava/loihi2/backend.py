"""Backend "loihi2". The job runs in a separate process, so a board that hangs or dies causes one clear error."""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.availability import require_backend
from fsnn_lava.backends.lava.loihi2.job_files import ChipJob, read_result, write_job
from fsnn_lava.errors import BackendFailed, BackendMissing, BadArgument, BadNetwork
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import stock_equivalent
from fsnn_lava.placement.obstacles import obstacles, possible_obstacles

TIMEOUT_VARIABLE = "FSNN_TIMEOUT"
PROFILE_VARIABLE = "FSNN_PROFILE"
_POLL = 0.25  # seconds between two checks of the job
_GRACE = 5.0  # seconds between asking a job to end and killing it
_ERRORS = {"BackendMissing": BackendMissing, "BadNetwork": BadNetwork, "BadArgument": BadArgument}


def run_on_loihi2(
    chip: ChipNetwork,
    values: NDArray[np.uint8],
    *,
    steps: int | None = None,
    spikes: bool = False,
    partition: str | None = None,
    board: str | None = None,
    address: str | None = None,
    generation: str | None = None,
    timeout: float | None = None,
    profile: str | Path | None = None,
) -> Result:
    """Run `stock_equivalent(chip)` on a Loihi 2, sample by sample; the Result has that network's digest. There is no fallback.

    With delta encoding the chip runs Lava's sigma-delta neurons, as the stock graph does (ir/stock_delta.py).

    `timeout` is the number of seconds without a finished sample after which the job is stopped (default: FSNN_TIMEOUT, or 600).
    `profile` names a JSON file for the measurements of the vendor's profilers (default: FSNN_PROFILE, or none).
    `partition`, `board`, `address` and `generation` select the board (default: PARTITION, BOARD, NXSDKHOST and LOIHI_GEN).
    """
    require_backend("loihi2")
    patience = _seconds(timeout)
    profile = profile or os.environ.get(PROFILE_VARIABLE)
    network, _ = stock_equivalent(chip)
    reasons = obstacles(chip)
    if reasons:
        raise BadNetwork(f"the chip cannot run this network: {reasons[0]}")
    for risk in possible_obstacles(chip, steps=steps):
        print(f"loihi2: {risk}", file=sys.stderr)
    job = ChipJob(
        steps=chip.steps if steps is None else steps,
        spikes=spikes,
        partition=partition,
        board=board,
        address=address,
        generation=generation,
        profile=profile is not None,
    )
    with tempfile.TemporaryDirectory(prefix="fsnn-loihi2-") as name:
        folder = Path(name)
        write_job(folder, job, network, values)
        _execute(folder, len(values), patience)
        if profile is not None:
            _keep_profile(folder, Path(profile))
        return read_result(folder, network, job.steps)


def _seconds(timeout: float | None) -> float:
    given = os.environ.get(TIMEOUT_VARIABLE, "600") if timeout is None else timeout
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise BadArgument(f"the timeout ({TIMEOUT_VARIABLE}) must be a positive number of seconds, got {given!r}")
    return seconds


def _execute(folder: Path, samples: int, timeout: float) -> None:
    """Run the job in a separate process; raise if it fails or hangs. In either case, none of its processes is left running."""
    command = [sys.executable, "-m", "fsnn_lava.backends.lava.loihi2.worker", str(folder)]
    with open(folder / "log.txt", "w", encoding="utf-8") as log:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, start_new_session=True, env=_environment())
    lines: queue.Queue[str] = queue.Queue()
    threading.Thread(target=_read_lines, args=(process, lines), daemon=True).start()
    done, waited = 0, 0.0
    try:
        while not (process.poll() is not None and lines.empty()):
            try:
                line = lines.get(timeout=_POLL)
            except queue.Empty:
                waited += _POLL
                if waited >= timeout:
                    raise BackendFailed(_no_answer(folder, timeout, done, samples)) from None
                continue
            before, done = done, _count(line, done)
            waited = 0.0 if done > before else waited
        _check_end(process.wait(timeout=_GRACE), folder, done, samples)
    except subprocess.TimeoutExpired:
        raise BackendFailed(f"backend 'loihi2': the job did not end; its last message was: {_last_message(folder)}") from None
    finally:
        _end(process)


def _no_answer(folder: Path, timeout: float, done: int, samples: int) -> str:
    return (
        f"backend 'loihi2': no answer for {timeout:g} s after sample {done} of {samples}, so the job was stopped; "
        f"its last message was: {_last_message(folder)}. Check whether the board is busy (squeue) and the network fits (fsnn-map), "
        f"or raise {TIMEOUT_VARIABLE}"
    )


def _environment() -> dict[str, str]:
    """Return this process's environment, with the folder from which this package was imported on the path."""
    root = str(Path(__file__).resolve().parents[4])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))}


def _read_lines(process: subprocess.Popen[str], lines: queue.Queue[str]) -> None:
    if process.stdout is not None:
        for line in process.stdout:
            lines.put(line)


def _count(line: str, done: int) -> int:
    """Return the number of samples done after this line: "sample k" counts, "note …" goes to the user, vendor output is ignored."""
    words = line.split(maxsplit=1)
    if words[:1] == ["note"]:
        print(f"loihi2: {words[1].strip()}", file=sys.stderr)
    if len(words) != 2 or words[0] != "sample":
        return done
    return int(words[1])


def _check_end(code: int, folder: Path, done: int, samples: int) -> None:
    if code == 0:
        return
    error = folder / "error.json"
    if error.is_file():
        said = json.loads(error.read_text(encoding="utf-8"))
        raise _ERRORS.get(said["kind"], BackendFailed)(said["message"])
    how = f"was killed by signal {-code} ({signal.Signals(-code).name})" if code < 0 else f"ended with code {code}"
    raise BackendFailed(f"backend 'loihi2': the job {how} after sample {done} of {samples}; its last message was: {_last_message(folder)}")


def _last_message(folder: Path) -> str:
    try:
        lines = [line.strip() for line in (folder / "log.txt").read_text(encoding="utf-8", errors="replace").splitlines() if line.strip()]
    except OSError:
        lines = []
    return lines[-1] if lines else "none"


def _end(process: subprocess.Popen[str]) -> None:
    """End the job's whole session, including Lava's forked processes; SIGTERM comes first, so that their shared memory is freed."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            deadline = time.monotonic() + _GRACE
            while time.monotonic() < deadline:
                process.poll()
                os.killpg(process.pid, 0)
                time.sleep(0.05)
        except (ProcessLookupError, PermissionError):
            break
    process.wait()


def _keep_profile(folder: Path, target: Path) -> None:
    from fsnn_lava.files.atomic import atomic_path

    found: dict[str, Any] = json.loads((folder / "profile.json").read_text(encoding="utf-8"))
    with atomic_path(target) as temporary:
        temporary.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
