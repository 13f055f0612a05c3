"""What the figures draw: a verdict, the run it judges, and what is worked out from a few of its samples, once, at a bounded cost."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import INPUT, ChipNetwork, Synapse
from fsnn_lava.ir.rate_map import RateMap, linear
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import executed
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.placement.placement import Placement, place
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.equilibrium import Point, solve
from fsnn_lava.verify.verdict import Check, Verdict

FEW = 8  # samples whose way to the equilibrium is followed step by step
SOME = 256  # samples that averages over layers are taken from
_LARGE = 4_000_000  # weights used per sample and step: from here on fewer are followed
_RERUN_OPERATIONS = 6.0e10  # synaptic operations that the accuracy against steps may take


class Run:
    """A run of `chip` on `values`, whole or its first samples."""

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
                f"a report needs values and labels of the {result.samples} samples in the result, "
                f"got {len(values)} and {'none' if labels is None else len(labels)}"
            )
        self.exported, self.chip = chip, executed(chip, result.graph)
        self.result, self.values = result, values
        self.labels = None if labels is None or (labels < 0).any() else labels  # -1 is unknown
        self.model, self._placement = model, placement
        self.steps = result.steps

    @property
    def events(self) -> bool:
        return self.chip.input.kind == "events"

    @cached_property
    def emulator(self) -> Emulator:
        return Emulator(self.chip)

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
    def fan_out(self) -> dict[int, NDArray[np.float64]]:
        """By id(synapse): how many weights a message of each source neuron touches, [*source]."""
        return {id(s): fan_out(self.chip, s) for s in self.chip.synapses}

    @cached_property
    def few(self) -> int:
        work = sum(float(fan.sum()) for fan in self.fan_out.values())
        return min(self.result.samples, FEW if work < _LARGE else FEW // 2)

    @cached_property
    def rerun_samples(self) -> int:
        """How many samples may be run again over T/4, T/2, T and 2T."""
        each = 3.75 * max(1.0, float(self.result.operations[:SOME].mean()))
        return int(min(self.result.samples, np.clip(_RERUN_OPERATIONS / each, 32, 512)))

    @cached_property
    def some(self) -> Result:
        return self.result.part(slice(0, SOME))

    @cached_property
    def trains(self) -> Result:
        """The first sample with its spike trains: the run's own where it recorded them, else the emulator's."""
        if self.result.spikes is not None:
            return self.result.part(slice(0, 1))
        return self.emulator.run(self.values[:1], steps=self.steps, spikes=True)

    def after(self, steps: int, samples: int) -> Result:
        """The first samples over another number of steps, on the emulator."""
        return self.emulator.run(self.over(steps, samples), steps=steps)

    def over(self, steps: int, samples: int) -> NDArray[np.uint8]:
        return self.values[:samples, :steps] if self.events else self.values[:samples]

    def batch(self, result: Result) -> Batch:
        """`result`, of the first samples, as the checks take it."""
        return Batch(chip=self.chip, result=result, values=self.over(result.steps, result.samples), labels=None, offset=0)

    @cached_property
    def equilibrium(self) -> Point:
        """a* of the few samples."""
        drive = self.rate_map.drive(self.over(self.steps, self.few))
        return solve(self.rate_map, drive, tuple(rate[: self.few] for rate in self.result.part(slice(0, self.few)).rates))


class Evidence:
    """A verdict, and the run it judges where that is at hand."""

    def __init__(self, verdict: Verdict, run: Run | None) -> None:
        self.verdict, self.run = verdict, run

    def check(self, name: str) -> Check | None:
        return next((check for check in self.verdict.checks if check.name == name and check.done), None)

    def numbers(self, name: str) -> dict[str, Any]:
        check = self.check(name)
        return {} if check is None else dict(check.numbers)

    def series(self, name: str, key: str) -> Any:
        check = self.check(name)
        return None if check is None else check.series.get(key)


def fan_out(chip: ChipNetwork, synapse: Synapse) -> NDArray[np.float64]:
    """How many weights a message of each source neuron touches, [*source]: the derivative of the sum over all-one weights."""
    shape = chip.input.shape if synapse.source == INPUT else chip.layer(synapse.source).shape
    source = torch.zeros(1, *shape, dtype=torch.float64, requires_grad=True)
    with torch.enable_grad():
        total = linear(synapse, torch.ones(synapse.weight.shape, dtype=torch.float64), source).sum()
        (found,) = torch.autograd.grad(total, source)
    return found[0].numpy()
