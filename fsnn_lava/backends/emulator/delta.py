"""Run a ChipNetwork with delta encoding on the emulator (E15)."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.layout import flatten_channels_last, largest_sum, lay_out
from fsnn_lava.backends.emulator.limit_cycle import limit_cycles
from fsnn_lava.backends.emulator.run import emulated_feedback, emulated_layers, emulator_inputs
from fsnn_lava.compiled.delta_run import DeltaOutputs, DeltaProgram, run_delta_samples
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.delta_encoding import DeltaEncoding
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import INT32_MAX


class DeltaEmulator:
    """A network laid out once for any number of batches. Results depend only on the network, the values and the steps."""

    def __init__(self, chip: ChipNetwork) -> None:
        if chip.delta is None:
            raise BadArgument("this network uses rate coding; run it with fsnn_lava.backends.emulator.run.Emulator")
        self.chip, self.encoding = chip, chip.delta
        self.layout = lay_out(chip)
        self.digest = chip.digest()
        self.delta = _delta_program(chip, self.encoding)
        self.wide = self.layout.wide or _largest_change(chip, self.encoding) > INT32_MAX
        empty = np.zeros((0, *chip.input.shape), dtype=np.uint8)
        self._run_batch(self._outputs(0, 1, False), 1, *emulator_inputs(chip, empty))  # compile now, not while a run is timed

    def run(self, values: NDArray[np.uint8], *, steps: int | None = None, spikes: bool = False) -> Result:
        """Run `values` [B, *shape], checked by the caller, for `steps` steps (default: the network's); `spikes` keeps every change."""
        started = time.perf_counter()
        steps = self.chip.steps if steps is None else steps
        drive, messages = emulator_inputs(self.chip, values)
        out = self._outputs(len(values), steps, spikes)
        self._run_batch(out, steps, drive, messages)
        return self._result(out, steps, time.perf_counter() - started)

    def _run_batch(self, out: DeltaOutputs, steps: int, drive: NDArray[np.int32], messages: NDArray[np.uint8]) -> None:
        program, dtype = self.layout.program, np.int64 if self.wide else np.int32

        def run_range(first: int, end: int) -> None:
            run_delta_samples(first, end, program, self.delta, steps, drive, messages, np.zeros(len(program.bias), dtype), out)

        over_samples(run_range, len(messages))

    def _outputs(self, samples: int, steps: int, spikes: bool) -> DeltaOutputs:
        """Zeros for everything that a run fills."""
        neurons, late = len(self.layout.program.bias), self.layout.late_size
        return DeltaOutputs(
            counts=np.zeros((samples, neurons), np.int32),
            told=np.zeros((samples, neurons), np.int32),
            late=np.zeros((samples, late), np.int32),
            sums=np.zeros((samples, neurons), np.int32),
            readout=np.zeros((samples, self.chip.readout.classes), np.int32),
            clipped=np.zeros((samples, neurons), np.uint8),
            clip_count=np.zeros((samples, len(self.chip.layers) + 1), np.int64),
            operations=np.zeros((samples, 1), np.int64),
            messages=np.zeros((samples, steps), np.int32),
            hashes=np.zeros((samples, steps), np.uint64),
            trains=np.zeros((samples, steps if spikes else 0, neurons), np.int16),
        )

    def _result(self, out: DeltaOutputs, steps: int, seconds: float) -> Result:
        chip, offsets = self.chip, self.layout.offsets
        neurons = sum(layer.size for layer in chip.layers) + chip.readout.classes
        late = emulated_feedback(chip, self.layout, out.late)
        delays = [chip.delay(synapse) for synapse in chip.feedback]
        return Result(
            backend="emu",
            steps=steps,
            digest=self.digest,
            weight_sum=chip.weight_sum(steps),
            readout_scale=chip.readout_scale,
            counts=emulated_layers(chip, offsets, out.counts),
            traces=tuple(part.astype(np.float64) for part in emulated_layers(chip, offsets, out.told)),
            late=late,
            late_traces=tuple(part.astype(np.float64) for part in late),
            potentials=emulated_layers(chip, offsets, out.sums),
            readout=out.readout,
            clipped=emulated_layers(chip, offsets, out.clipped),
            clip_count=out.clip_count,
            operations=out.operations[:, 0],
            updates=np.full(len(out.counts), steps * neurons, dtype=np.int64),
            spikes=emulated_layers(chip, offsets, out.trains) if out.trains.shape[1] else None,
            messages=out.messages,
            cycles=limit_cycles(out.hashes, out.messages, longest_delay=max(delays, default=0)),
            seconds=seconds,
        )


def _delta_program(chip: ChipNetwork, delta: DeltaEncoding) -> DeltaProgram:
    thresholds: list[NDArray[Any]] = [flatten_channels_last(layer.per_neuron(layer.threshold)) for layer in chip.layers]
    shifts = np.log2(np.concatenate(thresholds)).astype(np.int64)  # exact, since they are powers of two
    return DeltaProgram(shifts=shifts, bands=np.array(delta.dead_bands, dtype=np.int64), rate_bits=delta.rate_bits)


def _largest_change(chip: ChipNetwork, delta: DeltaEncoding) -> int:
    """An upper bound of |weight @ changes| in one step, the readout's included."""
    readout = int(np.abs(chip.readout.weight.astype(np.int64)).sum(axis=1).max(initial=0))
    inner = [largest_sum(synapse) for synapse in chip.synapses if synapse.source != "input"]
    return delta.one * max([readout, *inner])
