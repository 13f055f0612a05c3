"""The processes that train one network together: who am I, and sums over all of us. One process alone is a world too."""

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

PATIENCE = timedelta(minutes=10)  # how long one process waits for another

# The threads of gloo let go of a message a moment after it was delivered. Were they the last to hold it, they would need the
# interpreter to free it; and whoever leaves the group keeps the interpreter and waits for these threads. So messages are held on to.
_HELD: deque[Tensor] = deque(maxlen=4)


@dataclasses.dataclass(frozen=True)
class World:
    """`rank` of `size` processes; every sum below is the same number on each of them, bit for bit."""

    rank: int = 0
    size: int = 1
    device: torch.device = dataclasses.field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        """This process writes the files and talks."""
        return self.rank == 0

    def total(self, value: Tensor) -> Tensor:
        """The sum of everybody's `value`; a tensor of its own."""
        result = value.detach().clone(memory_format=torch.contiguous_format)
        if self.size > 1:
            with _company():
                dist.all_reduce(result)
            _HELD.append(result)
        return result

    def share(self, samples: int) -> slice:
        """The part of a joint batch that is this process's; parts differ by at most one sample."""
        small, extra = divmod(samples, self.size)
        first = self.rank * small + min(self.rank, extra)
        return slice(first, first + small + (self.rank < extra))

    def copy_from_first(self, *tensors: Tensor) -> None:
        """Afterwards everybody's tensors are those of the first process."""
        if self.size > 1:
            with _company():
                for tensor in tensors:
                    dist.broadcast(tensor, 0)


@contextlib.contextmanager
def _company() -> Iterator[None]:
    """A message that cannot be delivered means that another process is gone."""
    try:
        yield
    except RuntimeError as error:
        raise BackendFailed("another process of this job is gone") from error


@contextlib.contextmanager
def joined(device: str = "cpu") -> Iterator[World]:
    """The world that torchrun started this process in, left again at the end; without torchrun, this process alone."""
    size, rank = (int(os.environ.get(name, default)) for name, default in (("WORLD_SIZE", "1"), ("RANK", "0")))
    place = _place(device)
    if size == 1:
        yield World(device=place)
        return
    dist.init_process_group("nccl" if place.type == "cuda" else "gloo", timeout=PATIENCE)
    try:
        yield World(rank, size, place)
    finally:
        with contextlib.suppress(RuntimeError):  # the others may be gone already
            dist.destroy_process_group()


def _place(device: str) -> torch.device:
    if device == "cpu":
        return torch.device("cpu")
    if device != "cuda":
        raise BadArgument(f"--device must be cpu or cuda, got {device!r}")
    if not torch.cuda.is_available():
        raise BackendMissing("torch finds no CUDA device here; train with --device cpu")
    return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
