"""Single faults of delta encoding: each breaks one rule of E14 or E15 in an otherwise correct run, which the comparator then judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from fsnn_lava.ir.network import ChipNetwork, Layer, Synapse
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.message_reference import MessageReference
from fsnn_lava.verify.verdict import Verdict
from tests.helpers.chip_networks import conv_network, dense_network, skip_network
from tests.helpers.fault_catalogue import has_effect
from tests.helpers.naive_delta import DeltaFaults, as_delta, simulate_delta

BACKENDS = ("emu", "sim", "stock")
SAMPLES = 3
GRAPHS: dict[str, Callable[[], ChipNetwork]] = {
    "dense, one layer": lambda: replace(as_delta(dense_network(3, size=12)), steps=7),
    "conv, two layers, transposed feedback": lambda: replace(as_delta(conv_network(3)), steps=8),
    "a skip and two loops": lambda: as_delta(skip_network(3, steps=8)),
}


@dataclass(frozen=True)
class DeltaCase:
    """A network as a backend runs it, with inputs. On "emu" the emulator makes the same mistake when it runs again."""

    chip: ChipNetwork
    backend: str
    values: np.ndarray

    @property
    def stock(self) -> bool:
        return self.backend == "stock"

    def run(self, *, chip: ChipNetwork | None = None, **hooks: Any) -> Result:
        """Run `chip` (default: the right one) with hooks of DeltaFaults, which Lava's own neurons do not have."""
        used = chip or self.chip
        if self.stock:
            found = MessageReference(used, stock=True).run(self.values, spikes=True)
        else:
            found = simulate_delta(used, self.values, faults=DeltaFaults(**hooks))
        return replace(
            found, digest=self.chip.digest(), backend="emu" if self.backend == "emu" else "sim", graph="stock" if self.stock else ""
        )

    @cached_property
    def right(self) -> Result:
        return self.run()

    def judge(self, result: Result, *, offset: int = 0) -> Verdict:
        comparator = Comparator(self.chip, graph="stock" if self.stock else "", equilibrium_samples=0)
        if self.backend == "emu":
            comparator.spikes.emulator = _Repeated(self.chip, result)  # type: ignore[assignment]
        comparator.add(result, self.values, offset=offset)
        return comparator.verdict()


@dataclass(frozen=True)
class _Repeated:
    """An emulator that makes the same mistake again."""

    chip: ChipNetwork
    result: Result

    def run(self, values: np.ndarray, *, steps: int | None = None, spikes: bool = False) -> Result:
        return self.result.part(slice(0, len(values)))


@dataclass(frozen=True)
class DeltaFault:
    """One rule, broken: `run` gives the broken run, or None where it does not apply."""

    rule: str
    name: str
    run: Callable[[DeltaCase], Result | None]


@dataclass(frozen=True)
class DeltaOutcome:
    """What the comparator said about one broken run."""

    fault: DeltaFault
    graph: str
    backend: str
    found: bool
    by: tuple[str, ...]  # the checks that failed


def _hooked(**hooks: Any) -> Callable[[DeltaCase], Result | None]:
    return lambda case: None if case.stock else case.run(**hooks)


def _synapse(chip: ChipNetwork, kind: str) -> int | None:
    """The last synapse of a kind."""
    kinds = {
        "input": lambda s: s.source == "input",
        "feedback": lambda s: not chip.is_forward(s),
        "forward": lambda s: s.source != "input" and chip.is_forward(s),
        "skip": lambda s: s.source != "input" and chip.chip_delay(s) > 1,
    }
    return next((i for i in reversed(range(len(chip.synapses))) if kinds[kind](chip.synapses[i])), None)


def _with_synapse(kind: str, change: Callable[[Synapse], Synapse]) -> Callable[[DeltaCase], Result | None]:
    def run(case: DeltaCase) -> Result | None:
        number, chip = _synapse(case.chip, kind), case.chip
        if number is None:
            return None
        synapses = (*chip.synapses[:number], change(chip.synapses[number]), *chip.synapses[number + 1 :])
        return case.run(chip=replace(chip, synapses=synapses))

    return run


def _with_layer(change: Callable[[Layer], Layer]) -> Callable[[DeltaCase], Result | None]:
    def run(case: DeltaCase) -> Result:
        *rest, last = case.chip.layers
        return case.run(chip=replace(case.chip, layers=(*rest, change(last))))

    return run


