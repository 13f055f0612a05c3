"""Run a ChipNetwork with rate coding on the emulator (E9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.laid_out import Drive, LaidOutEmulator, Messages
from fsnn_lava.backends.emulator.layout import lay_out
from fsnn_lava.compiled.integer_run import Outputs, run_integer_samples
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork


class Emulator(LaidOutEmulator[Outputs]):
    """The emulator for rate coding, whose messages are spikes.

    `stock`: layers that leak and subtract are computed as Lava's ATRLIF does, bit for bit; otherwise every layer follows E9.
    """

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        if chip.delta is not None:
            raise BadArgument("this network uses delta encoding; run it with fsnn_lava.backends.emulator.delta.DeltaEmulator")
        layout = lay_out(chip, stock=stock)
        super().__init__(chip, layout, wide=layout.wide)

    def _run_range(self, first: int, end: int, out: Outputs, steps: int, drive: Drive, messages: Messages) -> None:
        program = self.layout.program
        run_integer_samples(first, end, program, steps, drive, messages, np.empty(len(program.bias), self._dtype), out)

    def _outputs(self, samples: int, steps: int, spikes: bool) -> Outputs:
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

    def _states(self, out: Outputs) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        if self.chip.decay == 0:
            return out.counts.astype(np.float64), out.late.astype(np.float64), out.potentials
        return out.traces, out.late_traces, out.potentials
