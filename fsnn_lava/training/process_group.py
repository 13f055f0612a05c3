"""The process group that trains one network together, and sums over it. A single process has size 1 and sends nothing."""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections import deque
from collections.abc import Iterator
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor

from fsnn_lava.errors import BackendFailed, BackendMissing, BadArgument
from fsnn_lava.training.processes import Processes

PATIENCE = timedelta(minutes=10)  # how long one process waits for another

# gloo's threads release a message a moment after it was delivered. If they held the last reference, they would need the interpreter lock to
# free it, while a process that leaves the group holds the interpreter lock and waits for these threads. Keeping a reference avoids that.
_SENT: deque[Tensor] = deque(maxlen=4)


@dataclasses.dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together, and the device of each; every sum is bit-identical on all of them."""

    processes: Processes = dataclasses.field(default_factory=Processes)
    device: torch.device = dataclasses.field(default_factory=lambda: torch.device("cpu"))

    @property
    def rank(self) -> int:
        """Number of this process, from 0."""
        return self.processes.rank

    @property
    def size(self) -> int:
        """Number of processes."""
        return self.processes.size

    @property
    def first(self) -> bool:
        """Whether this is the process that writes the files and reports."""
        return self.processes.first

    def share(self, samples: int) -> slice:
        """Return this process's part of a joint batch."""
        return slice(*self.processes.share(samples))

    def total(self, value: Tensor) -> Tensor:
        """Return the sum of `value` over all processes, as a new tensor."""
        result = value.detach().clone(memory_format=torch.contiguous_format)
        if self.size > 1:
            with _reporting_lost_processes():
                dist.all_reduce(result)
            _SENT.append(result)
        return result

    def copy_from_first(self, *tensors: Tensor) -> None:
        """Overwrite the tensors of every process with those of the first."""
        if self.size > 1:
            with _reporting_lost_processes():
                for tensor in tensors:
                    dist.broadcast(tensor, 0)


@contextlib.contextmanager
def _reporting_lost_processes() -> Iterator[None]:
    """Report a message that cannot be delivered as the death of another process."""
    try:
        yield
    except RuntimeError as error:
        raise BackendFailed("another process of this job has died") from error


@contextlib.contextmanager
def process_group(device: str = "cpu") -> Iterator[ProcessGroup]:
    """Join the processes that the launcher started, and leave them at the end; without a launcher, there is only this process."""
    processes = Processes.from_environment()
    place = _torch_device(device)
    if processes.size == 1:
        yield ProcessGroup(processes, place)
        return
    if "MASTER_ADDR" not in os.environ or "MASTER_PORT" not in os.environ:
        raise BadArgument(
            f"{processes.size} processes were started, but MASTER_ADDR and MASTER_PORT, which they use to find each other, are not set; "
            f"start training with torchrun, or export both"
        )
    backend = "nccl" if place.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=PATIENCE, rank=processes.rank, world_size=processes.size)
    try:
        yield ProcessGroup(processes, place)
    finally:
        with contextlib.suppress(RuntimeError):  # the others may already have ended
            dist.destroy_process_group()


def _torch_device(device: str) -> torch.device:
    if device == "cpu":
        return torch.device("cpu")
    if device != "cuda":
        raise BadArgument(f"--device must be cpu or cuda, got {device!r}")
    if not torch.cuda.is_available():
        raise BackendMissing("torch finds no CUDA device here; train with --device cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
