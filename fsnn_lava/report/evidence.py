"""Evidence behind the figures: a verdict, the run it judges, and values computed from some samples, once and at bounded cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.ir.result import Result, concatenate_results
from fsnn_lava.ir.stock_network import executed_network
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.placement.placement import Placement, place
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.quantisation.folded_network import FoldedNetwork
from fsnn_lava.verify.batch import Batch, check_batch_shapes
from fsnn_lava.verify.check import Check
from fsnn_lava.verify.equilibrium import Equilibria, solve_equilibria
from fsnn_lava.verify.synaptic_sums import synaptic_sum_fan_out
from fsnn_lava.verify.verdict import Verdict

CURVE_SAMPLES = 8  # samples whose residual is drawn over the steps
RERUN_SAMPLES = 1024  # at most this many are run again with other numbers of steps
SAMPLES_KEPT = 1024  # at most this many samples of a run are kept for its report
_KEPT_BYTES = 2**28  # approximate memory that these samples take
_NEURON_BYTES = 32  # per neuron and sample of a Result
_LARGE = 4_000_000  # weights used per sample and step; above this, half as many samples are drawn
_RERUN_OPERATIONS = 6.0e10  # synaptic operations that the runs for accuracy against steps may take
_TRACE_OPERATIONS = 4.0e9  # synaptic operations that the runs for membrane potentials may take


def samples_kept_as_evidence(chip: ChipNetwork) -> int:
    """Return how many samples of a run to keep as evidence for its report: SAMPLES_KEPT, or fewer for a large network."""
    return int(np.clip(_KEPT_BYTES // (_NEURON_BYTES * sum(layer.size for layer in chip.layers)), 16, SAMPLES_KEPT))


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where a run came from, as far as is known, for its report.

    Attributes:
        data: name of the data set.
        date: date of the run, ISO 8601.
        command: the command line.
    """

    data: str = ""
    date: str = ""
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One sample that was answered wrongly, or differently from the float network; -1 is an unknown label or answer."""

    sample: int
    label: int
    answer: int
    float_answer: int
    margin: float  # between the two largest logits

    @property
    def wrong(self) -> bool:
        """Whether the answer differs from the label."""
        return self.label >= 0 and self.answer != self.label

    @property
    def unlike_float(self) -> bool:
        """Whether the answer differs from the float network's."""
        return self.float_answer >= 0 and self.answer != self.float_answer


