"""Which backends there are, and what each of them lacks on this machine. Nothing of Lava is imported to find out."""

from __future__ import annotations

import importlib.util
import os
import shutil
import sys
from pathlib import Path

from fsnn_lava.errors import BackendMissing, BadArgument

BACKENDS = {
    "emu": "the emulator: the chip's integers, event by event",
    "sim": "Lava processes on the CPU",
    "loihi2": "the chip",
}
LAVA = "lava-nc 0.10.0"
LAVA_IMPORTS = ("scipy", "networkx", "asteval")  # what Lava's modules import beside numpy
INSTALL_LAVA = "fsnn-doctor --install-lava"
PYTHONS = ((3, 10), (3, 13))  # the oldest and the newest that Lava was tested on
VENDOR = "lava-loihi (Intel's extension for members of the research community INRC)"


def lacking(backend: str) -> tuple[str, ...]:
    """What has to be added before `backend` can run here, each a phrase; empty where it can run."""
    if backend not in BACKENDS:
        raise BadArgument(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend == "emu":
        return _modules("numpy", "numba")
    if backend == "sim":
        return _lava()
    return _lava() + _vendor() + _host()


def require(backend: str) -> None:
    """Return if `backend` can run here; otherwise say what it lacks."""
    missing = lacking(backend)
    if missing:
        raise BackendMissing(f"backend {backend!r} cannot run here, it lacks: {'; '.join(missing)}. fsnn-doctor shows which backends can")


def _modules(*names: str) -> tuple[str, ...]:
    return tuple(f"the package {name}" for name in names if importlib.util.find_spec(name) is None)


def _lava() -> tuple[str, ...]:
    missing = []
    version, (oldest, newest) = sys.version_info[:2], PYTHONS
    if not oldest <= version <= newest:
        missing.append(f"Python {_dotted(oldest)} to {_dotted(newest)} (Lava was not tested on {_dotted(version)})")
    if not _lava_file("magma"):
        missing.append(f"{LAVA} ({INSTALL_LAVA} installs it)")
    elif unmet := _modules(*LAVA_IMPORTS):
        missing.append(f"{' and '.join(unmet)}, which Lava imports ({INSTALL_LAVA} installs what it needs)")
    if not sys.platform.startswith("linux"):
        missing.append(f"Linux (Lava's processes are forked; this is {sys.platform})")
    elif not os.access("/dev/shm", os.W_OK):
        missing.append("a writable /dev/shm (Lava's channels lie in shared memory)")
    return tuple(missing)


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(n) for n in version)


def _vendor() -> tuple[str, ...]:
    return () if _lava_file("utils/loihi2_profiler") else (VENDOR,)


def _host() -> tuple[str, ...]:
    """A way to a board: a SLURM queue that is not switched off, or the address of a host."""
    by_queue = shutil.which("sinfo") is not None and "NOSLURM" not in os.environ
    if by_queue or os.environ.get("NXSDKHOST"):
        return ()
    return ("a board (neither SLURM's command sinfo, nor the address of a board's host in NXSDKHOST)",)


def _lava_file(name: str) -> bool:
    """Is lava/<name> installed, as a folder or as a module? `lava` may be spread over several folders."""
    spec = importlib.util.find_spec("lava")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    return any((folder / name).is_dir() or any((folder / name).parent.glob(f"{Path(name).name}.*")) for folder in folders)
