"""Delta encoding: every message, sum and rate of a backend against the emulator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.ir.network import READOUT, ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.check import Check, Offender
from fsnn_lava.verify.checks.repeated_run import LINK, RepeatedRun
from fsnn_lava.verify.divergence import first_divergence
from fsnn_lava.verify.neuron_index import neuron_index


class MessagesCheck(RepeatedRun):
    """RepeatedRun for delta encoding: `spikes` are messages. Sums and dead bands are checked without the emulator."""

    def __init__(self, chip: ChipNetwork) -> None:
        super().__init__(DeltaEmulator(chip))

    def _locate(self, values: NDArray[np.uint8], got: Result, sample: int) -> Offender:
        expected = self.emulator.run(values, steps=got.steps, spikes=True)
        if got.spikes is not None and expected.spikes is not None:
            found = first_divergence(got.spikes, expected.spikes)
            if found is not None:
                index, step, flat = found
                layer = self.chip.layers[index]
                ours, theirs = (int(trains[index][0, step - 1].reshape(-1)[flat]) for trains in (expected.spikes, got.spikes))
                what = f"the backend sends {_change(theirs)}, the emulator {_change(ours)}"
                return {"sample": sample, "layer": layer.name, "neuron": neuron_index(layer, flat), "step": step, "what": what}
        return {"sample": sample, **self._at_end(got, expected)}

    def _at_end(self, got: Result, expected: Result) -> Offender:
        for index, layer in enumerate(self.chip.layers):
            pairs = [(getattr(got, name)[index], getattr(expected, name)[index]) for name in ("counts", "traces", "potentials")]
            wrong = np.flatnonzero(np.any([(a != b).reshape(-1) for a, b in pairs], axis=0))
            if len(wrong):
                flat = int(wrong[0])
                theirs, ours = ([int(pair[side].reshape(-1)[flat]) for pair in pairs] for side in (0, 1))
                sides = f"ends with {theirs[0]} messages, a rate of {theirs[1]} and a sum of {theirs[2]}, the emulator with {ours}"
                hint = "" if got.spikes is not None else "; record spikes (--spikes) to find the step"
                return {"layer": layer.name, "neuron": neuron_index(layer, flat), "what": f"{sides}; {len(wrong)} neurons differ{hint}"}
        wrong = np.flatnonzero(got.readout[0] != expected.readout[0])
        if len(wrong):
            flat = int(wrong[0])
            what = f"ends with a sum of {int(got.readout[0, flat])}, the emulator with {int(expected.readout[0, flat])}"
            return {"layer": READOUT, "neuron": [flat], "what": what}
        return {"what": "messages in flight, clip counts or the steps of messages differ; rates and sums do not"}

    def check(self) -> Check:
        numbers = {
            "samples": self.samples,
            "different": self.different,
            "messages": self.spikes,
            "count_distance": self.distance,
            "trains": self.recorded == self.samples,
        }
        summary = self._agreement("message", "sum")
        if self.different:
            summary = f"{self.different} of {self.samples} samples differ from the emulator, {self._place()}"
        passed = self.different == 0
        return Check(name="messages", link=LINK, passed=passed, summary=summary, numbers=numbers, offenders=tuple(self.offenders))


def _change(change: int) -> str:
    return "nothing" if change == 0 else f"{change:+d}"
