"""The summary of a Result: a table of its layers, how active they were, and whether a potential was clipped."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fsnn_lava.summary import Cell, Summary, shape_text

if TYPE_CHECKING:
    from fsnn_lava.ir.result import Result


def result_line(result: Result) -> str:
    """Describe a result in one line: `sim (batched), 32 samples, 30 steps, network 885e86a5c8fe`."""
    backend = f"{result.backend} ({result.graph})" if result.graph else result.backend
    return f"{backend}, {result.samples:,} samples, {result.steps} steps, network {result.digest[:12]}"


def result_summary(result: Result) -> Summary:
    """Return the summary of a result: one row per layer, with the readout last."""
    rows: list[tuple[Cell, ...]] = []
    for position, (counts, rates) in enumerate(zip(result.counts, result.rates, strict=True)):
        silent = int(np.sum(counts.sum(axis=0) == 0))
        mean = float(rates.mean()) if rates.size else 0.0
        clips = int(result.clip_count[:, position].sum())
        rows.append((f"l{position + 1}", shape_text(counts.shape[1:]), int(counts.sum()), f"{mean:.4f}", silent, clips))
    rows.append(("readout", shape_text(result.readout.shape[1:]), "", "", "", int(result.clip_count[:, -1].sum())))
    per_sample = max(1, result.samples)
    what = "spikes" if result.messages is None else "messages"
    return Summary(
        title=f"Result {result_line(result)}",
        columns=("layer", "shape", what, "mean rate", "silent neurons", "clips"),
        rows=tuple(rows),
        notes=(
            f"per sample: {result.operations.sum() / per_sample:,.0f} synaptic operations, "
            f"{result.updates.sum() / per_sample:,.0f} neuron updates; {result.seconds:.3g} s in all",
            *_silence(result),
        ),
    )


def _silence(result: Result) -> tuple[str, ...]:
    if result.last_message is None or result.cycles is None or result.samples == 0:
        return ()
    last, cycling = result.last_message, int(np.count_nonzero(result.cycles))
    cycles = f"; {cycling:,} samples end in a limit cycle" if cycling else ""
    return (f"last message at step {last.mean():.3g} on average, {int(last.max())} at the latest{cycles}",)
