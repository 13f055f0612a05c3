"""Run a ChipNetwork with delta encoding on the emulator (E15)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.laid_out import Drive, LaidOutEmulator, Messages
from fsnn_lava.backends.emulator.layout import flatten_to_emulator_layout, largest_layout_sum, lay_out
from fsnn_lava.backends.emulator.limit_cycle import hash_keys, limit_cycles
from fsnn_lava.compiled.delta_run import DeltaOutputs, DeltaProgram, run_delta_samples
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.delta_encoding import DeltaEncoding, delta_frame_exponent
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import INT32_MAX


class DeltaEmulator(LaidOutEmulator[DeltaOutputs]):
    """The emulator for delta encoding, whose messages are changes of rates."""

    def __init__(self, chip: ChipNetwork) -> None:
        if chip.delta is None:
            raise BadArgument("this network uses rate coding; run it with fsnn_lava.backends.emulator.run.Emulator")
        self.delta = _delta_program(chip, chip.delta)
        layout = lay_out(chip)
        super().__init__(chip, layout, wide=layout.wide or _largest_change(chip, chip.delta) > INT32_MAX)

    def _run_range(self, first: int, end: int, out: DeltaOutputs, steps: int, drive: Drive, messages: Messages) -> None:
        program, delta = self.layout.program, self.delta
        if self.chip.input.kind == "events" and self.chip.delta is not None:
            delta = delta._replace(frames=self.chip.delta.frame_weights(steps))
        run_delta_samples(first, end, program, delta, steps, drive, messages, np.zeros(len(program.bias), self._dtype), out)

    def _outputs(self, samples: int, steps: int, spikes: bool) -> DeltaOutputs:
        neurons, late = len(self.layout.program.bias), self.layout.late_size
        return DeltaOutputs(
            counts=np.zeros((samples, neurons), np.int32),
            told=np.zeros((samples, neurons), np.float64),
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

    def _states(self, out: DeltaOutputs) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        return out.told, out.late.astype(np.float64), out.sums

    def _result(self, out: DeltaOutputs, steps: int, seconds: float) -> Result:
        longest = max([self.chip.delay(synapse) for synapse in self.chip.feedback], default=0)
        cycles = limit_cycles(out.hashes, out.messages, longest_delay=longest)
        return replace(super()._result(out, steps, seconds), messages=out.messages, cycles=cycles)


def _delta_program(chip: ChipNetwork, delta: DeltaEncoding) -> DeltaProgram:
    thresholds: list[NDArray[Any]] = [flatten_to_emulator_layout(layer.per_neuron(layer.threshold)) for layer in chip.layers]
    shifts = np.log2(np.concatenate(thresholds)).astype(np.int64)  # exact, since they are powers of two
    return DeltaProgram(
        shifts=shifts,
        bands=np.array(delta.dead_bands, dtype=np.int64),
        rate_bits=delta.rate_bits,
        ceiling=delta.ceiling,
        frames=np.zeros(0, np.int64),
        frame_exponents=np.array([delta_frame_exponent(chip, layer) for layer in chip.layers], dtype=np.int64),
        keys=hash_keys(len(shifts)),
    )


def _largest_change(chip: ChipNetwork, delta: DeltaEncoding) -> int:
    """Return an upper bound on |weight @ changes| in one step, including that of the readout."""
    readout = int(np.abs(chip.readout.weight.astype(np.int64)).sum(axis=1).max(initial=0))
    inner = [largest_layout_sum(synapse) for synapse in chip.synapses if synapse.source != "input"]
    return delta.ceiling * max([readout, *inner])
