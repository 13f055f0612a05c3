"""Check Lava's requirements, report any that are missing, and import it. Importing this module does not import Lava."""

from __future__ import annotations

import importlib
import importlib.util
import multiprocessing
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fsnn_lava.errors import BackendMissing
from fsnn_lava.lava_compat import imported_too_early

LAVA = "lava-nc 0.10.0"
LAVA_IMPORTS = ("scipy", "networkx", "asteval")  # what Lava's modules import besides numpy
INSTALL_LAVA = "fsnn-doctor --install-lava"
PYTHONS = ((3, 10), (3, 13))  # oldest and newest version that Lava was tested on
RUNTIME = "lava.magma.runtime.message_infrastructure.multiprocessing"  # the module of Lava that sets the start method


def missing_lava_requirements() -> tuple[str, ...]:
    """Return the requirements for running Lava processes that this machine lacks, one phrase each; empty if none."""
    missing = [*missing_machine_requirements()]
    if not has_required_lava_part("magma"):
        missing.append(f"{LAVA} ({INSTALL_LAVA} installs it)")
    elif unmet := lava_requirements_missing(*LAVA_IMPORTS):
        missing.append(f"{' and '.join(unmet)}, which Lava imports ({INSTALL_LAVA} installs what it needs)")
    if sys.platform.startswith("linux") and not os.access("/dev/shm", os.W_OK):
        missing.append("a writable /dev/shm (Lava's channels use shared memory)")
    return tuple(missing)


def missing_machine_requirements() -> tuple[str, ...]:
    """Return Lava's unmet requirements that pip cannot install: a supported Python, and Linux."""
    lacking = []
    version, (oldest, newest) = sys.version_info[:2], PYTHONS
    if not oldest <= version <= newest:
        lacking.append(f"Python {_dotted(oldest)} to {_dotted(newest)} (Lava was not tested on {_dotted(version)})")
    if not sys.platform.startswith("linux"):
        lacking.append(f"Linux (Lava forks its processes; this is {sys.platform})")
    return tuple(lacking)


def lava_requirements_missing(*names: str) -> tuple[str, ...]:
    """Return the required packages among `names` that are not installed, one phrase each."""
    return tuple(f"the package {name}" for name in names if importlib.util.find_spec(name) is None)


def has_required_lava_part(name: str) -> bool:
    """Return whether the required lava/<name> exists, as a folder or a module; the package `lava` may be spread over several folders."""
    spec = importlib.util.find_spec("lava")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    return any((folder / name).is_dir() or any((folder / name).parent.glob(f"{Path(name).name}.*")) for folder in folders)


def require_lava() -> None:
    """Import Lava, even if the program has already used multiprocessing; raise BackendMissing, which says what to install or change.

    Lava sets multiprocessing's start method while it is imported, which Python does not allow once the program has used multiprocessing.
    """
    if lacking := missing_machine_requirements():
        raise BackendMissing(f"backend 'sim' cannot run here; missing: {'; '.join(lacking)}. Use backend 'emu'")
    chosen = multiprocessing.get_start_method(allow_none=True)
    if chosen not in (None, "fork"):
        raise BackendMissing(
            f"backend 'sim' needs multiprocessing's start method 'fork', but the program has chosen {chosen!r}; "
            "call multiprocessing.set_start_method('fork', force=True) first"
        )
    if sentence := imported_too_early():
        raise BackendMissing(f"backend 'sim' cannot run: {sentence}")
    with _start_method_fixed(chosen is not None):
        try:
            importlib.import_module(RUNTIME)
        except ImportError as error:
            raise BackendMissing(
                f"backend 'sim' needs {LAVA}, which cannot be imported here ({error}); run {INSTALL_LAVA}, or use backend 'emu'"
            ) from error


@contextmanager
def _start_method_fixed(fixed: bool) -> Iterator[None]:
    """Ignore attempts to set the start method inside the block if it is already set."""
    if not fixed:
        yield
        return
    original = multiprocessing.set_start_method
    multiprocessing.set_start_method = lambda method, force=False: None  # type: ignore[assignment]
    try:
        yield
    finally:
        multiprocessing.set_start_method = original


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(n) for n in version)
