"""Run a ChipNetwork on the emulator: lays it out, works out the static input, splits into batches, names what came out."""

from __future__ import annotations

import time

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.chip.drive import input_current
from fsnn_lava.chip.network import ChipNetwork
from fsnn_lava.emulator.events import run_samples
from fsnn_lava.emulator.program import Layout, lay_out
from fsnn_lava.result import Arrays, Result


class Emulator:
    """A network laid out once, ready for any number of batches. Its results depend on nothing but the network, values and steps."""

    def __init__(self, chip: ChipNetwork) -> None:
        self.chip = chip
        self.layout = lay_out(chip)
        self.digest = chip.digest()

    def run(self, values: NDArray[np.uint8], *, steps: int | None = None, spikes: bool = False) -> Result:
        """Run `values` ([B, *shape], or [B, T, *shape] of events), checked by the caller, over `steps`."""
        started = time.perf_counter()
        steps = self.chip.steps if steps is None else steps
        drive, events = self._inputs(values)
        wide = self.layout.needs_wide(int(np.abs(drive).max(initial=0)))
        prototype = np.zeros(0, dtype=np.int64 if wide else np.int32)
        out = self._outputs(len(values), steps, spikes)
        run_samples(self.layout.program, steps, drive, events, prototype, out)
        return self._result(out, values, steps, spikes, time.perf_counter() - started)

    def _inputs(self, values: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
        """Drive [B or 1, N1] and events [B, T, inputs] ([1, 1, 0] if there are none), channels last."""
        first = self.chip.layers[0]
        if self.chip.input.kind == "events":
            last = values.transpose(0, 1, 3, 4, 2) if values.ndim == 5 else values
            return self.layout.program.bias[None, : first.size], np.ascontiguousarray(last).reshape(*values.shape[:2], -1)
        current = input_current(self.chip, values)
        last = current.transpose(0, 2, 3, 1) if current.ndim == 4 else current
        return np.ascontiguousarray(last).reshape(len(values), -1), np.zeros((1, 1, 0), dtype=np.uint8)

    def _outputs(self, samples: int, steps: int, spikes: bool) -> tuple[NDArray[np.generic], ...]:
        """Zeros for every output of `run_samples`."""
        neurons, late = len(self.layout.program.bias), self.layout.late_size
        weighted = self.chip.decay > 0
        return (
            np.zeros((samples, neurons), np.int32),
            np.zeros((samples, neurons if weighted else 0), np.float64),
            np.zeros((samples, late), np.int32),
            np.zeros((samples, late if weighted else 0), np.float64),
            np.zeros((samples, neurons), np.int32),
            np.zeros((samples, self.chip.readout.classes), np.int32),
            np.zeros((samples, neurons), np.uint8),
            np.zeros((samples, len(self.chip.layers) + 1), np.int64),
            np.zeros(samples, np.int64),
            np.zeros((samples, steps if spikes else 0, neurons), np.uint8),
        )

    def _result(self, out: tuple, values: NDArray[np.uint8], steps: int, spikes: bool, seconds: float) -> Result:
        counts, traces, late, late_traces, potentials, readout, flags, clip_count, operations, trains = out
        chip, layout = self.chip, self.layout
        if chip.decay == 0:
            traces, late_traces = counts.astype(np.float64), late.astype(np.float64)
        neurons = sum(layer.size for layer in chip.layers) + chip.readout.classes
        return Result(
            backend="emu",
            steps=steps,
            digest=self.digest,
            weight_sum=chip.weight_sum(steps),
            readout_scale=float(chip.readout.scale),
            counts=self._per_layer(counts),
            traces=self._per_layer(traces),
            late=self._per_feedback(late),
            late_traces=self._per_feedback(late_traces),
            potentials=self._per_layer(potentials),
            readout=readout,
            clipped=self._per_layer(flags),
            clip_count=clip_count,
            operations=operations + steps * _input_operations(layout, values),
            updates=np.full(len(values), steps * neurons, dtype=np.int64),
            spikes=self._per_layer(trains) if spikes else None,
            seconds=seconds,
        )

    def _per_layer(self, flat: NDArray) -> Arrays:
        """[..., M] as one [..., *shape] per layer."""
        pairs = zip(self.layout.offsets, self.chip.layers)
        return tuple(flat[..., at : at + layer.size].reshape(*flat.shape[:-1], *layer.shape) for at, layer in pairs)

    def _per_feedback(self, flat: NDArray) -> Arrays:
        sources = [self.chip.layer(s.source) for s in self.chip.feedback]
        return tuple(flat[:, at : at + s.size].reshape(len(flat), *s.shape) for at, s in zip(self.layout.late_offsets, sources))


def _input_operations(layout: Layout, values: NDArray[np.uint8]) -> NDArray[np.int64] | int:
    """[B] weights that a static input touches at each step."""
    if layout.input_patches is None:
        return 0
    touched = layout.input_patches.touched
    if values.ndim == 4 and touched.shape == values.shape[2:]:
        return np.count_nonzero(values, axis=1).reshape(len(values), -1) @ touched.reshape(-1)
    return np.count_nonzero(values.reshape(len(values), -1), axis=1) * int(touched[0, 0])
