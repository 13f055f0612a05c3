"""Install Lava into this environment, pinned by version and hash, and check that it works. Lava is not imported here.

Lava's metadata allows only Python 3.10, so on newer Pythons it cannot be an ordinary dependency of this package.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import shlex
import signal
import subprocess
import sys

from fsnn_lava.backends.lava import lava_version
from fsnn_lava.backends.lava.requirement import LAVA_IMPORTS, missing_machine_requirements
from fsnn_lava.errors import BackendMissing, BadArgument, CheckFailed

CHECK_SECONDS = 300


def _pip_commands() -> list[list[str]]:
    """Return the pip commands that install what is missing in this interpreter's environment; empty if nothing is missing."""
    pip = [sys.executable, "-m", "pip", "install"]
    missing = [name for name in LAVA_IMPORTS if importlib.util.find_spec(name) is None]
    wanted = (
        [[*pip, "--no-deps", "--ignore-requires-python", "--require-hashes", "-r", str(lava_version.PINS)]]
        if lava_version.installed_lava_version() != lava_version.pinned_lava_version()[1]
        else []
    )
    return wanted + ([[*pip, *missing]] if missing else [])


def install_lava(*, yes: bool) -> None:
    """Install Lava: print the pip commands, ask unless `yes`, and run them. Raises BackendMissing if Lava is not installed afterwards."""
    _require_machine()
    wanted = _pip_commands()
    if not wanted:
        return
    if importlib.util.find_spec("pip") is None:
        raise BackendMissing(
            f"{sys.executable} has no pip, which is needed to install Lava: run {sys.executable} -m ensurepip, then try again"
        )
    print("\n  ".join(["These commands install what is missing:", *map(shlex.join, wanted)]), flush=True)
    if not yes and not _confirmed():
        raise BackendMissing("nothing was installed; backend 'sim' cannot run without Lava")
    for command in wanted:
        if subprocess.run(command, check=False).returncode != 0:
            raise BackendMissing(
                "pip failed (see above). pip needs a package index; without one, copy the wheels here and run the same "
                "command with --no-index --find-links FOLDER"
            )


def verify_lava_install() -> str:
    """Verify the Lava installation by running the self-check in a separate process; returns a sentence on the result, or raises."""
    code, out, err = _run_check()
    if code == 0:
        return out.strip().splitlines()[-1]
    said = (err.strip().splitlines() or [f"exit code {code}"])[-1]
    leaf = BackendMissing if code == BackendMissing.exit_code else CheckFailed
    raise leaf(f"Lava is installed, but a test network of two neurons failed to run: {said}")


def _run_check() -> tuple[int, str, str]:
    """Return the exit code, stdout and stderr of fsnn_lava.backends.lava.self_check, leaving none of its processes running."""
    check = [sys.executable, "-m", "fsnn_lava.backends.lava.self_check"]
    with subprocess.Popen(check, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        try:
            out, err = process.communicate(timeout=CHECK_SECONDS)
        except BaseException as error:
            os.killpg(process.pid, signal.SIGKILL)
            if not isinstance(error, subprocess.TimeoutExpired):
                raise
            raise CheckFailed(f"Lava is installed, but a test network of two neurons did not finish within {CHECK_SECONDS} s") from None
    return process.returncode, out, err


def _require_machine() -> None:
    if lacking := missing_machine_requirements():
        raise BackendMissing(
            f"Lava cannot run here; it needs {'; '.join(lacking)}. Install fsnn-lava in such an environment, or use backend 'emu'"
        )


def _confirmed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadArgument("cannot ask for confirmation because standard input is not a terminal: add --yes")
    try:
        return input("Run it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
