"""The processes of one job: which one this is, and which samples are its share.

Each process learns this from torchrun (RANK, WORLD_SIZE) or srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from fsnn_lava.errors import BadArgument

_TOKEN_NAMES = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "SLURM_STEP_ID")
_RESTART_NAMES = ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")


@dataclass(frozen=True)
class Processes:
    """This process, number `rank` of `size`; `token` is the same for all processes of a job and differs between jobs."""

    rank: int = 0
    size: int = 1
    token: str = ""
    restarted: bool = False  # torchrun or SLURM started the same command again after a failure

    @property
    def first(self) -> bool:
        """Whether this is the process that writes the shared files and reports."""
        return self.rank == 0

    def share(self, samples: int) -> tuple[int, int]:
        """Return the first and the end of this process's contiguous samples; shares differ in size by at most one sample."""
        return samples * self.rank // self.size, samples * (self.rank + 1) // self.size

    @staticmethod
    def from_environment() -> Processes:
        """Read the processes from the launcher's environment variables; a process without a launcher has size 1."""
        names = ("RANK", "WORLD_SIZE") if "WORLD_SIZE" in os.environ else ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
        rank, size = (os.environ.get(name, default) for name, default in zip(names, ("0", "1"), strict=True))
        if not (rank.isdigit() and size.isdigit() and int(rank) < int(size)):
            raise BadArgument(
                f"the environment must give this process a rank below the number of processes, got {names[0]}={rank}, {names[1]}={size}; "
                f"start it with torchrun or srun, or unset both"
            )
        token = re.sub(r"[^A-Za-z0-9_]", "_", "-".join(os.environ[name] for name in _TOKEN_NAMES if name in os.environ)) or "run"
        restarted = any(os.environ.get(name, "0") not in ("", "0") for name in _RESTART_NAMES)
        return Processes(int(rank), int(size), token, restarted)
