"""Import Lava, or say in one sentence why it is not available here."""

from __future__ import annotations

import importlib
import multiprocessing
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from fsnn_lava.backends.availability import INSTALL_LAVA, LAVA
from fsnn_lava.errors import BackendMissing
from fsnn_lava.lava_compat import imported_too_early

RUNTIME = "lava.magma.runtime.message_infrastructure.multiprocessing"  # the module of Lava that sets the start method


def require_lava() -> None:
    """Afterwards Lava is imported, whoever used multiprocessing before; else BackendMissing says what to install or to change.

    Lava sets multiprocessing's start method while it is imported, which Python refuses once anybody has used multiprocessing.
    """
    if not sys.platform.startswith("linux"):
        raise BackendMissing(f"backend 'sim' runs Lava processes, which need Linux (fork), this is {sys.platform}; use backend 'emu'")
    chosen = multiprocessing.get_start_method(allow_none=True)
    if chosen not in (None, "fork"):
        raise BackendMissing(
            f"backend 'sim' needs multiprocessing's start method 'fork', the program has chosen {chosen!r}; "
            "call multiprocessing.set_start_method('fork', force=True) first"
        )
    if sentence := imported_too_early():
        raise BackendMissing(f"backend 'sim' cannot run: {sentence}")
    with _start_method_settled(chosen is not None):
        try:
            importlib.import_module(RUNTIME)
        except ImportError as error:
            raise BackendMissing(
                f"backend 'sim' needs {LAVA}, which cannot be imported here ({error}); run {INSTALL_LAVA}, or use backend 'emu'"
            ) from error


@contextmanager
def _start_method_settled(settled: bool) -> Iterator[None]:
    """While it lasts, choosing 'fork' once more does no harm."""
    if not settled:
        yield
        return
    original = multiprocessing.set_start_method
    multiprocessing.set_start_method = lambda method, force=False: None  # type: ignore[assignment]
    try:
        yield
    finally:
        multiprocessing.set_start_method = original
