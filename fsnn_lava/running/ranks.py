"""One run on many processes or machines: each takes its share of the samples. They share nothing but the folder of the results.

Processes are told who they are by torchrun (RANK, WORLD_SIZE) or by srun (SLURM_PROCID, SLURM_STEP_NUM_TASKS).
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass

from fsnn_lava.errors import BadArgument


@dataclass(frozen=True)
class Ranks:
    """This process among `size`; `token` is the same for all of one run and differs between runs."""

    rank: int = 0
    size: int = 1
    token: str = ""
    restarted: bool = False  # torchrun or SLURM started the same command once more, after it broke off

    @property
    def first(self) -> bool:
        """This process joins the shares, and talks."""
        return self.rank == 0

    def share(self, samples: int) -> tuple[int, int]:
        """First and end of this process's samples: contiguous, as equal as can be."""
        return samples * self.rank // self.size, samples * (self.rank + 1) // self.size


def ranks() -> Ranks:
    """Who this process is; alone if nobody says otherwise."""
    names = ("RANK", "WORLD_SIZE") if "WORLD_SIZE" in os.environ else ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
    texts = [os.environ.get(name, default) for name, default in zip(names, ("0", "1"))]
    if not all(text.isdigit() for text in texts) or not int(texts[0]) < int(texts[1]):
        raise BadArgument(f"{names[0]}={texts[0]} and {names[1]}={texts[1]} do not say which process of how many this is")
    tokens = ("TORCHELASTIC_RUN_ID", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "SLURM_JOB_ID", "SLURM_STEP_ID")
    token = re.sub(r"[^A-Za-z0-9_]", "_", "-".join(os.environ[name] for name in tokens if name in os.environ)) or "run"
    restarted = any(os.environ.get(name, "0") not in ("", "0") for name in ("TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT"))
    return Ranks(int(texts[0]), int(texts[1]), token, restarted)
