"""Choose the host of a board, a SLURM queue or a network address, from arguments or the environment, and open it with lava.utils.loihi."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from fsnn_lava.errors import BackendMissing, BadArgument

DEFAULT_GENERATION = "N3B3"  # used by most INRC systems, according to lava.utils.loihi


@dataclass(frozen=True, kw_only=True)
class Host:
    """The host of a board: "slurm" allocates `board` or any board of `partition`, "ethernet" connects to `address`."""

    kind: Literal["slurm", "ethernet"]
    generation: str = DEFAULT_GENERATION
    partition: str | None = None
    board: str | None = None
    address: str | None = None

    def __str__(self) -> str:
        if self.kind == "ethernet":
            return f"host {self.address} ({self.generation})"
        where = f"board {self.board}" if self.board else f"partition {self.partition}" if self.partition else "any board"
        return f"SLURM, {where} ({self.generation})"


def choose_host(
    *,
    partition: str | None = None,
    board: str | None = None,
    address: str | None = None,
    generation: str | None = None,
    environment: Mapping[str, str] = os.environ,
) -> Host:
    """Return the requested host; missing arguments are taken from BOARD, PARTITION, NXSDKHOST and LOIHI_GEN."""
    given = partition or board or address
    partition = partition or (None if given else environment.get("PARTITION"))
    board = board or (None if given else environment.get("BOARD"))
    address = address or (None if given else environment.get("NXSDKHOST"))
    if board:
        partition = None  # Lava accepts only one of the two, and a board belongs to one partition
    if address and (partition or board) and given:
        raise BadArgument(f"give a host address or a SLURM board, not both: got {address!r} and {partition or board!r}")
    generation = (generation or environment.get("LOIHI_GEN") or DEFAULT_GENERATION).upper()
    _check_generation(generation)
    by_queue = partition or board or (not address and "NOSLURM" not in environment)
    if address and not (partition or board):
        return Host(kind="ethernet", generation=generation, address=address)
    if by_queue:
        return Host(kind="slurm", generation=generation, partition=partition, board=board)
    raise BackendMissing("backend 'loihi2': NOSLURM is set and NXSDKHOST is not; set NXSDKHOST to the address of the board's host")


def _check_generation(generation: str) -> None:
    from lava.utils.loihi import ChipGeneration

    names = [member.value for member in ChipGeneration]
    if generation not in names:
        raise BadArgument(f"chip generation (LOIHI_GEN) must be one of {', '.join(names)}, got {generation!r}")
    if generation.startswith("N2"):
        raise BackendMissing(
            f"backend 'loihi2' needs a Loihi 2, but generation {generation} (LOIHI_GEN) is Loihi 1: use {', '.join(names[1:])}"
        )


def open_host(host: Host) -> None:
    """Make Lava send its jobs to this host; raise BackendMissing with the reply from SLURM or the network if it cannot."""
    from lava.utils import loihi

    generation = loihi.ChipGeneration(host.generation)
    try:
        if host.kind == "ethernet":
            loihi.use_ethernet_host(host_address=str(host.address), loihi_gen=generation)
        else:
            _check_queue(host)
            loihi.use_slurm_host(loihi_gen=generation)
            os.environ.update({name: value for name, value in (("BOARD", host.board), ("PARTITION", host.partition)) if value})
    except ImportError as error:
        raise BackendMissing("backend 'loihi2' needs lava-loihi, Intel's extension for members of the INRC (deploy/README.md)") from error
    except FileNotFoundError as error:
        raise BackendMissing(f"backend 'loihi2': the command {error.filename!r} was not found on this machine; {_hint(host)}") from error
    except ValueError as error:
        raise BackendMissing(f"backend 'loihi2': {host} cannot be used: {str(error).rstrip('.')}; {_hint(host)}") from error


def _check_queue(host: Host) -> None:
    """Raise ValueError unless SLURM lists the board or partition as up. Lava 0.10.0's own check fails on the empty last line of sinfo."""
    from lava.utils import slurm

    if not (host.board or host.partition):
        return
    lines = [line.split() for line in slurm.try_run_command(["sinfo", "-N"])[1:] if line.strip()]
    nodes = [(fields[0], fields[2].rstrip("*"), fields[3]) for fields in lines if len(fields) >= 4]
    wanted = [node for node in nodes if host.board in (None, node[0]) and host.partition in (None, node[1])]
    known = ", ".join(f"{name} ({partition}, {state})" for name, partition, state in nodes) or "no boards"
    if not wanted:
        raise ValueError(f"SLURM lists {known}")
    if all("down" in state or "drain" in state for _, _, state in wanted):
        raise ValueError(f"it is down; SLURM lists {known}")


def _hint(host: Host) -> str:
    if host.kind == "ethernet":
        return "check NXSDKHOST and that the board is switched on"
    return "run sinfo to see the boards, then set BOARD or PARTITION (or NXSDKHOST for a board without SLURM)"
