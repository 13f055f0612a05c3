"""Result: the outcome of a run of a ChipNetwork, the same for every backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.limits import STATE_FRACTION_BITS

Arrays = tuple[NDArray[Any], ...]

_PER_SAMPLE = ("readout", "clip_count", "operations", "updates", "residual")
_PER_SAMPLE_TUPLES = ("counts", "traces", "late", "late_traces", "potentials", "clipped", "spikes")


@dataclass(frozen=True, kw_only=True, eq=False)
class Result:
    """Counts, potentials and answers of B samples over T steps, each layer in its own time tau = 1 … T.

    Not checked here: backends create it, and readers of files check it.
    """

    backend: str  # "emu", "sim" or "loihi2"
    graph: str = ""  # "", "batched" or "stock": which Lava processes
    steps: int  # T
    digest: str  # of the ChipNetwork
    weight_sum: float  # chip.weight_sum(steps): the denominator of a rate (E3)
    readout_scale: float  # chip.readout.scale
    counts: Arrays  # int32 [B, *shape] per layer: spikes in the window
    traces: Arrays  # float64 [B, *shape] per layer: trace <- trace * lambda + s at every step
    late: Arrays  # int32 [B, *source shape] per feedback synapse: spikes that had not arrived at the end
    late_traces: Arrays  # float64, the same weighted by lambda**(T - tau)
    potentials: Arrays  # int32 [B, *shape] per layer: u at the end, units 2**-6
    readout: NDArray[np.int32]  # [B, classes] at the end, units 2**-6
    clipped: Arrays  # uint8 [B, *shape] per layer: bit 0 was clipped at the bottom, bit 1 at the top
    clip_count: NDArray[np.int64]  # [B, layers + 1], the last is the readout
    operations: NDArray[np.int64]  # [B] synaptic operations: weights touched by a spike or a non-zero message
    updates: NDArray[np.int64]  # [B] neuron updates
    spikes: Arrays | None = None  # uint8 [B, T, *shape] per layer, on request
    residual: NDArray[np.float64] | None = None  # [B, T] ||f(a[t]) - a[t]|| after every step (E11), on request
    seconds: float = 0.0  # wall-clock time of the run itself

    @property
    def samples(self) -> int:
        return int(self.readout.shape[0])

    @property
    def rates(self) -> tuple[NDArray[np.float64], ...]:
        """(Weighted) spikes per step (E3), [B, *shape] per layer."""
        return tuple(trace / self.weight_sum for trace in self.traces)

    @property
    def logits(self) -> NDArray[np.float64]:
        """[B, classes] in the float network's units: the (weighted) average input of the readout per step."""
        return self.readout * (self.readout_scale / 2**STATE_FRACTION_BITS / self.weight_sum)

    @property
    def predictions(self) -> NDArray[np.int64]:
        """[B] the class with the largest readout potential; the first of equals."""
        return np.argmax(self.readout, axis=1).astype(np.int64)

    def part(self, which: slice) -> Result:
        """The Result of these samples only, with their share of the time."""
        changes: dict[str, Any] = {name: array[which] for name in _PER_SAMPLE if (array := getattr(self, name)) is not None}
        changes["seconds"] = self.seconds * len(changes["readout"]) / max(1, self.samples)
        for name in _PER_SAMPLE_TUPLES:
            arrays = getattr(self, name)
            changes[name] = None if arrays is None else tuple(array[which] for array in arrays)
        return replace(self, **changes)


def concatenate(results: Sequence[Result]) -> Result:
    """One Result of all samples, in order. All parts must come from the same network, backend and number of steps."""
    if not results:
        raise BadArgument("concatenate needs at least one result, got none")
    first = results[0]
    for name in ("backend", "graph", "steps", "digest"):
        found = {getattr(result, name) for result in results}
        if len(found) > 1:
            raise BadArgument(f"results to concatenate must share one {name}, got {sorted(map(str, found))}")
    if len(results) == 1:
        return first
    values: dict[str, Any] = {f.name: getattr(first, f.name) for f in fields(first)}
    for name in _PER_SAMPLE:
        arrays = [getattr(result, name) for result in results]
        values[name] = None if any(array is None for array in arrays) else np.concatenate(arrays)
    for name in _PER_SAMPLE_TUPLES:
        parts = [getattr(result, name) for result in results]
        values[name] = None if any(part is None for part in parts) else tuple(np.concatenate(layer) for layer in zip(*parts, strict=True))
    values["seconds"] = float(sum(result.seconds for result in results))
    return Result(**values)
