"""One run on many processes or machines: each takes its share of the samples and leaves it in a file; the first joins them.

Processes are told who they are by torchrun (RANK, WORLD_SIZE) or by srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS). They share nothing but
the folder of the results.
"""

from __future__ import annotations

import json
import os
import re
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fsnn_lava.errors import BackendFailed, BadArgument
from fsnn_lava.formats.atomic import atomic_path

SILENT_SECONDS = 1800.0  # after so long without a sign of life a process is taken for dead
POLL_SECONDS = 0.2


@dataclass(frozen=True)
class Ranks:
    """This process among `size`; `token` is the same for all of one run and differs between runs."""

    rank: int = 0
    size: int = 1
    token: str = ""

    def share(self, samples: int) -> tuple[int, int]:
        """First and end of this process's samples: contiguous, as equal as can be."""
        return samples * self.rank // self.size, samples * (self.rank + 1) // self.size

    def part(self, out: Path, rank: int | None = None) -> Path:
        """Where a process leaves its share of the results."""
        return out.with_name(f".{out.name}.{self.token}.{self.rank if rank is None else rank}-of-{self.size}")

    def said(self, out: Path, rank: int | None = None) -> Path:
        """Where a process says how it went, when it is done."""
        return _beside(self.part(out, rank), "json")

    def say(self, out: Path, found: dict[str, Any]) -> None:
        with atomic_path(self.said(out)) as temporary:
            temporary.write_text(json.dumps(found), encoding="utf-8")

    def alive(self, out: Path) -> None:
        """A sign of life."""
        _beside(self.part(out), "alive").touch()

    def wait(self, out: Path) -> list[dict[str, Any]]:
        """What every process said, in order; BackendFailed if one broke off or fell silent."""
        found = []
        for rank in range(self.size):
            started = time.time()
            while not self.said(out, rank).exists():
                sign = _beside(self.part(out, rank), "alive")
                last = sign.stat().st_mtime if sign.exists() else started
                if time.time() - max(last, started) > SILENT_SECONDS:
                    raise BackendFailed(f"process {rank} of {self.size} has given no sign of life for {SILENT_SECONDS:.0f} s")
                time.sleep(POLL_SECONDS)
            found.append(json.loads(self.said(out, rank).read_text(encoding="utf-8")))
            if "error" in found[-1]:
                raise BackendFailed(f"process {rank} of {self.size} broke off: {found[-1]['error']}")
        return found

    def clean(self, out: Path) -> None:
        """Remove what the processes left for each other."""
        for rank in range(self.size):
            for path in (self.part(out, rank), self.said(out, rank), _beside(self.part(out, rank), "alive")):
                path.unlink(missing_ok=True)


def _beside(path: Path, ending: str) -> Path:
    return path.with_name(f"{path.name}.{ending}")


def ranks() -> Ranks:
    """Who this process is; alone if nobody says otherwise."""
    names = ("RANK", "WORLD_SIZE") if "WORLD_SIZE" in os.environ else ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    texts = [os.environ.get(name, default) for name, default in zip(names, ("0", "1"))]
    if not all(text.isdigit() for text in texts) or not int(texts[0]) < int(texts[1]):
        raise BadArgument(f"{names[0]}={texts[0]} and {names[1]}={texts[1]} do not say which process of how many this is")
    tokens = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "SLURM_STEP_ID")
    token = re.sub(r"[^A-Za-z0-9_]", "_", "-".join(os.environ[name] for name in tokens if name in os.environ)) or "run"
    return Ranks(int(texts[0]), int(texts[1]), token)
