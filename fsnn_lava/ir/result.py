"""The Result of running a ChipNetwork, in the same form for every backend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.result_summary import result_line, result_summary
from fsnn_lava.limits import STATE_FRACTION_BITS

Arrays = tuple[NDArray[Any], ...]

_PER_SAMPLE = ("readout", "clip_count", "operations", "updates", "residual", "messages", "cycles")
_PER_SAMPLE_TUPLES = ("counts", "traces", "late", "late_traces", "potentials", "clipped", "spikes")


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Result:
    """The outcome of a run: B samples over T steps, each layer in its own time tau = 1 … T.

    With delta encoding (E14) a message is a change of a rate: `counts` are messages, `traces` the rates that were sent and `late` the
    changes in flight, in units of 2**-q, `potentials` the sums S, and `readout` has no fraction bits.

    `run` returns one. Backends fill it in, and nothing is checked here, so do not rely on it until `compare` has checked it.
    Tuples have one array per layer, or per feedback connection where noted.

    Attributes:
        backend: "emu", "sim" or "loihi2".
        graph: which Lava processes ran: "batched" or "stock"; "" on the emulator.
        steps: T.
        digest: digest of the ChipNetwork that ran.
        weight_sum: what a trace is divided by to get a rate (E3).
        readout_scale: one weight unit of the readout in units of the float network's logits.
        counts: int32 [B, *shape] per layer: spikes in the T steps.
        traces: float64 [B, *shape] per layer: trace <- trace * lambda + spike at every step.
        late: int32 [B, *source shape] per feedback connection: spikes that had not arrived when the run ended.
        late_traces: float64, the same weighted by lambda**(T - tau).
        potentials: int32 [B, *shape] per layer: u at the end, in units of 2**-6 weight units.
        readout: int32 [B, classes]: the readout's potentials at the end, in units of 2**-6 weight units.
        clipped: uint8 [B, *shape] per layer: bit 0 if the potential was ever clipped at the bottom, bit 1 at the top.
        clip_count: int64 [B, layers + 1]: number of clips; the readout comes last.
        operations: int64 [B]: synaptic operations, that is, weights touched by a spike or a non-zero message.
        updates: int64 [B]: neuron updates.
        spikes: uint8 [B, T, *shape] per layer; with delta encoding, int16: the change that was sent. None unless requested.
        residual: float64 [B, T]: ||f(a) - a|| after every step (E11); None unless requested.
        messages: int32 [B, T]: messages sent in each step by all layers, each in its own time; None with rate coding.
        cycles: int32 [B]: the period, in steps, of the limit cycle that a sample ended in; 0 if the run shows none.
            None with rate coding.
        seconds: wall-clock time of the run itself.

    Examples:
        >>> result = fl.run(chip, pixels)
        >>> result.predictions.shape, result.rates[0].shape
        ((8,), (8, 4, 2, 2))
    """

    backend: str
    graph: str = ""
    steps: int
    digest: str
    weight_sum: float
    readout_scale: float
    counts: Arrays
    traces: Arrays
    late: Arrays
    late_traces: Arrays
    potentials: Arrays
    readout: NDArray[np.int32]
    clipped: Arrays
    clip_count: NDArray[np.int64]
    operations: NDArray[np.int64]
    updates: NDArray[np.int64]
    spikes: Arrays | None = None
    residual: NDArray[np.float64] | None = None
    messages: NDArray[np.int32] | None = None
    cycles: NDArray[np.int32] | None = None
    seconds: float = 0.0

    def __repr__(self) -> str:
        return f"Result({result_line(self)})"

    def __str__(self) -> str:
        return result_summary(self).to_text()

    def _repr_html_(self) -> str:
        return result_summary(self).to_html()

    @property
    def samples(self) -> int:
        """Number of samples in the result, B."""
        return int(self.readout.shape[0])

    @property
    def rates(self) -> tuple[NDArray[np.float64], ...]:
        """Spikes per step, weighted by the leak (E3): float64 [B, *shape] per layer, in [0, 1]."""
        return tuple(trace / self.weight_sum for trace in self.traces)

    @property
    def logits(self) -> NDArray[np.float64]:
        """Float64 [B, classes] in the float network's units: the weighted average of what the readout received per step."""
        return self.readout * (self.readout_scale / 2**STATE_FRACTION_BITS / self.weight_sum)

    @property
    def predictions(self) -> NDArray[np.int64]:
        """Int64 [B]: the class with the largest readout potential; the first one if several are equal."""
        return np.argmax(self.readout, axis=1).astype(np.int64)

    @property
    def last_message(self) -> NDArray[np.int64] | None:
        """Int64 [B]: the step of the last message of each sample, after which it was silent; 0 if it sent none. None with rate coding."""
        if self.messages is None:
            return None
        steps = np.arange(1, self.steps + 1)
        return np.max(np.where(self.messages > 0, steps, 0), axis=1, initial=0).astype(np.int64)

    def part(self, which: slice | NDArray[np.intp]) -> Result:
        """Return the result of some of the samples, with their share of the time.

        Args:
            which: samples to keep, for example `slice(0, 10)`, or their positions.
        """
        changes: dict[str, Any] = {name: array[which] for name in _PER_SAMPLE if (array := getattr(self, name)) is not None}
        changes["seconds"] = self.seconds * len(changes["readout"]) / max(1, self.samples)
        for name in _PER_SAMPLE_TUPLES:
            arrays = getattr(self, name)
            changes[name] = None if arrays is None else tuple(array[which] for array in arrays)
        return replace(self, **changes)


def concatenate_results(results: Sequence[Result]) -> Result:
    """Join results into one Result of all samples, in order. All must come from the same network, backend and number of steps."""
    if not results:
        raise BadArgument("there must be at least one result to concatenate")
    first = results[0]
    for name in ("backend", "graph", "steps", "digest"):
        found = {getattr(result, name) for result in results}
        if len(found) > 1:
            raise BadArgument(f"results to concatenate must have the same {name}, got {sorted(map(str, found))}")
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