def _with_bands(change: Callable[[int], int]) -> Callable[[DeltaCase], Result | None]:
    def run(case: DeltaCase) -> Result:
        delta = case.chip.delta
        assert delta is not None
        return case.run(chip=replace(case.chip, delta=replace(delta, dead_bands=tuple(change(band) for band in delta.dead_bands))))

    return run


def _with_readout(change: Callable[[Any], Any]) -> Callable[[DeltaCase], Result | None]:
    return lambda case: case.run(chip=replace(case.chip, readout=change(case.chip.readout)))


def _message(change: Callable[[int], int]) -> Callable[[DeltaCase], Result | None]:
    """One message of the first layer, in the first half of the run, arrives changed."""

    def run(case: DeltaCase) -> Result | None:
        if case.stock or case.right.spikes is None:
            return None
        train = case.right.spikes[0].reshape(SAMPLES, case.chip.steps, -1)
        found = np.argwhere(train[:, : case.chip.steps // 2])
        if not len(found):
            return None
        sample, step, neuron = (int(i) for i in found[0])

        def deliver(layer: int, tau: int, changes: np.ndarray) -> np.ndarray:
            if (layer, tau) == (0, step + 1):
                changes = changes.copy()
                changes[sample, neuron] = change(int(changes[sample, neuron]))
            return changes

        return case.run(delivered=deliver)

    return run


def _late(kind: str, steps: int) -> Callable[[DeltaCase], Result | None]:
    def run(case: DeltaCase) -> Result | None:
        number = _synapse(case.chip, kind)
        return None if number is None or case.stock else case.run(late_by=lambda i: steps * (i == number))

    return run


def _lost(kind: str) -> Callable[[DeltaCase], Result | None]:
    def run(case: DeltaCase) -> Result | None:
        number = _synapse(case.chip, kind)
        return None if number is None or case.stock else case.run(matrix=lambda i, matrix: matrix * (i != number))

    return run


def _bent(synapse: Synapse) -> Synapse:
    """The largest weight without its lowest set bit."""
    weight = synapse.weight.copy()
    place = np.unravel_index(int(np.abs(weight.astype(int)).argmax()), weight.shape)
    weight[place] &= weight[place] - 1
    return replace(synapse, weight=np.maximum(weight, -127))


def _clip(case: DeltaCase) -> Result | None:
    """The sums of the first layer are clipped to a quarter of what they reach, and nobody counts it."""
    top = int(np.abs(case.right.potentials[0]).max()) // 4
    if case.stock or top == 0:
        return None
    reached = {"sums": np.zeros((SAMPLES, case.chip.layers[0].size), dtype=np.int64)}

    def received(layer: int, tau: int, total: np.ndarray) -> np.ndarray:
        if layer:
            return total
        before = reached["sums"]
        reached["sums"] = np.clip(before + total, -top, top)
        return reached["sums"] - before

    return case.run(received=received)


def _round_to_nearest(layer: int, tau: int, z: np.ndarray, rate: np.ndarray) -> np.ndarray:
    one = 2**8
    return np.clip((z + 2**8) // 2**9, 0, one)  # as_delta: thresholds of 512


def _recorded(**changes: Callable[[Any], Any]) -> Callable[[DeltaCase], Result | None]:
    """A correct run that was recorded wrongly, without trains, which would show it."""
    return lambda case: replace(case.right, spikes=None, **{name: change(getattr(case.right, name)) for name, change in changes.items()})


def _in_last_layer(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]:
    return lambda arrays: (*arrays[:-1], change(arrays[-1]).astype(arrays[-1].dtype))


CATALOGUE = (
    DeltaFault("message", "is lost", _message(lambda change: 0)),
    DeltaFault("message", "arrives twice", _message(lambda change: 2 * change)),
    DeltaFault("message", "is one unit too large", _message(lambda change: change + 1)),
    DeltaFault("message", "has the wrong sign", _message(lambda change: -change)),
    DeltaFault("weights", "a weight of the input is wrong", _with_synapse("input", _bent)),
    DeltaFault("weights", "a forward weight is wrong", _with_synapse("forward", _bent)),
    DeltaFault("weights", "a weight of the feedback is wrong", _with_synapse("feedback", _bent)),
    DeltaFault("shift", "an exponent is one too large", _with_synapse("feedback", lambda s: replace(s, exponent=s.exponent + 1))),
    DeltaFault("shift", "s is one too small", _hooked(shift=lambda layer, shift: shift - 1)),
    DeltaFault("shift", "s is one too large", _with_layer(lambda layer: replace(layer, threshold=layer.threshold * 2))),
    DeltaFault("rounding", "to the nearest, not down", _hooked(rate=_round_to_nearest)),
    DeltaFault("rounding", "of the sum in every step", _hooked(received=lambda layer, tau, total: total // 4 * 4)),
    DeltaFault("dead band", "one unit too small", _with_bands(lambda band: band - 1)),
    DeltaFault("dead band", "three times too large", _with_bands(lambda band: 3 * band)),
    DeltaFault("dead band", "is exceeded, not reached", _hooked(band=lambda layer, band: band + 1)),
    DeltaFault("clip", "rates are not clipped at 1", _hooked(rate=lambda layer, tau, z, rate: np.maximum(z // 2**9, 0))),
    DeltaFault("clip", "rates are not clipped at 0", _hooked(rate=lambda layer, tau, z, rate: np.minimum(z // 2**9, 2**8))),
    DeltaFault("clip", "sums are clipped, not counted", _clip),
    DeltaFault("reset", "sums are kept from the last sample", _hooked(start=lambda layer, sums: sums + 7)),
    DeltaFault("drive", "a bias is off by one", _with_layer(lambda layer: replace(layer, bias=layer.bias + 1))),
    DeltaFault("drive", "the input is sent twice", _hooked(drive=lambda layer, drive: drive * 2 if layer == 0 else drive)),
    DeltaFault("drive", "the input is sent in every step", _hooked(received=lambda layer, tau, total: total + 512 * (layer == 0))),
    DeltaFault("told", "a neuron forgets what it sent", _hooked(told=lambda layer, tau, told: told * (tau != 2))),
    DeltaFault("told", "a change is sent in halves", _hooked(sent=lambda layer, tau, change: change - change // 2)),
    DeltaFault("delay", "feedback takes a step too long", _late("feedback", 1)),
    DeltaFault("delay", "a forward connection takes a step too long", _late("forward", 1)),
    DeltaFault("delay", "a skip arrives a step too early", _late("skip", -1)),
    DeltaFault("delivery", "a skip is lost", _lost("skip")),
    DeltaFault("delivery", "the feedback is lost", _lost("feedback")),
    DeltaFault("window", "a layer is silent in its first step", _hooked(sent=lambda layer, tau, change: change * (tau > 1))),
    DeltaFault("readout", "a bias is off by one", _with_readout(lambda readout: replace(readout, bias=readout.bias + 1))),
    DeltaFault(
        "readout",
        "its weights are one too small",
        _with_readout(lambda readout: replace(readout, weight=np.maximum(readout.weight, -126) - 1)),
    ),
    DeltaFault(
        "record",
        "wrong sums are called clipped",
        _recorded(potentials=_in_last_layer(lambda sums: sums + 999), clipped=_in_last_layer(lambda flags: flags | 2)),
    ),
    DeltaFault("record", "more messages than steps", _recorded(counts=_in_last_layer(lambda counts: counts + 99))),
)


def cases(graph: str, backend: str) -> DeltaCase:
    chip = GRAPHS[graph]()
    return DeltaCase(chip, backend, np.random.default_rng(5).integers(0, 256, (SAMPLES, *chip.input.shape), dtype=np.uint8))


def outcomes(which: Callable[[int], bool] = lambda number: True, *, trains: bool = True) -> Iterator[DeltaOutcome]:
    """Judge every fault on every backend and network, or those of the given numbers; with recorded changes, or without."""
    number = 0
    for graph in GRAPHS:
        for backend in BACKENDS:
            case = cases(graph, backend)
            for fault in CATALOGUE:
                number += 1
                broken = fault.run(case) if which(number) else None
                if broken is None or not has_effect(broken, case.right):
                    continue
                offset = 1001 if fault.rule == "record" else 0  # beyond the samples that are emulated again
                verdict = case.judge(broken if trains else replace(broken, spikes=None), offset=offset)
                yield DeltaOutcome(fault, graph, backend, not verdict.faithful, tuple(check.name for check in verdict.failed))
