"""The backends, and what each of them is missing on this machine; neither Lava nor the vendor's software is imported."""

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
    """What `backend` is missing to run here, one phrase per item; empty if it can run."""
    if backend not in BACKENDS:
        raise BadArgument(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if backend == "emu":
        return lava_requirements_missing("numpy", "numba")
    if backend == "sim":
        return missing_lava_requirements()
    return missing_lava_requirements() + _vendor() + _board()


def require_backend(backend: str) -> None:
    """Return if `backend` can run here; otherwise raise BackendMissing, which says what is missing."""
    missing = missing_for_backend(backend)
    if missing:
        raise BackendMissing(
            f"backend {backend!r} cannot run here; missing: {'; '.join(missing)}. Run fsnn-doctor to see which backends can"
        )


def _vendor() -> tuple[str, ...]:
    return () if has_required_lava_part("utils/loihi2_profiler") else (VENDOR,)


def _board() -> tuple[str, ...]:
    """What is missing to reach a board, through a SLURM queue that is not switched off or through the address of its host."""
    by_queue = shutil.which("sinfo") is not None and "NOSLURM" not in os.environ
    if by_queue or os.environ.get("NXSDKHOST"):
        return ()
    return ("a board (no SLURM command sinfo, and NXSDKHOST does not give the address of a board's host)",)
