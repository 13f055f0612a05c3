"""Run a ChipNetwork on the emulator: convert inputs to the order of the kernels, run, and convert results to the order of the network."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.layout import Layout, flatten_channels_last, lay_out
from fsnn_lava.compiled.integer_run import Outputs, run_integer_samples
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.input_current import input_current_channels_last
from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.result import Arrays, Result
from fsnn_lava.limits import STATE_FRACTION_BITS


class Emulator:
    """A network laid out once for any number of batches. Results depend only on the network, the values and the steps.

    `stock`: layers that leak and subtract are computed as Lava's ATRLIF does, bit for bit; otherwise every layer follows E9.
    """

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        if chip.delta is not None:
            raise BadArgument("this network uses delta encoding; run it with fsnn_lava.backends.emulator.delta.DeltaEmulator")
        self.chip = chip
        self.layout = lay_out(chip, stock=stock)
        self.digest = chip.digest()
        # compile now, not while a run is timed
        self._run_batch(self._outputs(0, 1, False), 1, *emulator_inputs(self.chip, self._no_samples()))

    def run(self, values: NDArray[np.uint8], *, steps: int | None = None, spikes: bool = False) -> Result:
        """Run `values` ([B, *shape], or [B, T, *shape] of events), checked by the caller, for `steps` steps (default: the network's)."""
        started = time.perf_counter()
        steps = self.chip.steps if steps is None else steps
        drive, messages = emulator_inputs(self.chip, values)
        out = self._outputs(len(values), steps, spikes)
        self._run_batch(out, steps, drive, messages)
        return self._result(out, steps, time.perf_counter() - started)

    def _run_batch(self, out: Outputs, steps: int, drive: NDArray[np.int32], messages: NDArray[np.uint8]) -> None:
        program, dtype = self.layout.program, np.int64 if self.layout.wide else np.int32

        def run_range(first: int, end: int) -> None:
            run_integer_samples(first, end, program, steps, drive, messages, np.empty(len(program.bias), dtype), out)

        over_samples(run_range, len(messages))

    def _no_samples(self) -> NDArray[np.uint8]:
        shape = self.chip.input.shape
        return np.zeros((0, 1, *shape) if self.chip.input.kind == "events" else (0, *shape), dtype=np.uint8)

    def _outputs(self, samples: int, steps: int, spikes: bool) -> Outputs:
        """Zeros for everything that a run fills."""
        neurons, late = len(self.layout.program.bias), self.layout.late_size
        weighted = self.chip.decay > 0
        return Outputs(
            counts=np.zeros((samples, neurons), np.int32),
            traces=np.zeros((samples, neurons if weighted else 0), np.float64),
            late=np.zeros((samples, late), np.int32),
            late_traces=np.zeros((samples, late if weighted else 0), np.float64),
            potentials=np.zeros((samples, neurons), np.int32),
            readout=np.zeros((samples, self.chip.readout.classes), np.int32),
            clipped=np.zeros((samples, neurons), np.uint8),
            clip_count=np.zeros((samples, len(self.chip.layers) + 1), np.int64),
            operations=np.zeros((samples, 1), np.int64),
            trains=np.zeros((samples, steps if spikes else 0, neurons), np.uint8),
        )

    def _result(self, out: Outputs, steps: int, seconds: float) -> Result:
        chip, offsets = self.chip, self.layout.offsets
        traces, late_traces = out.traces, out.late_traces
        if chip.decay == 0:
            traces, late_traces = out.counts.astype(np.float64), out.late.astype(np.float64)
        neurons = sum(layer.size for layer in chip.layers) + chip.readout.classes
        return Result(
            backend="emu",
            steps=steps,
            digest=self.digest,
            weight_sum=chip.weight_sum(steps),
            readout_scale=float(chip.readout.scale),
            counts=emulated_layers(chip, offsets, out.counts),
            traces=emulated_layers(chip, offsets, traces),
            late=emulated_feedback(chip, self.layout, out.late),
            late_traces=emulated_feedback(chip, self.layout, late_traces),
            potentials=emulated_layers(chip, offsets, out.potentials),
            readout=out.readout,
            clipped=emulated_layers(chip, offsets, out.clipped),
            clip_count=out.clip_count,
            operations=out.operations[:, 0],
            updates=np.full(len(out.counts), steps * neurons, dtype=np.int64),
            spikes=emulated_layers(chip, offsets, out.trains) if out.trains.shape[1] else None,
            seconds=seconds,
        )


def emulator_inputs(chip: ChipNetwork, values: NDArray[np.uint8]) -> tuple[NDArray[np.int32], NDArray[np.uint8]]:
    """The emulator's inputs: the host's drive [B, N1] without the bias, or [B, 0]; and the messages [B, T or 1, inputs], channels last."""
    samples = len(values)
    if chip.host_drive is not None:
        current = input_current_channels_last(chip, values).reshape(samples, chip.layers[0].size)
        bias = flatten_channels_last(chip.layers[0].bias) << STATE_FRACTION_BITS  # which `current` includes
        return current - bias, np.zeros((samples, 1, 0), dtype=np.uint8)
    messages = np.moveaxis(values, -3, -1) if len(chip.input.shape) == 3 else values
    steps = values.shape[1] if chip.input.kind == "events" else 1
    return np.zeros((samples, 0), np.int32), np.ascontiguousarray(messages).reshape(samples, steps, math.prod(chip.input.shape))


def emulated_layers(chip: ChipNetwork, offsets: tuple[int, ...], flat: NDArray[Any]) -> Arrays:
    """The emulator's flat output [..., M] as one [..., *shape] per layer."""
    return tuple(_part(flat, offset, layer) for offset, layer in zip(offsets, chip.layers))


def emulated_feedback(chip: ChipNetwork, layout: Layout, flat: NDArray[Any]) -> Arrays:
    """The emulator's flat output [B, late neurons] as one [B, *shape of the source] per feedback synapse."""
    sources = [chip.layer(s.source) for s in chip.feedback]
    return tuple(_part(flat, offset, source) for offset, source in zip(layout.late_offsets, sources))


def _part(flat: NDArray[Any], offset: int, layer: Layer) -> NDArray[Any]:
    return flat[..., offset : offset + layer.size].reshape(*flat.shape[:-1], *layer.shape)
