"""Check every message, sum and rate of a backend against the emulator with delta encoding, and some samples against a plain reference."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.ir.network import READOUT, ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.batch import Batch
from fsnn_lava.verify.check import Check, Offender
from fsnn_lava.verify.checks.referenced_run import ReferencedRun
from fsnn_lava.verify.checks.repeated_run import LINK
from fsnn_lava.verify.divergence import different_parts, first_divergence, first_divergent_layer, not_localised
from fsnn_lava.verify.message_reference import MessageReference
from fsnn_lava.verify.neuron_index import neuron_index

_STATES = ("counts", "traces", "potentials")  # messages, rates and sums at the end


class MessagesCheck(ReferencedRun):
    """ReferencedRun for delta encoding, where `spikes` are messages.

    With `stock`, the backend ran Lava's own neurons, which only the reference computes, so the reference replaces the emulator.
    """

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        self.reference = MessageReference(chip, stock=stock)
        if stock:
            super().__init__(self.reference, name="the reference of Lava's neurons")
        else:
            super().__init__(DeltaEmulator(chip))
        self.stock = stock

    def _refer(self, batch: Batch) -> None:
        if not self.stock:
            super()._refer(batch)

    def _reference(self, values: NDArray[np.uint8], steps: int) -> Result:
        return self.reference.run(values, steps=steps, spikes=True)

    def _locate(self, values: NDArray[np.uint8], got: Result, sample: int) -> Offender:
        expected = self.emulator.run(values, steps=got.steps, spikes=True)
        return {"sample": sample, **self._where(got, expected, self.name)}

    def _locate_from_reference(self, got: Result, expected: Result, sample: int) -> Offender:
        return {"sample": sample, **self._where(got, expected, "the reference")}

    def _where(self, got: Result, expected: Result, against: str) -> Offender:
        """Return the first message that differs, if messages were recorded, else what differs at the end."""
        if got.spikes is not None and expected.spikes is not None:
            found = first_divergence(got.spikes, expected.spikes)
            if found is not None:
                index, step, flat = found
                layer = self.chip.layers[index]
                ours, theirs = (int(trains[index][0, step - 1].reshape(-1)[flat]) for trains in (expected.spikes, got.spikes))
                what = f"the backend sends {_change(theirs)}, {against} {_change(ours)}"
                return {"layer": layer.name, "neuron": neuron_index(layer, flat), "step": step, "what": what}
        return self._at_end(got, expected, against)

    def _at_end(self, got: Result, expected: Result, against: str) -> Offender:
        """Return what differs in the final states; a layer is named if its differences may explain all others."""
        states = {
            index: [(getattr(got, name)[index].reshape(-1), getattr(expected, name)[index].reshape(-1)) for name in _STATES]
            for index in range(len(self.chip.layers))
        }
        different = {index: np.flatnonzero(np.any([a != b for a, b in pairs], axis=0)) for index, pairs in states.items()}
        layers = [index for index, neurons in different.items() if len(neurons)]
        origin = first_divergent_layer(self.chip, layers)
        hint = "" if got.spikes is not None else "; record spikes (--spikes) to find the step"
        if origin is not None:
            layer, flat = self.chip.layers[origin], int(different[origin][0])
            theirs, ours = ([int(pair[side][flat]) for pair in states[origin]] for side in (0, 1))
            sides = f"ends with {theirs[0]} messages, a rate of {theirs[1]} and a sum of {theirs[2]}, {against} with {ours}"
            what = f"{sides}; {len(different[origin])} neurons differ{hint}"
            return {"layer": layer.name, "neuron": neuron_index(layer, flat), "what": what}
        if layers:
            return {"what": not_localised(self.chip, layers, against) + hint}
        wrong = np.flatnonzero(got.readout[0] != expected.readout[0])
        if len(wrong):
            flat = int(wrong[0])
            what = f"ends with a sum of {int(got.readout[0, flat])}, {against} with {int(expected.readout[0, flat])}"
            return {"layer": READOUT, "neuron": [flat], "what": what}
        return {"what": f"{different_parts(got, expected)} differ; rates and sums do not"}

    def check(self) -> Check:
        numbers = {
            "samples": self.samples,
            "different": self.different,
            "reference_samples": self.referenced,
            "reference_different": self.unlike_reference,
            "messages": self.spikes,
            "count_distance": self.distance,
            "trains": self.recorded == self.samples,
        }
        summary = self._agreement("message", "sum") + self._confirmation("E15") if self.passed else self._difference()
        return Check(name="messages", link=LINK, passed=self.passed, summary=summary, numbers=numbers, offenders=tuple(self.offenders))


def _change(change: int) -> str:
    return "nothing" if change == 0 else f"{change:+d}"
