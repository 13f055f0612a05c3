"""Batch: some samples of a run; values that several checks need are computed once and freed with the batch."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.connections import incoming_synapses, synaptic_shift
from fsnn_lava.ir.input_current import input_synapses
from fsnn_lava.ir.network import ChipNetwork, DeltaEncoding, Layer, Synapse
from fsnn_lava.ir.rate_map import Drive
from fsnn_lava.ir.result import Result
from fsnn_lava.limits import FRAME_BITS, STATE_FRACTION_BITS
from fsnn_lava.verify.drive_current import drive_current_trace
from fsnn_lava.verify.synaptic_sums import synaptic_sum

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """A batch of B samples; the first has index `offset` in the run. Shapes are not checked here (see `check_batch_shapes`)."""

    chip: ChipNetwork
    result: Result
    values: NDArray[np.uint8]
    labels: NDArray[np.int64] | None
    offset: int
    tolerance: float = 0.0  # how much the backend's rounding may differ from E9, units 2**-6
    numbers: NDArray[np.intp] | None = None  # sample indices in the run, if they are not consecutive from `offset`
    _computed: dict[tuple[str, str | int], object] = field(default_factory=dict, init=False, repr=False)

    @property
    def steps(self) -> int:
        """Number of steps of the run."""
        return self.result.steps

    @property
    def samples(self) -> int:
        """Number of samples in the batch."""
        return self.result.samples

    @property
    def delta(self) -> DeltaEncoding:
        """The delta encoding of the network; raises BadArgument if it is rate coded."""
        if self.chip.delta is None:
            raise BadArgument("this network is rate coded: it has no delta encoding")
        return self.chip.delta

    @cached_property
    def drives(self) -> tuple[NDArray[Any], ...]:
        """<D> per layer (E10); with delta encoding, <D> of a single step: a static input is sent once, and frames are averaged (E15)."""
        if self.chip.delta is None:
            return tuple(drive_current_trace(self.chip, layer, self.values, self.steps) for layer in self.chip.layers)
        if self.chip.input.kind != "events":
            return tuple(drive_current_trace(self.chip, layer, self.values, 1) for layer in self.chip.layers)
        return tuple(self._frame_drive(layer) for layer in self.chip.layers)

    def _frame_drive(self, layer: Layer) -> NDArray[np.float64]:
        """Return the bias of a layer plus the average of its frames, [B, *shape] or [1, *shape], units 2**-6."""
        total = layer.bias[None].astype(np.float64) * 2.0**STATE_FRACTION_BITS
        for synapse in input_synapses(self.chip, layer):
            total = total + synaptic_sum(synapse, self.weighted_frames) * 2.0 ** (synaptic_shift(synapse) - FRAME_BITS)
        return total

    @cached_property
    def weighted_frames(self) -> NDArray[np.int64]:
        """The weighted sum of the frames of an event input with delta encoding (E15), [B, *input shape], units of 2**-12."""
        weights = self.delta.frame_weights(self.steps)
        return np.tensordot(self.values.astype(np.int64), weights, axes=(1, 0))

    @cached_property
    def drive(self) -> Drive:
        """The average external current into every layer, bias included: [B, *shape] per layer, weight units per step."""
        unit = (self.chip.weight_sum(self.steps) if self.chip.delta is None else 1.0) * 2**STATE_FRACTION_BITS
        pairs = zip(self.drives, self.chip.layers, strict=True)
        return tuple(np.broadcast_to(drive / unit, (self.samples, *layer.shape)) for drive, layer in pairs)

    @cached_property
    def rates(self) -> tuple[NDArray[np.float64], ...]:
        """The rates of the batch, [B, *shape] per layer."""
        return self.result.rates

    def once(self, name: str, layer: Layer, compute: Callable[[Batch, Layer], T]) -> T:
        """Return compute(self, layer), computed on the first call for this name and layer, then cached."""
        return self._once((name, layer.name), lambda: compute(self, layer))

    def _once(self, key: tuple[str, str | int], compute: Callable[[], T]) -> T:
        if key not in self._computed:
            self._computed[key] = compute()
        return cast(T, self._computed[key])

    def arrived(self, synapse: Synapse) -> NDArray[Any]:
        """Return <s>_arrived of a synapse's source in the target's own time: int32 for IF, float64 with a leak."""
        chip, result = self.chip, self.result
        source, delay = chip.index(synapse.source), chip.delay(synapse)
        if delay == 0:
            return result.counts[source] if chip.decay == 0 else result.traces[source]
        position = self._position(synapse)
        if chip.decay == 0:
            return result.counts[source] - result.late[position]
        arrived = (result.traces[source] - result.late_traces[position]) * chip.leak**-delay
        return np.clip(arrived, 0.0, chip.weight_sum(max(0, self.steps - delay)))  # rounding can exceed the possible range

    def arrived_sum(self, synapse: Synapse) -> NDArray[Any]:
        """Return weight @ <s>_arrived, [B, *target], neither shifted nor scaled; computed once."""
        return self._once(("arrived", id(synapse)), lambda: synaptic_sum(synapse, self.arrived(synapse)))

    def missing_sum(self, synapse: Synapse) -> NDArray[Any]:
        """Return weight @ (<s> - <s>_arrived), the feedback sent but not yet delivered (E11), [B, *target]; computed once."""
        return self._once(("missing", id(synapse)), lambda: synaptic_sum(synapse, self._missing(synapse)))

    def _missing(self, synapse: Synapse) -> NDArray[Any]:
        if self.chip.decay == 0:
            return self.result.late[self._position(synapse)]
        return self.result.traces[self.chip.index(synapse.source)] - self.arrived(synapse)

    def _position(self, synapse: Synapse) -> int:
        """Return the index of a synapse in the feedback, which is also the index of its late spikes."""
        return next(i for i, s in enumerate(self.chip.feedback) if s is synapse)

    @cached_property
    def mapped(self) -> tuple[NDArray[np.float64], ...]:
        """f(a) of the rates (E4), [B, *shape] per layer."""
        return tuple(self._mapped(index, layer) for index, layer in enumerate(self.chip.layers))

    def _mapped(self, index: int, layer: Layer) -> NDArray[np.float64]:
        """Compute sigma((<D> + sum 2**n w.<s>) / (theta A)), from the same sums as in E10, which are linear in the spikes."""
        charge = self.drives[index].astype(np.float64)
        theta = layer.per_neuron(layer.threshold).astype(np.float64) * 2.0**STATE_FRACTION_BITS
        if self.chip.delta is not None:  # the messages are rates
            for synapse in incoming_synapses(self.chip, layer):
                charge = charge + synaptic_sum(synapse, self.rates[self.chip.index(synapse.source)]) * 2.0 ** synaptic_shift(synapse)
            return np.broadcast_to(np.clip(charge / theta, 0.0, self.chip.delta.rate_max), (self.samples, *layer.shape))
        charge = np.array(np.broadcast_to(charge, (self.samples, *layer.shape)))
        for synapse in incoming_synapses(self.chip, layer):
            charge += self.arrived_sum(synapse) * 2.0 ** synaptic_shift(synapse)
            if self.chip.delay(synapse) > 0:
                charge += self.missing_sum(synapse) * 2.0 ** synaptic_shift(synapse)
        charge /= theta * self.chip.weight_sum(self.steps)
        return np.clip(charge, 0.0, 1.0, out=charge)

    def sample(self, row: int) -> int:
        """Return the index in the run of a row of the batch."""
        return self.offset + int(row) if self.numbers is None else int(self.numbers[row])

    def at(self, rows: NDArray[np.intp]) -> Batch:
        """Return a batch of some of these samples."""
        numbers = np.array([self.sample(row) for row in rows], dtype=np.intp)
        labels = None if self.labels is None else self.labels[rows]
        result = self.result.part(rows)
        return replace(self, result=result, values=self.values[rows], labels=labels, offset=int(numbers[0]), numbers=numbers)


def check_batch_shapes(chip: ChipNetwork, result: Result, values: NDArray[np.uint8]) -> None:
    """Raise BadArgument unless `result` and `values` have the shapes of a run of `chip`."""
    b = result.samples
    wanted = [(b, *layer.shape) for layer in chip.layers]
    late = [(b, *chip.layer(s.source).shape) for s in chip.feedback]
    for name, shapes in (
        ("counts", wanted),
        ("traces", wanted),
        ("potentials", wanted),
        ("clipped", wanted),
        ("late", late),
        ("late_traces", late),
    ):
        got = [tuple(a.shape) for a in getattr(result, name)]
        if got != shapes:
            raise BadArgument(f"result.{name} must have the shapes {shapes} for this network, got {got}")
    if result.readout.shape != (b, chip.readout.classes):
        raise BadArgument(f"result.readout must have shape {[b, chip.readout.classes]}, got {list(result.readout.shape)}")
    sequence = (result.steps,) if chip.input.kind == "events" else ()
    if values.shape != (b, *sequence, *chip.input.shape):
        raise BadArgument(
            f"values must have shape {[b, *sequence, *chip.input.shape]} for {b} samples of this run, got {list(values.shape)}"
        )
