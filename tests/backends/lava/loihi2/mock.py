"""Start Python with the mock vendor's package and commands: the tests' own process never sees them."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[3]
_OURS = ("SLURM", "NOSLURM", "BOARD", "PARTITION", "LOIHI_GEN", "NXSDKHOST")


def mock_environment(*, commands: bool = True, **environment: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if name not in _OURS}
    clean["PYTHONPATH"] = f"{ROOT}:{HERE / 'vendor'}"
    clean["PATH"] = f"{HERE / 'bin'}:/usr/bin:/bin" if commands else str(HERE)
    return {**clean, "OMP_NUM_THREADS": "1", **environment}


def run_python(*arguments: str, timeout: float = 280.0, commands: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run it in a session of its own; nothing of it is left afterwards."""
    command = [sys.executable, "-W", "ignore", *arguments]
    process = subprocess.Popen(
        command,
        env=mock_environment(commands=commands, **environment),
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, error = process.communicate(timeout=timeout)
        return subprocess.CompletedProcess(command, process.returncode, out, error)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
