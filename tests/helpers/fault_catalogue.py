"""A catalogue of single faults: every rule of E9, broken alone, on every backend, on several networks, with a leak and without.

A broken run comes from the naive simulator. On "sim" and "stock" the comparator's emulator is right. On "emu" the emulator itself is
broken, so that running it again shows nothing: only what does not use it can find the fault.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fsnn_lava.ir.network import ChipNetwork, Layer, Synapse
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import runs_as_atrlif, stock_equivalent
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.divergence import differing_samples
from fsnn_lava.verify.verdict import Verdict
from tests.helpers.chip_networks import conv_network, dense_network, skip_network
from tests.helpers.naive_atrlif import NaiveAtrlif, floored
from tests.helpers.naive_simulator import TOP, Array, Charged, Faults, simulate, towards_zero
from tests.helpers.strategies import random_network

BACKENDS = ("emu", "sim", "stock")
LEAKS = {"IF": 0, "LIF": 205}
SAMPLES = 3


def even(chip: ChipNetwork) -> ChipNetwork:
    """Every weight and bias a multiple of a tenth of the threshold: potentials often meet the threshold exactly."""
    unit = int(chip.layers[0].threshold) // 10
    synapses = tuple(replace(s, weight=np.rint(s.weight / unit).clip(-1, 1).astype(int) * unit) for s in chip.synapses)
    layers = tuple(replace(layer, bias=np.rint(layer.bias / unit).astype(int) * unit) for layer in chip.layers)
    return replace(chip, synapses=synapses, layers=layers)


GRAPHS: dict[str, Callable[[int], ChipNetwork]] = {
    "dense, one layer": lambda decay: dense_network(3, size=12, decay=decay),
    "conv, two layers, transposed feedback": lambda decay: conv_network(3, decay=decay),
    "three layers": lambda decay: replace(
        random_network(np.random.default_rng(41), layers=3, kind="pixels", decay=decay, reset="subtract", strict=False, feedback=True),
        steps=14,
    ),
    "events, exact multiples": lambda decay: even(dense_network(5, size=12, kind="events", decay=decay)),
    "a skip and two loops": lambda decay: skip_network(3, decay=decay, steps=10),
    "shifted input": lambda decay: dense_network(3, size=12, decay=decay, exponent=-9),
}


class BrokenNeurons:
    """E9 with options that break it; the same ones as of NaiveAtrlif."""

    def __init__(
        self,
        *,
        layer: Layer,
        fires_at: int = 1,
        subtracts: int = 64,
        refractory: int = 0,
        withheld: int = 0,
        leak_v: Callable[[Array, int], Array] = towards_zero,
    ) -> None:
        self.layer, self.fires_at, self.subtracts, self.refractory, self.withheld, self.leak = (
            layer,
            fires_at,
            subtracts,
            refractory,
            withheld,
            leak_v,
        )
        self.theta = 64 * layer.per_neuron(layer.threshold).reshape(-1).astype(np.int64)
        self.u = self.since = self.due = np.zeros((1, layer.size), dtype=np.int64)

    def step(self, bias: Array, synaptic: Array) -> Charged:
        charged = self.leak(self.u, self.layer.decay) + bias + synaptic
        low, high = charged < -TOP, charged > TOP
        charged = np.clip(charged, -TOP, TOP)
        limit = self.fires_at * self.theta
        fires = charged > limit if self.layer.strict else charged >= limit
        self.since = self.since + 1
        fires = fires & ((self.since > self.refractory) | (self.refractory == 0))
        self.due = self.due + fires
        if self.withheld:
            fires = fires & (self.due % self.withheld == 0)
        self.since = np.where(fires, 0, self.since)
        taken = self.theta // 64 * self.subtracts if self.layer.reset == "subtract" else charged
        self.u = np.where(fires, charged - taken, charged)
        return Charged(u=self.u, spikes=fires.astype(np.int64), low=low, high=high)


@dataclass(frozen=True)
class Case:
    """A network as a backend runs it, with inputs."""

    exported: ChipNetwork
    backend: str
    values: np.ndarray

    @property
    def stock(self) -> bool:
        return self.backend == "stock"

    @property
    def chip(self) -> ChipNetwork:
        return stock_equivalent(self.exported)[0] if self.stock else self.exported

    def run(self, *, chip: ChipNetwork | None = None, faults: Faults | None = None, layer: str = "", **broken: Any) -> Result:
        """Run `chip` (default: the right one); `broken` are options of the neurons of one layer."""

        def neurons(one: Layer) -> Any:
            kind = NaiveAtrlif if self.stock and runs_as_atrlif(one) else BrokenNeurons
            return kind(layer=one, **(broken if one.name == layer else {}))

        result = simulate(chip or self.chip, self.values, faults=faults, neurons=neurons)
        result = replace(
            result, digest=self.chip.digest(), backend="emu" if self.backend == "emu" else "sim", graph="stock" if self.stock else ""
        )
        if not self.stock:
            return result
        return replace(result, clipped=tuple(np.zeros_like(f) for f in result.clipped), clip_count=np.zeros_like(result.clip_count))

    def judge(self, result: Result, *, offset: int = 0) -> Verdict:
        comparator = Comparator(self.exported, graph="stock" if self.stock else "", equilibrium_samples=0)
        if self.backend == "emu":
            comparator.spikes.emulator = _Repeated(self.chip, result)  # type: ignore[assignment]
        comparator.add(result, self.values, offset=offset)
        return comparator.verdict()


@dataclass(frozen=True)
class _Repeated:
    """An emulator that makes the same mistake again."""

    chip: ChipNetwork
    result: Result

    def run(self, values: np.ndarray, *, steps: int, spikes: bool = False) -> Result:
        return self.result.part(slice(0, len(values)))


@dataclass(frozen=True)
class Fault:
    """One rule, broken: `run` gives the broken run and the layers in which it may be found first, or None where it does not apply."""

    rule: str
    name: str
    run: Callable[[Case], tuple[Result, set[str]] | None]


def _synapse(chip: ChipNetwork, choose: Callable[[Synapse], bool]) -> int | None:
    """The last synapse of a kind."""
    return next((i for i in reversed(range(len(chip.synapses))) if choose(chip.synapses[i])), None)


def _with_synapse(case: Case, feedback: bool | None, change: Callable[[Synapse], Synapse]) -> tuple[Result, set[str]] | None:
    """A run with one synapse changed: feedback, forward between layers, or the input's (None)."""
    chip = case.chip
    number = _synapse(chip, lambda s: s.source == "input" if feedback is None else s.source != "input" and chip.is_forward(s) != feedback)
    if number is None:
        return None
    changed = change(chip.synapses[number])
    wrong = replace(chip, synapses=(*chip.synapses[:number], changed, *chip.synapses[number + 1 :]))
    return case.run(chip=wrong), {changed.target}


