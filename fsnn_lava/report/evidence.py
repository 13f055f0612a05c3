"""What the figures draw: a verdict, the run it judges, and what is computed from some of its samples, once and at bounded cost."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import executed_network
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.placement.placement import Placement, place
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.verify.batch import Batch, check_shapes
from fsnn_lava.verify.check import Check
from fsnn_lava.verify.equilibrium import Equilibria, solve_equilibria
from fsnn_lava.verify.synaptic_currents import message_fan_out
from fsnn_lava.verify.verdict import Verdict

CURVE_SAMPLES = 8  # whose residual is drawn over the steps
AVERAGED_SAMPLES = 256  # over which activity is averaged
_LARGE = 4_000_000  # weights used per sample and step: above, half as many samples are drawn
_RERUN_OPERATIONS = 6.0e10  # synaptic operations that the runs for accuracy against steps may take


class RunEvidence:
    """A run of `chip` on `values`: the whole run or its first samples."""

    def __init__(
        self,
        chip: ChipNetwork,
        result: Result,
        values: NDArray[np.uint8],
        labels: NDArray[np.int64] | None,
        model: FSNN | None,
        placement: Placement | None,
    ) -> None:
        if len(values) != result.samples or (labels is not None and len(labels) != result.samples):
            raise BadArgument(
                f"a report needs the values and labels of the {result.samples} samples in the result, "
                f"got {len(values)} and {'no labels' if labels is None else len(labels)}"
            )
        self.exported, self.chip = chip, executed_network(chip, result.graph)
        self.result, self.values = result, values
        self.labels = None if labels is None or (labels < 0).any() else labels  # below 0: unknown
        self.model, self._placement = model, placement
        self.steps = result.steps
        check_shapes(self.chip, result, self.values_of(result.steps, result.samples))

    @property
    def events(self) -> bool:
        return self.chip.input.kind == "events"

    @cached_property
    def emulator(self) -> Emulator | DeltaEmulator:
        if self.chip.delta is not None:
            return DeltaEmulator(self.chip)
        return Emulator(self.chip, stock=self.result.graph == "stock")

    @cached_property
    def rate_map(self) -> RateMap:
        return RateMap(self.chip)

    @cached_property
    def folded(self) -> FoldedNetwork | None:
        return None if self.model is None else fold(self.model)

    @cached_property
    def placement(self) -> Placement:
        return self._placement or place(self.exported)

    @cached_property
    def fan_out(self) -> dict[int, NDArray[np.int64]]:
        """By id(synapse): how many weights a message from each source neuron touches, [*source]."""
        return {id(s): message_fan_out(self.chip, s) for s in self.chip.synapses}

    @cached_property
    def curve_samples(self) -> int:
        """How many samples are drawn over the steps."""
        work = sum(float(fan.sum()) for fan in self.fan_out.values())
        return min(self.result.samples, CURVE_SAMPLES if work < _LARGE else CURVE_SAMPLES // 2)

    @cached_property
    def rerun_samples(self) -> int:
        """How many samples are run again over T/4, T/2 and 2T steps."""
        each = 3.75 * max(1.0, float(self.result.operations[:AVERAGED_SAMPLES].mean()))
        return int(min(self.result.samples, np.clip(_RERUN_OPERATIONS / each, 32, 512)))

    @cached_property
    def averaged(self) -> Result:
        """The samples over which activity is averaged."""
        return self.result.part(slice(0, AVERAGED_SAMPLES))

    @cached_property
    def first_sample(self) -> Result:
        """The first sample with its spike trains: as recorded if the run recorded them, else from the emulator."""
        if self.result.spikes is not None:
            return self.result.part(slice(0, 1))
        return self.emulator.run(self.values[:1], steps=self.steps, spikes=True)

    def rerun(self, steps: int, samples: int) -> Result:
        """The first samples over another number of steps, on the emulator."""
        return self.emulator.run(self.values_of(steps, samples), steps=steps)

    def values_of(self, steps: int, samples: int) -> NDArray[np.uint8]:
        """The input of the first samples over the first steps."""
        return self.values[:samples, :steps] if self.events else self.values[:samples]

    def batch(self, result: Result) -> Batch:
        """`result`, of the first samples, in the form that bounds are computed from."""
        return Batch(chip=self.chip, result=result, values=self.values_of(result.steps, result.samples), labels=None, offset=0)

    @cached_property
    def equilibria(self) -> Equilibria:
        """a* of the first `curve_samples` samples."""
        drive = self.rate_map.drive(self.values_of(self.steps, self.curve_samples))
        return solve_equilibria(self.rate_map, drive, self.result.part(slice(0, self.curve_samples)).rates)


class Evidence:
    """A verdict, and the run it judges if that is available."""

    def __init__(self, verdict: Verdict, run: RunEvidence | None) -> None:
        self.verdict, self.run = verdict, run

    def check(self, name: str) -> Check | None:
        """The check of that name, if it was done."""
        return next((check for check in self.verdict.checks if check.name == name and check.done), None)

    def numbers(self, name: str) -> dict[str, Any]:
        check = self.check(name)
        return {} if check is None else dict(check.numbers)

    def series(self, name: str, key: str) -> Any:
        check = self.check(name)
        return None if check is None else check.series.get(key)
