"""Install Lava into this environment, pinned by version and hash, and check that it works. Nothing of Lava is imported here.

Lava's metadata admits Python 3.10 only, so above that it cannot be an ordinary dependency of this package.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import shlex
import subprocess
import sys
from pathlib import Path

from fsnn_lava.errors import BackendMissing, BadArgument, CheckFailed

PINS = Path(__file__).parent / "pins" / "lava-nc.txt"
PYTHONS = ((3, 10), (3, 13))  # the first and the last that Lava runs on with fsnn-lava
CHECK_SECONDS = 300


def pinned() -> tuple[str, str]:
    """Name and version of the Lava this package works with: ("lava-nc", "0.10.0")."""
    line = next(line for line in PINS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    name, _, version = line.split()[0].partition("==")
    return name, version


def installed() -> str | None:
    """The version of Lava in this environment, or None."""
    try:
        return importlib.metadata.version(pinned()[0])
    except importlib.metadata.PackageNotFoundError:
        return None


def command() -> list[str]:
    """The pip command that installs it into the environment of this interpreter."""
    options = ["--no-deps", "--ignore-requires-python", "--require-hashes"]
    return [sys.executable, "-m", "pip", "install", *options, "-r", str(PINS)]


def install(*, yes: bool) -> None:
    """Print the command, ask unless `yes`, run it; afterwards Lava is installed, or an error says why not."""
    _require_machine()
    name, version = pinned()
    there = installed()
    print(f"{name} {there} is installed, {version} is needed." if there else f"{name} {version} is not installed.")
    print(f"This installs it:\n  {shlex.join(command())}", flush=True)
    if not yes and not _confirmed():
        raise BackendMissing(f"nothing was installed; backend 'sim' cannot run without {name} {version}")
    if subprocess.run(command(), check=False).returncode != 0:
        raise BackendMissing(
            f"pip could not install {name} {version} (above). It needs a package index; without one, copy the wheel here and run the "
            "command above with --no-index --find-links FOLDER"
        )


def verify() -> str:
    """Run a network of two neurons as Lava processes in a process of its own; a sentence about it, or an error."""
    try:
        done = subprocess.run([sys.executable, "-m", "fsnn_lava.lava_check"], capture_output=True, text=True, timeout=CHECK_SECONDS)
    except subprocess.TimeoutExpired:
        raise CheckFailed(f"Lava is installed, but a network of two neurons did not finish in {CHECK_SECONDS} s") from None
    if done.returncode == 0:
        return done.stdout.strip().splitlines()[-1]
    said = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    leaf = BackendMissing if done.returncode == BackendMissing.exit_code else CheckFailed
    raise leaf(f"Lava is installed, but a network of two neurons did not run: {said}")


def _require_machine() -> None:
    first, last = PYTHONS
    if not first <= sys.version_info[:2] <= last:
        raise BackendMissing(
            f"Lava runs on Python {_series(first)} to {_series(last)} with fsnn-lava, this is {_series(sys.version_info[:2])}: "
            "make an environment with one of those and install fsnn-lava there"
        )
    if not sys.platform.startswith("linux"):
        raise BackendMissing(f"Lava's processes need Linux (fork), this is {sys.platform}; use backend 'emu'")
    if importlib.util.find_spec("pip") is None:
        raise BackendMissing(f"{sys.executable} has no pip to install Lava with: run {sys.executable} -m ensurepip, then this again")


def _series(version: tuple[int, ...]) -> str:
    return ".".join(map(str, version))


def _confirmed() -> bool:
    if sys.stdin is None or not sys.stdin.isatty():
        raise BadArgument("nobody can answer here, standard input is not a terminal: add --yes to run the command above")
    try:
        return input("Run it? [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False
