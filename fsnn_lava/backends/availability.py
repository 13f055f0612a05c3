"""Check which backends are available on this machine and what the others are missing, without importing Lava or the vendor's software."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from typing import Literal, get_args

from fsnn_lava.backends.lava.requirement import has_required_lava_part, lava_requirements_missing, missing_lava_requirements
from fsnn_lava.errors import BackendMissing, BadArgument

Backend = Literal["emu", "sim", "loihi2"]
BACKENDS: Mapping[str, str] = {
    "emu": "the emulator: the chip's integer arithmetic, event by event",
    "sim": "Lava processes on the CPU",
    "loihi2": "the chip",
}
LavaGraph = Literal["batched", "stock"]  # our own processes, or only those that Lava ships
GRAPHS: tuple[LavaGraph, ...] = get_args(LavaGraph)
VENDOR = "lava-loihi (Intel's extension for members of the research community INRC)"


def missing_for_backend(backend: str) -> tuple[str, ...]:
    """Return the requirements of `backend` that are missing here, one phrase per item; empty if it is available."""
    if backend not in BACKENDS:
        raise BadArgument(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend == "emu":
        return lava_requirements_missing("numpy", "numba")
    if backend == "sim":
        return missing_lava_requirements()
    return missing_lava_requirements() + _vendor() + _board()


def require_backend(backend: str) -> None:
    """Raise BackendMissing, naming what is missing, unless `backend` is available here."""
    missing = missing_for_backend(backend)
    if missing:
        raise BackendMissing(
            f"backend {backend!r} cannot run here; missing: {'; '.join(missing)}. Run fsnn-doctor to see which backends can"
        )


def _vendor() -> tuple[str, ...]:
    return () if has_required_lava_part("utils/loihi2_profiler") else (VENDOR,)


def _board() -> tuple[str, ...]:
    """Return what is still needed to reach a board, through an enabled SLURM queue or through the address of its host."""
    by_queue = shutil.which("sinfo") is not None and "NOSLURM" not in os.environ
    if by_queue or os.environ.get("NXSDKHOST"):
        return ()
    return ("a board (no SLURM command sinfo, and NXSDKHOST does not give the address of a board's host)",)