def _bent_weight(case: Case, feedback: bool | None) -> tuple[Result, set[str]] | None:
    """A single weight without its lowest set bit: the first one for which that shows, because spikes pass through it."""
    right = case.run()
    for attempt in range(40):

        def bent(synapse: Synapse, attempt: int = attempt) -> Synapse:
            weight = synapse.weight.copy()
            places = np.argwhere(weight)
            place = tuple(places[attempt * max(1, len(places) // 40) % len(places)])
            weight[place] &= weight[place] - 1
            return replace(synapse, weight=np.maximum(weight, -127))

        found = _with_synapse(case, feedback, bent)
        if found is None or has_effect(found[0], right):
            return found
    return None


def _turned(synapse: Synapse) -> Synapse:
    weight = synapse.weight
    square = weight.shape[-1] == weight.shape[-2]
    return replace(synapse, weight=np.swapaxes(weight, -1, -2) if square else weight[..., ::-1])


def _with_layer(case: Case, change: Callable[[Layer], Layer]) -> tuple[Result, set[str]]:
    *rest, last = case.chip.layers
    return case.run(chip=replace(case.chip, layers=(*rest, change(last)))), {last.name}


def _neurons(case: Case, **broken: Any) -> tuple[Result, set[str]]:
    last = case.chip.layers[-1].name
    return case.run(layer=last, **broken), {last}


def _hooked(case: Case, layers: set[str], **hooks: Any) -> tuple[Result, set[str]]:
    return case.run(faults=Faults(**hooks)), layers


def _listeners(case: Case, layer: str) -> set[str]:
    chip = case.chip
    return {s.target for s in chip.synapses if s.source == layer} | ({"readout"} if layer == chip.layers[-1].name else set())


def _lost_spike(case: Case, factor: int) -> tuple[Result, set[str]]:
    """Spikes of layer 1 in the middle of the run do not arrive, or arrive twice."""
    middle = case.chip.steps // 2
    lose = lambda layer, tau, spikes: spikes * (factor if (layer, tau) == (0, middle) else 1)  # noqa: E731
    return _hooked(case, _listeners(case, case.chip.layers[0].name), delivered=lose)


def _late(case: Case, feedback: bool) -> tuple[Result, set[str]] | None:
    chip = case.chip
    number = _synapse(chip, lambda s: s.source != "input" and chip.is_forward(s) != feedback)
    if number is None:
        return None
    return _hooked(case, {chip.synapses[number].target}, late_by=lambda i: int(i == number))


def _skip(chip: ChipNetwork) -> int | None:
    """The last connection that skips layers."""
    return _synapse(chip, lambda s: s.source != "input" and chip.chip_delay(s) > 1)


def _skip_late(case: Case, steps: int) -> tuple[Result, set[str]] | None:
    number = _skip(case.chip)
    if number is None:
        return None
    return _hooked(case, {case.chip.synapses[number].target}, late_by=lambda i: steps * (i == number))


def _lost(case: Case, number: int | None) -> tuple[Result, set[str]] | None:
    """A connection that delivers nothing."""
    if number is None:
        return None
    return _hooked(case, {case.chip.synapses[number].target}, matrix=lambda i, matrix: matrix * (i != number))


def _second_feedback(chip: ChipNetwork) -> int | None:
    found = [i for i, synapse in enumerate(chip.synapses) if not chip.is_forward(synapse)]
    return found[1] if len(found) > 1 else None


def _clipped(case: Case) -> tuple[Result, set[str]] | None:
    if case.stock:
        return None
    last = len(case.chip.layers) - 1
    floor = int(case.run().potentials[last].min()) // 2
    return _hooked(case, {case.chip.layers[last].name}, potential=lambda at, tau, u: np.maximum(u, floor) if at == last else u)


def _rounded_shift(case: Case) -> tuple[Result, set[str]] | None:
    number = _synapse(case.chip, lambda s: 6 + s.exponent < 0)
    if number is None:
        return None
    towards = lambda i, total, bits: np.sign(total) * (np.abs(total) // 2**-bits) if bits < 0 else total * 2**bits  # noqa: E731
    return _hooked(case, {case.chip.synapses[number].target}, shift=towards)


def _not_reset(case: Case) -> tuple[Result, set[str]]:
    """The second sample starts with the potentials that the first ended with."""
    carried = case.run().potentials[0][0].reshape(-1).astype(np.int64)

    def carry(layer: int, tau: int, current: Array) -> Array:
        current = current.copy()
        if (layer, tau) == (0, 1):
            current[1] += carried
        return current

    return _hooked(case, {case.chip.layers[0].name}, current=carry)


def _window(case: Case) -> tuple[Result, set[str]]:
    """The last layer starts to integrate a step too late."""
    last = len(case.chip.layers) - 1
    return _hooked(case, {case.chip.layers[last].name}, current=lambda at, tau, i: i * 0 if (at, tau) == (last, 1) else i)


def _uncounted(case: Case) -> tuple[Result, set[str]]:
    """The last layer's last step is not counted."""
    last = len(case.chip.layers) - 1
    return _hooked(case, {case.chip.layers[last].name}, counted=lambda at, tau, s: s * ((at, tau) != (last, case.chip.steps)))


def _readout(case: Case, change: Callable[[Any], Any]) -> tuple[Result, set[str]]:
    return case.run(chip=replace(case.chip, readout=change(case.chip.readout))), {"readout"}


def _other_decay(case: Case) -> tuple[Result, set[str]] | None:
    if case.chip.decay == 0:
        return None
    off = lambda v, decay: towards_zero(v, decay + 1)  # noqa: E731
    return _neurons(case, leak_v=off)


def _floored(case: Case) -> tuple[Result, set[str]] | None:
    return _neurons(case, leak_v=floored) if case.chip.decay else None


def _no_leak(case: Case) -> tuple[Result, set[str]] | None:
    return _neurons(case, leak_v=lambda v, decay: v) if case.chip.decay else None


def _recorded(case: Case, **changes: Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]) -> tuple[Result, set[str]]:
    """A correct run, of which some arrays of the last layer were recorded wrongly; without trains, which would show it."""
    right = replace(case.run(), spikes=None)
    return replace(right, **{name: change(getattr(right, name)) for name, change in changes.items()}), {case.chip.layers[-1].name}


def _more_spikes(case: Case) -> tuple[Result, set[str]]:
    """Counts above T; the potential is lowered by as much, so that charge is conserved."""
    layer, more = case.chip.layers[-1], case.chip.steps + 5
    theta = 64 * layer.per_neuron(layer.threshold).astype(np.int64)

    def change(by: Any) -> Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]]:
        return lambda arrays: (*arrays[:-1], (arrays[-1] + by).astype(arrays[-1].dtype))

    return _recorded(case, counts=change(more), traces=change(float(more)), potentials=change(-theta * more))


def _more_late(case: Case) -> tuple[Result, set[str]]:
    grow = lambda arrays: tuple(a + a.dtype.type(case.chip.steps + 1) for a in arrays)  # noqa: E731
    result, _ = _recorded(case, late=grow, late_traces=grow)
    return result, {case.chip.layer(s.source).name for s in case.chip.feedback}


def _negative(case: Case) -> tuple[Result, set[str]]:
    return _recorded(case, counts=lambda a: (*a[:-1], a[-1] * 0 - 1), traces=lambda a: (*a[:-1], a[-1] * 0.0 - 1))


def _heavy_trace(case: Case) -> tuple[Result, set[str]]:
    return _recorded(case, traces=lambda a: (*a[:-1], a[-1] + case.chip.weight_sum(case.chip.steps)))


def _strict(case: Case) -> tuple[Result, set[str]] | None:
    """Has an effect only where a potential meets its threshold exactly."""
    return _with_layer(case, lambda layer: replace(layer, strict=not layer.strict))


CATALOGUE = (
    Fault("input", "a weight of the input is wrong", lambda c: _bent_weight(c, None)),
    Fault("input", "the input's weights are turned", lambda c: _with_synapse(c, None, _turned)),
    Fault("weights", "a weight of the feedback is wrong", lambda c: _bent_weight(c, True)),
    Fault("weights", "the feedback's weights are turned", lambda c: _with_synapse(c, True, _turned)),
    Fault("weights", "a forward weight is wrong", lambda c: _bent_weight(c, False)),
    Fault(
        "shift", "the feedback's exponent is one too large", lambda c: _with_synapse(c, True, lambda s: replace(s, exponent=s.exponent + 1))
    ),
    Fault("shift", "a sum is rounded towards zero, not down", _rounded_shift),
    Fault("bias", "a bias is off by one", lambda c: _with_layer(c, lambda layer: replace(layer, bias=layer.bias + 1))),
    Fault("threshold", "a threshold is off by one", lambda c: _with_layer(c, lambda layer: replace(layer, threshold=layer.threshold + 1))),
    Fault("firing", "fires at twice the threshold", lambda c: _neurons(c, fires_at=2)),
    Fault("firing", "fires above the threshold, not at it (or at it, not above)", _strict),
    Fault("firing", "a silent step after every spike", lambda c: _neurons(c, refractory=1)),
    Fault("firing", "every second spike is withheld", lambda c: _neurons(c, withheld=2)),
    Fault("reset", "to zero", lambda c: _with_layer(c, lambda layer: replace(layer, reset="zero"))),
    Fault("reset", "subtracts 63/64 of the threshold", lambda c: _neurons(c, subtracts=63)),
    Fault("reset", "state is kept from one sample to the next", _not_reset),
    Fault("leak", "off by 1/4096", _other_decay),
    Fault("leak", "rounded down, not towards zero", _floored),
    Fault("leak", "none", _no_leak),
    Fault("delay", "feedback takes a step too long", lambda c: _late(c, True)),
    Fault("delay", "a forward connection takes a step too long", lambda c: _late(c, False)),
    Fault("delay", "a skip takes a step too long", lambda c: _skip_late(c, 1)),
    Fault("delay", "a skip arrives as soon as feedback would", lambda c: _skip_late(c, -1)),
    Fault("delivery", "a skip is lost", lambda c: _lost(c, _skip(c.chip))),
    Fault("delivery", "the second feedback is lost", lambda c: _lost(c, _second_feedback(c.chip))),
    Fault("delivery", "spikes of one step are lost", lambda c: _lost_spike(c, 0)),
    Fault("delivery", "spikes of one step arrive twice", lambda c: _lost_spike(c, 2)),
    Fault("window", "a layer starts a step too late", _window),
    Fault("window", "the last step is not counted", _uncounted),
    Fault("clip", "clipped at the bottom, not counted", _clipped),
    Fault("readout", "a bias is off by one", lambda c: _readout(c, lambda r: replace(r, bias=r.bias + 1))),
    Fault("readout", "its weights are one too small", lambda c: _readout(c, lambda r: replace(r, weight=np.maximum(r.weight, -126) - 1))),
    Fault("record", "more spikes than steps, charge conserved", _more_spikes),
    Fault("record", "more late spikes than spikes", _more_late),
    Fault("record", "negative counts", _negative),
    Fault("record", "traces above their sum", _heavy_trace),
)


@dataclass(frozen=True)
class Outcome:
    """What the comparator said about one broken run."""

    fault: Fault
    graph: str
    leak: str
    backend: str
    offset: int
    found: bool
    layer: str | None  # the first that was named
    expected: frozenset[str]

    @property
    def named(self) -> bool:
        return self.layer in self.expected


def cases(graph: str, leak: str, backend: str) -> Case | None:
    chip = GRAPHS[graph](LEAKS[leak])
    rng = np.random.default_rng(5)
    shape = (SAMPLES, chip.steps, *chip.input.shape) if chip.input.kind == "events" else (SAMPLES, *chip.input.shape)
    values = (rng.random(shape) < 0.5).astype(np.uint8) if chip.input.kind == "events" else rng.integers(0, 256, shape, dtype=np.uint8)
    return Case(chip, backend, values)


def outcomes(which: Callable[[int], bool] = lambda number: True, *, trains: bool = True) -> Iterator[Outcome]:
    """Judge every fault on every backend and network, or those of the given numbers; with recorded spike trains, or without.

    Record faults never have trains, and lie beyond the samples that are emulated again.
    """
    number = 0
    for graph in GRAPHS:
        for leak in LEAKS:
            for backend in BACKENDS:
                case = cases(graph, leak, backend)
                for fault in CATALOGUE:
                    number += 1
                    if which(number):
                        yield from _outcome(fault, case, graph, leak, backend, trains)


def _outcome(fault: Fault, case: Case | None, graph: str, leak: str, backend: str, trains: bool) -> Iterator[Outcome]:
    broken = None if case is None else fault.run(case)
    if case is None or broken is None or not has_effect(broken[0], case.run()):
        return
    result, expected = broken
    offset = 1000 if fault.rule == "record" else 0
    verdict = case.judge(result if trains else replace(result, spikes=None), offset=offset)
    yield Outcome(fault, graph, leak, backend, offset, verdict.faithful is False, first_named(verdict), frozenset(expected))


def has_effect(broken: Result, right: Result) -> bool:
    """Whether anything that is recorded differs: without that, nothing is broken."""
    return bool(differing_samples(broken, right).any())


def first_named(verdict: Verdict) -> str | None:
    """The layer that the verdict names first: where spikes first differ in time, else where the record or charge breaks."""
    spikes = verdict.check("spikes").offenders
    timed = [o for o in spikes if "step" in o]
    others = [o for name in ("record", "charge") for o in verdict.check(name).offenders if "layer" in o]
    for offender in (*timed, *others, *spikes):
        if "layer" in offender:
            return offender["layer"]
    return None
