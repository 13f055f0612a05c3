"""RunOptions: how to run a network, checked once and with every default filled in."""

from __future__ import annotations

from dataclasses import dataclass

from fsnn_lava.backends.availability import BACKENDS, GRAPHS, Backend, LavaGraph
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.run_arguments import checked_steps

BATCH_MAX = 256  # samples
EMULATOR_BATCH_BYTES = 2**26  # size of the results of one batch
LAVA_MESSAGE_NUMBERS = 2**21  # per message between two Lava processes: 8 MiB of int32


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """Where and for how long to run, and what to store; create it with `run_options`."""

    backend: Backend
    steps: int  # T
    batch: int  # the largest number of samples in one batch
    spikes: bool = False  # keep every spike train
    residual: bool = False  # compute ||f(a) - a|| after every step
    graph: LavaGraph = "batched"  # on "sim": our own Lava processes, or "stock" ones

    def __post_init__(self) -> None:
        if self.backend not in BACKENDS:
            raise BadArgument(f"backend must be one of {', '.join(BACKENDS)}, got {self.backend!r}")
        if self.graph not in GRAPHS:
            raise BadArgument(f"graph must be one of {', '.join(GRAPHS)}, got {self.graph!r}")
        if self.graph == "stock" and self.backend == "emu":
            raise BadArgument("graph 'stock' means Lava's own processes, which do not run on the emulator; use backend 'sim'")
        if self.batch < 1:
            raise BadArgument(f"batch must be at least 1, got {self.batch}")

    @property
    def executed_graph(self) -> str:
        """The `graph` in the Results: "" on the emulator, "stock" on the chip."""
        return {"emu": "", "loihi2": "stock"}.get(self.backend, self.graph)


def run_options(
    chip: ChipNetwork,
    *,
    samples: int = BATCH_MAX,
    backend: Backend = "emu",
    steps: int | None = None,
    batch: int | None = None,
    spikes: bool = False,
    residual: bool = False,
    graph: LavaGraph = "batched",
) -> RunOptions:
    """Return the options of a run; `steps` defaults to the network's own, `batch` to a size for `samples` samples in moderate memory."""
    return RunOptions(
        backend=backend,
        steps=checked_steps(chip, steps),
        batch=default_batch_option(chip, samples, backend=backend) if batch is None else batch,
        spikes=spikes,
        residual=residual,
        graph=graph,
    )


def default_batch_option(chip: ChipNetwork, samples: int, *, backend: Backend) -> int:
    """Return the default of the option `batch`: samples to run together. Lava's processes have a fixed batch size and get equal parts."""
    samples = max(1, samples)
    if backend == "sim":
        most = max(1, min(BATCH_MAX, LAVA_MESSAGE_NUMBERS // max(layer.size for layer in chip.layers)))
        return -(-samples // -(-samples // most))
    neurons = sum(layer.size for layer in chip.layers) + sum(chip.layer(s.source).size for s in chip.feedback)
    return max(1, min(BATCH_MAX, samples, EMULATOR_BATCH_BYTES // (24 * neurons)))