class RunEvidence:
    """A run of `chip` on `values`: the whole run or its first samples. `inputs` are the values of single samples beyond those."""

    def __init__(
        self,
        chip: ChipNetwork,
        result: Result,
        values: NDArray[np.uint8],
        labels: NDArray[np.int64] | None,
        model: FSNN | None,
        placement: Placement | None,
        inputs: Mapping[int, NDArray[np.uint8]] | None = None,
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
        self._inputs = inputs or {}
        self.steps = result.steps
        check_batch_shapes(self.chip, result, self.values_of(result.steps, result.samples))

    @property
    def events(self) -> bool:
        """Whether the input is a sequence of event frames."""
        return self.chip.input.kind == "events"

    @cached_property
    def emulator(self) -> Emulator | DeltaEmulator:
        """The emulator of the network that ran."""
        if self.chip.delta is not None:
            return DeltaEmulator(self.chip)
        return Emulator(self.chip, stock=self.result.graph == "stock")

    @cached_property
    def rate_map(self) -> RateMap:
        """The rate map of the network that ran."""
        return RateMap(self.chip)

    @cached_property
    def folded(self) -> FoldedNetwork | None:
        """The folded float network; None without a model."""
        return None if self.model is None else fold(self.model)

    @cached_property
    def placement(self) -> Placement:
        """The placement that was given, or one on the default board."""
        return self._placement or place(self.exported)

    @cached_property
    def fan_out(self) -> dict[int, NDArray[np.int64]]:
        """How many weights a message from each source neuron touches, [*source], by id(synapse)."""
        return {id(s): synaptic_sum_fan_out(self.chip, s) for s in self.chip.synapses}

    @cached_property
    def curve_samples(self) -> int:
        """Number of samples plotted step by step."""
        work = sum(float(fan.sum()) for fan in self.fan_out.values())
        return min(self.result.samples, CURVE_SAMPLES if work < _LARGE else CURVE_SAMPLES // 2)

    @cached_property
    def rerun_samples(self) -> int:
        """Number of samples that are run again with T/4, T/2 and 2T steps."""
        each = 3.75 * max(1.0, float(self.result.operations.mean()))
        return int(min(self.result.samples, np.clip(_RERUN_OPERATIONS / each, 32, RERUN_SAMPLES)))

    @cached_property
    def traced_samples(self) -> int:
        """Number of samples that are run again once for every step, for their membrane potentials."""
        each = self.steps / 2 * max(1.0, float(self.result.operations.mean()))
        return int(_TRACE_OPERATIONS / each)

    def input_of(self, sample: int) -> NDArray[np.uint8] | None:
        """Return the raw values of a sample of the run; None if they are not available."""
        return self.values[sample] if sample < len(self.values) else self._inputs.get(sample)

    def trains(self, samples: Sequence[int]) -> Result:
        """Return these samples with their spike trains: as recorded if the run recorded them, else from the emulator."""
        if self.result.spikes is None:
            return self.emulator.run(self.values[list(samples)], steps=self.steps, spikes=True)
        return concatenate_results([self.result.part(slice(sample, sample + 1)) for sample in samples])

    def potentials(self, samples: Sequence[int]) -> tuple[NDArray[np.int32], ...]:
        """Return the potential of every neuron after every step, [B, T, N] per layer, units 2**-6: the emulator runs 1, 2, … T steps."""
        values = self.values[list(samples)]
        found = [self.emulator.run(values[:, :t] if self.events else values, steps=t).potentials for t in range(1, self.steps + 1)]
        return tuple(np.stack([layer.reshape(len(samples), -1) for layer in after], axis=1) for after in zip(*found, strict=True))

    def rerun(self, steps: int, samples: int) -> Result:
        """Run the first samples with another number of steps, on the emulator."""
        return self.emulator.run(self.values_of(steps, samples), steps=steps)

    def values_of(self, steps: int, samples: int) -> NDArray[np.uint8]:
        """Return the input of the first samples over the first steps."""
        return self.values[:samples, :steps] if self.events else self.values[:samples]

    def batch(self, result: Result) -> Batch:
        """Return `result` for the first samples as the Batch from which bounds are computed."""
        return Batch(chip=self.chip, result=result, values=self.values_of(result.steps, result.samples), labels=None, offset=0)

    @cached_property
    def equilibria(self) -> Equilibria:
        """a* of the first `curve_samples` samples."""
        drive = self.rate_map.drive(self.values_of(self.steps, self.curve_samples))
        return solve_equilibria(self.rate_map, drive, self.result.part(slice(0, self.curve_samples)).rates)


class Evidence:
    """A verdict, and the run that it judges if that is available."""

    def __init__(self, verdict: Verdict, run: RunEvidence | None, origin: Origin | None = None) -> None:
        self.verdict, self.run, self.origin = verdict, run, origin or Origin()

    @property
    def samples(self) -> int:
        """Number of samples that the verdict is about."""
        return int(self.verdict.about.get("samples", 0))

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes; empty if they have none."""
        return () if self.run is None else self.run.chip.class_names

    def class_name(self, index: int) -> str:
        """Return the name of a class, or its index if it has no name."""
        return self.class_names[index] if 0 <= index < len(self.class_names) else str(index)

    @property
    def errors(self) -> list[Answer]:
        """The first samples that were answered wrongly, or differently from the float network."""
        rows = self.series("accuracy", "errors") or ()
        return [Answer(sample=int(n), label=int(y), answer=int(a), float_answer=int(f), margin=float(m)) for n, y, a, f, m in rows]

    def check(self, name: str) -> Check | None:
        """Return the check of that name; None if it was not done."""
        return next((check for check in self.verdict.checks if check.name == name and check.done), None)

    def numbers(self, name: str) -> dict[str, Any]:
        """Return the numbers of a check; empty if it was not done."""
        check = self.check(name)
        return {} if check is None else dict(check.numbers)

    def series(self, name: str, key: str) -> Any:
        """Return the series `key` of a check; None if there is none."""
        check = self.check(name)
        return None if check is None else check.series.get(key)
