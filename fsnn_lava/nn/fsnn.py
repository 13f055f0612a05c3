"""FSNN: the float network. It runs in spikes, has an equilibrium, and is trained by implicit differentiation at it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument, Diverged
from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.dense_simulation import Observer
from fsnn_lava.nn.dropout import Masks, masked
from fsnn_lava.nn.dynamics import ConstantDrive, Current, Drive, Dynamics, SequenceDrive, Trace
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.gradient import attach_gradient
from fsnn_lava.nn.layer import Stage, Stages
from fsnn_lava.nn.loop_map import Equilibrium, LoopMap
from fsnn_lava.nn.neurons import IF, LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.notation import parse
from fsnn_lava.nn.readout import Readout
from fsnn_lava.nn.simulation import simulate
from fsnn_lava.solvers.anderson import anderson
from fsnn_lava.solvers.solution import Solution
from fsnn_lava.solvers.solver import Solver

SCHEDULES = ("sequential", "pipelined")


class FSNN(nn.Module):
    """A feedback spiking network: stages F¹ … Fᴺ, feedback W from the last layer to the first, a non-spiking readout.

    In training mode `net(images)` simulates T steps without a graph and attaches the implicit gradient (E5); memory does not depend on
    T. Raw uint8 images are normalised here, float images are taken as already normalised. [B, T, C, H, W] is a sequence of T frames.

    Args:
        architecture: the paper's notation, for example "64C5s (F64C5)".
        input_shape: (N,) or (C, H, W).
        classes: outputs of the readout.
        neuron: IF() (default) or LIF(leak).
        vth: threshold.
        steps: T, unless a call says otherwise.
        schedule: "sequential" (the paper's) or "pipelined" (the chip's); both have the same equilibrium.
        dropout: share of currents dropped in training, one mask per sequence.
        norm: how the feedback's norm is estimated, "kernel" (the paper's) or "operator".
        limit: the feedback's alpha is kept in [-limit, limit].
        batch_norm: after every stage (never after the feedback).
        normalisation: how raw values become inputs; None takes raw values unchanged.
        class_names: one per class, or none.
        solver: how the gradient's linear system is solved.
    """

    def __init__(
        self,
        architecture: str,
        *,
        input_shape: Sequence[int],
        classes: int,
        neuron: LIF | None = None,
        vth: float = 2.0,
        steps: int = 30,
        schedule: str = "sequential",
        dropout: float = 0.0,
        norm: str = "kernel",
        limit: float = 1.0,
        batch_norm: bool = True,
        normalisation: Normalisation | None = None,
        class_names: Sequence[str] = (),
        solver: Solver | None = None,
    ) -> None:
        super().__init__()
        _check(vth=vth, steps=steps, schedule=schedule, dropout=dropout)
        self.architecture = parse(architecture, input_shape=tuple(input_shape), classes=classes)
        self.neuron = neuron if neuron is not None else IF()
        self.vth, self.steps, self.schedule, self.dropout = float(vth), int(steps), schedule, float(dropout)
        self.norm_kind, self.limit, self.batch_norm = norm, float(limit), bool(batch_norm)
        self.normalisation, self.class_names = normalisation, tuple(class_names)
        if self.class_names and len(self.class_names) != classes:
            raise BadArgument(f"there are {classes} classes and {len(self.class_names)} class names")
        self.solver = solver if solver is not None else Solver()
        self.metrics: dict[str, Any] = {}
        self.last_solve: tuple[int, float] | None = None  # steps and relative residual of the last backward pass
        self.last_trace: Trace | None = None  # of the last forward pass
        self.event_driven = True  # False: simulate with dense products always
        self.stages = Stages(Stage(spec, batch_norm=batch_norm) for spec in self.architecture.layers)
        spec = self.architecture.feedback
        self.feedback = RestrictedFeedback(spec, norm=norm, limit=limit) if spec else None
        self.readout = Readout(self.architecture.layers[-1].size, classes)

    def forward(self, images: Tensor, steps: int | None = None, *, coupling: SampleCoupling = WHOLE_BATCH) -> Tensor:
        """Logits [B, classes] after `steps` steps; in training mode with the gradient of E5.

        `coupling` takes masks, batch statistics and residual scales over a joint batch, where `images` are only a share of it.
        """
        values, steps = self._checked(images, steps)
        weight = self.feedback.weight() if self.feedback else None
        masks = self._masks(len(values), values, coupling)
        if not (self.training and torch.is_grad_enabled()):
            trace = self._simulate(self._dynamics(values, weight, masks), steps)
            return self.readout(trace.rates[-1].flatten(1))
        average = self.average(values, steps)
        first = self.stages[0].current(average)
        known = first.detach() if values is average else None
        trace = self._simulate(self._dynamics(values, weight, masks, known), steps, returned=True)
        loop = self._loop_map(first, weight, masks, running=False, coupling=coupling)
        return self.readout(attach_gradient(trace, loop, self.solver, report=self._report).flatten(1))

    @torch.no_grad()
    def simulate(self, images: Tensor, steps: int | None = None, *, residuals: bool = False) -> Trace:
        """Run in spikes; with `residuals`, also max |f(a[t]) - a[t]| of the last layer after every step, [B] each."""
        values, steps = self._checked(images, steps)
        weight = self.feedback.weight() if self.feedback else None
        dynamics = self._dynamics(values, weight, Masks.none(len(self.stages)))
        if not residuals:
            return self._simulate(dynamics, steps)
        found: list[Tensor] = []

        def observe(t: int, sums: tuple[Tensor, ...]) -> None:
            rates = sums[-1] / self.neuron.weight_sum(t + 1)
            mapped = self.rate_map(self.average(values, t + 1))(rates)[-1]
            found.append((mapped - rates).abs().flatten(1).amax(1))

        return replace(self._simulate(dynamics, steps, observe=observe), residuals=found)

    @torch.no_grad()
    def equilibrium(self, images: Tensor, *, steps: int | None = None, tol: float = 1e-6, max_steps: int = 500) -> Equilibrium:
        """Rates with a = f(a) (E4); check `.converged`. `steps` frames of a sequence are averaged."""
        values, steps = self._checked(images, steps)
        f = self.rate_map(self.average(values, steps))
        start = values.new_zeros(len(values), *self.architecture.layers[-1].out_shape)
        solution = anderson(lambda last: f(last)[-1], start, tol=tol, max_steps=max_steps)
        return Equilibrium((*f(solution.value)[:-1], solution.value), solution.residual, solution.steps, solution.converged)

    def rate_map(self, average: Tensor, *, batch_statistics: bool = False) -> LoopMap:
        """f of E4 at an averaged input: the last layer's rates -> the rates of every layer, the last one mapped once around."""
        weight = self.feedback.weight() if self.feedback else None
        first = self.stages[0].current(average)
        return self._loop_map(first, weight, Masks.none(len(self.stages)), running=not batch_statistics)

    def average(self, values: Tensor, steps: int) -> Tensor:
        """x* of E3: a constant input itself, the weighted mean of a sequence's first `steps` frames."""
        if not self._is_sequence(values):
            return values
        weights = values.new_tensor(self.neuron.weights(steps))
        return torch.einsum("t,bt...->b...", weights, values[:, :steps])

    def normalise(self, images: Tensor) -> Tensor:
        """Raw uint8 values as inputs of the first stage; float values unchanged."""
        values = images.to(self.readout.weight.dtype)
        if images.dtype != torch.uint8 or self.normalisation is None:
            return values
        shape = (-1, *[1] * (len(self.architecture.input_shape) - 1))
        mean = values.new_tensor(self.normalisation.mean).view(shape)
        std = values.new_tensor(self.normalisation.std).view(shape)
        return (values / self.normalisation.divisor - mean) / std

    @property
    def delay(self) -> int:
        """Steps the feedback takes in the layers' own time."""
        return 1 if self.schedule == "sequential" else len(self.stages)

    def _is_sequence(self, values: Tensor) -> bool:
        return values.dim() == len(self.architecture.input_shape) + 2

    def _checked(self, images: Tensor, steps: int | None) -> tuple[Tensor, int]:
        steps = self.steps if steps is None else steps
        if steps < 1:
            raise BadArgument(f"steps must be at least 1, got {steps}")
        shape, sequence = self.architecture.input_shape, self._is_sequence(images)
        if tuple(images.shape[1:]) != shape and not (sequence and tuple(images.shape[2:]) == shape):
            raise BadArgument(f"images must be [B, {', '.join(map(str, shape))}], or [B, T, …] for a sequence; got {list(images.shape)}")
        if sequence and images.shape[1] < steps:
            raise BadArgument(f"a sequence of {images.shape[1]} frames is too short for {steps} steps")
        return self.normalise(images), steps

    def _masks(self, samples: int, like: Tensor, coupling: SampleCoupling = WHOLE_BATCH) -> Masks:
        if not self.training or self.dropout == 0.0:
            return Masks.none(len(self.stages))
        shapes = [spec.out_shape for spec in self.architecture.layers]
        masks = coupling.draw_masks(shapes + (shapes[:1] if self.feedback else []), samples, self.dropout, like)
        return Masks(tuple(masks[: len(self.stages)]), masks[-1] if self.feedback else None)

    def _loop_map(
        self, first: Tensor, weight: Tensor | None, masks: Masks, *, running: bool, coupling: SampleCoupling = WHOLE_BATCH
    ) -> LoopMap:
        """f for a first layer's F¹x* without batch norm."""
        return LoopMap(
            stages=self.stages,
            feedback=self.feedback,
            vth=self.vth,
            first=first,
            weight=weight,
            masks=masks,
            running=running,
            coupling=coupling,
        )

    @torch.no_grad()
    def _dynamics(self, values: Tensor, weight: Tensor | None, masks: Masks, first: Tensor | None = None) -> Dynamics:
        """Every current of a run. `first` is F¹x without batch norm, if it is known already."""
        entry = self.stages[0]
        drive: Drive
        if self._is_sequence(values):
            drive = SequenceDrive(values, entry.simulated(masks.stages[0]))
        else:
            current = entry.normalise(entry.current(values) if first is None else first, running=True)
            drive = ConstantDrive(masked(masks.stages[0], current))
        forward = tuple(stage.simulated(mask) for stage, mask in list(zip(self.stages, masks.stages, strict=True))[1:])
        feedback = None
        if self.feedback is not None and weight is not None:
            feedback = Current(operator=self.feedback.operator, weight=weight.detach(), mask=masks.feedback)
        return Dynamics(drive=drive, forward=forward, feedback=feedback, neuron=self.neuron, vth=self.vth, delay=self.delay)

    def _simulate(self, dynamics: Dynamics, steps: int, *, observe: Observer | None = None, returned: bool = False) -> Trace:
        trace = simulate(dynamics, steps, events=self.event_driven, observe=observe, returned=returned)
        self.last_trace = replace(trace, returned=None)
        return trace

    def _report(self, solution: Solution) -> None:
        """Keep the figures of a backward solve; Diverged if the gradient is not finite."""
        worst = float(solution.residual.max()) if solution.steps else 0.0
        self.last_solve = (solution.steps, worst if solution.steps else math.nan)
        if not math.isfinite(worst + float(solution.value.sum())):  # residuals are infinite where no iterate was finite
            raise Diverged("the gradient is not finite: the feedback diverges (lower the learning rate, or the feedback's limit)")

    def config(self) -> dict[str, Any]:
        """Everything but the weights, as plain values; `FSNN.from_config` reverses it."""
        normalisation = self.normalisation
        return {
            "architecture": self.architecture.text,
            "input_shape": list(self.architecture.input_shape),
            "classes": self.architecture.classes,
            "leak": self.neuron.leak,
            "vth": self.vth,
            "steps": self.steps,
            "schedule": self.schedule,
            "dropout": self.dropout,
            "norm": self.norm_kind,
            "limit": self.limit,
            "batch_norm": self.batch_norm,
            "normalisation": None if normalisation is None else [normalisation.divisor, list(normalisation.mean), list(normalisation.std)],
            "class_names": list(self.class_names),
        }

    @staticmethod
    def from_config(config: dict[str, Any]) -> FSNN:
        """A network with fresh weights, from `config`."""
        values = dict(config)
        leak, normalisation = values.pop("leak"), values.pop("normalisation")
        if normalisation is not None:
            divisor, mean, std = normalisation
            values["normalisation"] = Normalisation(divisor, tuple(mean), tuple(std))
        return FSNN(values.pop("architecture"), neuron=IF() if leak == 1.0 else LIF(leak), **values)

    def save(self, path: str | Path) -> None:
        """Write model.pt: the old file or the complete new one is there at any time."""
        from fsnn_lava.formats import model

        model.write(self, path)

    @staticmethod
    def load(path: str | Path) -> FSNN:
        """Read model.pt, in eval mode; BadFile if it is damaged or something else."""
        from fsnn_lava.formats import model

        return model.read(path)


def _check(*, vth: float, steps: int, schedule: str, dropout: float) -> None:
    if not vth > 0:
        raise BadArgument(f"vth must be positive, got {vth}")
    if steps < 1:
        raise BadArgument(f"steps must be at least 1, got {steps}")
    if schedule not in SCHEDULES:
        raise BadArgument(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    if not 0.0 <= dropout < 1.0:
        raise BadArgument(f"dropout must lie in [0, 1), got {dropout}")
