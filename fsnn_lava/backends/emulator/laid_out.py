"""The common part of both encodings' emulators: a network laid out once, batches of samples, and Results in the network's own order."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.backends.emulator.layout import Layout, flatten_to_emulator_layout
from fsnn_lava.compiled.threads import over_samples
from fsnn_lava.ir.input_current import input_current_channels_last
from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.result import Arrays, Result
from fsnn_lava.limits import STATE_FRACTION_BITS

Drive = NDArray[np.int32]  # [B, N1], computed on the host, without the bias; or [B, 0]
Messages = NDArray[np.uint8]  # [B, T or 1, inputs], channels last


class _Recorded(Protocol):
    """The results that the compiled runs of both encodings write."""

    @property
    def counts(self) -> Any: ...

    @property
    def late(self) -> Any: ...

    @property
    def readout(self) -> Any: ...

    @property
    def clipped(self) -> Any: ...

    @property
    def clip_count(self) -> Any: ...

    @property
    def operations(self) -> Any: ...

    @property
    def trains(self) -> Any: ...


Out = TypeVar("Out", bound=_Recorded)


class LaidOutEmulator(ABC, Generic[Out]):
    """A network laid out once for any number of batches. Results depend only on the network, the values and the steps."""

    def __init__(self, chip: ChipNetwork, layout: Layout, *, wide: bool) -> None:
        """Lay out the network; `wide` computes sums in 64 bits. The kernels are compiled here, not while a run is timed."""
        self.chip, self.layout, self.digest = chip, layout, chip.digest()
        self._dtype = np.int64 if wide else np.int32
        self._run_batch(self._outputs(0, 1, False), 1, *self._inputs(self._no_samples()))

    def run(self, values: NDArray[np.uint8], *, steps: int | None = None, spikes: bool = False) -> Result:
        """Run the laid-out network on `values` [B, *shape], or [B, T, *shape] of events, already checked; `steps` overrides chip.steps."""
        started = time.perf_counter()
        steps = self.chip.steps if steps is None else steps
        drive, messages = self._inputs(values)
        out = self._outputs(len(values), steps, spikes)
        self._run_batch(out, steps, drive, messages)
        return self._result(out, steps, time.perf_counter() - started)

    def _run_batch(self, out: Out, steps: int, drive: Drive, messages: Messages) -> None:
        over_samples(lambda first, end: self._run_range(first, end, out, steps, drive, messages), len(messages))

    def _no_samples(self) -> NDArray[np.uint8]:
        shape = self.chip.input.shape
        return np.zeros((0, 1, *shape) if self.chip.input.kind == "events" else (0, *shape), dtype=np.uint8)

    def _inputs(self, values: NDArray[np.uint8]) -> tuple[Drive, Messages]:
        chip, samples = self.chip, len(values)
        if chip.host_drive is not None:
            current = input_current_channels_last(chip, values).reshape(samples, chip.layers[0].size)
            bias = flatten_to_emulator_layout(chip.layers[0].bias) << STATE_FRACTION_BITS  # included in `current`
            return current - bias, np.zeros((samples, 1, 0), dtype=np.uint8)
        messages = np.moveaxis(values, -3, -1) if len(chip.input.shape) == 3 else values
        steps = values.shape[1] if chip.input.kind == "events" else 1
        return np.zeros((samples, 0), np.int32), np.ascontiguousarray(messages).reshape(samples, steps, math.prod(chip.input.shape))

    def _result(self, out: Out, steps: int, seconds: float) -> Result:
        chip = self.chip
        traces, late_traces, potentials = self._states(out)
        neurons = sum(layer.size for layer in chip.layers) + chip.readout.classes
        return Result(
            backend="emu",
            steps=steps,
            digest=self.digest,
            weight_sum=chip.weight_sum(steps),
            readout_scale=chip.readout_scale,
            counts=self._layers(out.counts),
            traces=self._layers(traces),
            late=self._feedback(out.late),
            late_traces=self._feedback(late_traces),
            potentials=self._layers(potentials),
            readout=out.readout,
            clipped=self._layers(out.clipped),
            clip_count=out.clip_count,
            operations=out.operations[:, 0],
            updates=np.full(len(out.counts), steps * neurons, dtype=np.int64),
            spikes=self._layers(out.trains) if out.trains.shape[1] else None,
            seconds=seconds,
        )

    def _layers(self, flat: NDArray[Any]) -> Arrays:
        """Split the emulator's flat output [..., M] into one [..., *shape] per layer."""
        return tuple(_part(flat, offset, layer) for offset, layer in zip(self.layout.offsets, self.chip.layers))

    def _feedback(self, flat: NDArray[Any]) -> Arrays:
        """Split the emulator's flat output [B, late neurons] into one [B, *shape of the source] per feedback synapse."""
        sources = [self.chip.layer(s.source) for s in self.chip.feedback]
        return tuple(_part(flat, offset, source) for offset, source in zip(self.layout.late_offsets, sources))

    @abstractmethod
    def _outputs(self, samples: int, steps: int, spikes: bool) -> Out:
        """Allocate zeros for everything that a run fills."""

    @abstractmethod
    def _run_range(self, first: int, end: int, out: Out, steps: int, drive: Drive, messages: Messages) -> None:
        """Run samples first … end - 1."""

    @abstractmethod
    def _states(self, out: Out) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return the traces [B, M], late traces [B, late neurons] and final states [B, M] of a run."""


def _part(flat: NDArray[Any], offset: int, layer: Layer) -> NDArray[Any]:
    return flat[..., offset : offset + layer.size].reshape(*flat.shape[:-1], *layer.shape)
