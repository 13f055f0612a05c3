"""Delta encoding: every message, sum and rate of a backend against the emulator."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.ir.network import READOUT, ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.batch import Batch, neuron_index
from fsnn_lava.verify.check import Check, Offender
from fsnn_lava.verify.checks.spikes import LINK, SpikesCheck
from fsnn_lava.verify.divergence import first_divergence
from fsnn_lava.verify.message_reference import MessageReference


class MessagesCheck(SpikesCheck):
    """SpikesCheck for delta encoding: `spikes` are messages."""

    emulator: DeltaEmulator | MessageReference

    def __init__(self, chip: ChipNetwork, *, stock: bool = False) -> None:
        """`stock`: the backend ran Lava's own neurons, which only the reference computes."""
        super().__init__(chip, emulator=MessageReference(chip, stock=True) if stock else DeltaEmulator(chip))

    def _refer(self, batch: Batch) -> None:
        """Does nothing: the reference of E9 has no delta encoding, and sums and dead bands are checked without the emulator."""

    def _locate(self, values: NDArray[np.uint8], got: Result, sample: int) -> Offender:
        expected = self.emulator.run(values, steps=got.steps, spikes=True)
        if got.spikes is not None and expected.spikes is not None:
            found = first_divergence(got.spikes, expected.spikes)
            if found is not None:
                index, step, flat = found
                layer = self.emulator.chip.layers[index]
                ours, theirs = (int(trains[index][0, step - 1].reshape(-1)[flat]) for trains in (expected.spikes, got.spikes))
                what = f"the backend sends {_change(theirs)}, the emulator {_change(ours)}"
                return {"sample": sample, "layer": layer.name, "neuron": neuron_index(layer, flat), "step": step, "what": what}
        return {"sample": sample, **self._at_end(got, expected)}

    def _at_end(self, got: Result, expected: Result) -> Offender:
        for index, layer in enumerate(self.emulator.chip.layers):
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
        """The finding on the number of messages."""
        found = super().check()
        numbers = {**found.numbers, "messages": self.spikes}
        return Check(name="messages", link=LINK, passed=found.passed, summary=self._sentence(), numbers=numbers, offenders=found.offenders)

    def _sentence(self) -> str:
        return super()._sentence().replace("spike count", "message count").replace("spike", "message").replace("potential", "sum")


def _change(change: int) -> str:
    return "nothing" if change == 0 else f"{change:+d}"
