"""FSNN: the float network. It runs in spikes, has an equilibrium, and is trained by implicit differentiation at it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument, Diverged
from fsnn_lava.nn.chain_gradient import channels_last
from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.current import Current
from fsnn_lava.nn.dense_simulation import Observer
from fsnn_lava.nn.drive import ConstantDrive, Drive, SequenceDrive
from fsnn_lava.nn.dropout import Masks, masked
from fsnn_lava.nn.dynamics import Dynamics, Schedule
from fsnn_lava.nn.feedback import NormKind, RestrictedFeedback
from fsnn_lava.nn.fsnn_options import check_options
from fsnn_lava.nn.fsnn_summary import fsnn_summary
from fsnn_lava.nn.gradient import attach_gradient
from fsnn_lava.nn.layer_rates import layer_rates
from fsnn_lava.nn.loop_map import Equilibrium, LoopMap
from fsnn_lava.nn.neurons import IF, LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.notation import parse_notation
from fsnn_lava.nn.raw_values import fractional_range
from fsnn_lava.nn.readout import Readout
from fsnn_lava.nn.simulation import simulate
from fsnn_lava.nn.stage import Stage, Stages
from fsnn_lava.nn.trace import Trace
from fsnn_lava.nn.tracked_norm import TrackedNorm
from fsnn_lava.solvers.anderson import anderson
from fsnn_lava.solvers.solution import Solution
from fsnn_lava.solvers.solver import Solver


class FSNN(nn.Module):
    """A feedback spiking network: layers F¹ … Fᴺ, feedback W from the last layer to the first, a non-spiking readout.

    In training mode `net(images)` simulates T steps without a graph and attaches the implicit gradient (E5): memory does not depend on T.
    Raw uint8 images are normalised here, float images are taken as already normalised. `print(net)` lists layers and connections.

    It learns from average rates at an equilibrium: do not use it to tell sequences apart by the order of their frames.

    Args:
        architecture: the paper's notation. "64C5s (F64C5)" is a convolution with 64 channels, kernel 5 and stride 2, and such a feedback;
            "400 (F400)" is dense; "-" joins layers, "P2" averages 2 x 2, a final "u" makes a feedback transposed.
        input_shape: (N,) or (C, H, W), without batch and time.
        classes: outputs of the readout.
        neuron: `IF()` (the default: its residual falls as 1/T) or `LIF(leak)`.
        vth: threshold; 2 is the paper's.
        steps: T, unless a call says otherwise. 30 is the paper's for MNIST.
        schedule: "sequential" is the paper's: a layer sees the new spikes of the one before it. "pipelined" is the chip's: every connection
            takes one step. Both have the same equilibrium.
        dropout: share of currents dropped in training, in [0, 1); one mask for all steps. Off by default.
        norm: how the feedback's norm is estimated: "kernel" is the paper's; choose "operator" if you want a certificate (E6), or "loop" if
            the network has several layers.
        limit: the feedback's alpha is kept in [-limit, limit]; 1 is the paper's. With norm "loop", `feedback.clip_()` keeps the product
            of all norms around the loop, over vth**N, within it: below 1 the network is certified from the start.
        batch_norm: after every forward connection, never after the feedback (E7).
        normalisation: how raw values become inputs. None takes them unchanged; then train on raw values too: `quantise` refuses a network
            that was trained on other floats, because the chip would see other inputs.
        class_names: one per class, or none; kept in files and reports.
        solver: how the gradient's linear system is solved; by default GMRES to a relative residual of 1e-2.

    Attributes:
        architecture: the parsed notation with every shape.
        last_trace: what the last pass in spikes left behind; None before the first.
        last_solve: products and relative residual of the last backward pass; None before the first.
        metrics: what a training run recorded; kept in model.pt.
        trained_range: smallest and largest float input of training without a `normalisation`, if they are not raw values 0 … 255; kept in
            model.pt.

    Raises:
        BadArchitecture: `architecture` cannot be parsed, or its shapes do not fit together.
        BadArgument: another argument is out of range.

    Examples:
        >>> net = fl.FSNN("4C3s (F4C3)", input_shape=(1, 4, 4), classes=3, neuron=fl.LIF(0.95))
        >>> loss = torch.nn.functional.cross_entropy(net(images), labels)
        >>> loss.backward()
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
        schedule: Schedule = "sequential",
        dropout: float = 0.0,
        norm: NormKind = "kernel",
        limit: float = 1.0,
        batch_norm: bool = True,
        normalisation: Normalisation | None = None,
        class_names: Sequence[str] = (),
        solver: Solver | None = None,
    ) -> None:
        super().__init__()
        check_options(neuron=neuron, vth=vth, steps=steps, schedule=schedule, dropout=dropout, normalisation=normalisation)
        self.architecture = parse_notation(architecture, input_shape=tuple(input_shape), classes=classes)
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
        self.trained_range: tuple[float, float] | None = None  # of float inputs that are not raw values, if trained on such
        self.event_driven = True  # False: simulate with dense products always
        self.turns = 0  # in training, take the rates from so many turns of f, from zero, instead of a simulation; 0: simulate
        self.stages = Stages(Stage(spec, batch_norm=batch_norm) for spec in self.architecture.layers)
        spec = self.architecture.feedback
        self.feedback = RestrictedFeedback(spec, norm=norm, limit=limit) if spec else None
        self.readout = Readout(self.architecture.layers[-1].size, classes)
        self._tracked_norms = [TrackedNorm() for _ in self.stages]
        if self.feedback is not None:
            self.feedback.rest_of_loop = self._rest_of_loop
            self.feedback.clip_()

    def __repr__(self) -> str:
        shape, classes = self.architecture.input_shape, self.architecture.classes
        return f"FSNN({self.architecture.text!r}, input_shape={shape}, classes={classes}, neuron={self.neuron}, vth={self.vth:g})"

    def __str__(self) -> str:
        return fsnn_summary(self).to_text()

    def _repr_html_(self) -> str:
        return fsnn_summary(self).to_html()

    def __call__(self, images: Tensor, steps: int | None = None, *, coupling: SampleCoupling = WHOLE_BATCH) -> Tensor:
        """Run `steps` steps and return the logits; in training mode with the implicit gradient (E5).

        Args:
            images: [B, *input_shape], raw uint8 or normalised float; [B, T, *input_shape] is a sequence of T frames.
            steps: T; by default the network's own.
            coupling: takes dropout masks, batch statistics and residual scales over a joint batch of which `images` are only a share.
                Leave it alone in a single process.

        Returns:
            [B, classes]. After `backward`, `last_solve` says how well the gradient's system was solved.

        Raises:
            BadArgument: `images` has the wrong shape, or a sequence is shorter than `steps`.
            Diverged: in `backward`, if the gradient is not finite.
        """
        logits: Tensor = super().__call__(images, steps, coupling=coupling)
        return logits

    def forward(self, images: Tensor, steps: int | None = None, *, coupling: SampleCoupling = WHOLE_BATCH) -> Tensor:
        """What `__call__` runs; call the network itself, so that torch's hooks run too."""
        return self.readout(self._rates(images, steps, coupling, inner=False)[-1].flatten(1))

    def rates(self, images: Tensor, steps: int | None = None, *, coupling: SampleCoupling = WHOLE_BATCH) -> tuple[Tensor, ...]:
        """Run `steps` steps and return the rates of every layer; in training mode with the implicit gradient, for a loss of your own (E17).

        `net.readout(rates[-1].flatten(1))` are the logits. In training mode the rates of inner layers are those that the last layer's
        imply (E4), which at an equilibrium are the simulated ones.

        Args:
            images: as for a call: [B, *input_shape], or [B, T, *input_shape] for a sequence.
            steps: T; by default the network's own.
            coupling: as for a call.

        Returns:
            [B, *shape] per layer: spikes per step, in [0, 1].

        Raises:
            BadArgument: `images` has the wrong shape, or a sequence is shorter than `steps`.
            Diverged: in `backward`, if the gradient is not finite.

        Examples:
            >>> rates = net.rates(images)
            >>> loss = sum(layer.sum() for layer in rates)  # as few spikes as possible
        """
        return self._rates(images, steps, coupling, inner=True)

    def _rates(self, images: Tensor, steps: int | None, coupling: SampleCoupling, *, inner: bool) -> tuple[Tensor, ...]:
        """Rates with a gradient in training mode; of the last layer alone unless `inner`."""
        values, steps = self._checked(images, steps)
        weight = self.feedback.weight() if self.feedback else None
        masks = self._masks(len(values), values, coupling)
        if not (self.training and torch.is_grad_enabled()):
            return self._simulate(self._dynamics(values, weight, masks), steps).rates
        self._note_inputs(images)
        average = self.average(values, steps)
        first = self.stages[0].current(channels_last(average))
        if self.turns:
            trace = self._turn(first.detach(), weight, masks)
        else:
            known = first.detach() if values is average else None
            trace = self._simulate(self._dynamics(values, weight, masks, known), steps, returned=True)
        loop = self._loop_map(first, weight, masks, running=False, coupling=coupling)
        last = attach_gradient(trace, loop, self.solver, report=self._report, turn=self.turns > 0)
        return layer_rates(loop, last) if inner else (last,)

    @torch.no_grad()
    def simulate(self, images: Tensor, steps: int | None = None, *, residuals: bool = False) -> Trace:
        """Run in spikes, without a gradient, and return what happened in every layer.

        Args:
            images: as for a call: [B, *input_shape], or [B, T, *input_shape] for a sequence.
            steps: T; by default the network's own.
            residuals: also evaluate f after every step, for `Trace.residuals`; slower.

        Returns:
            Rates, spike counts and final potentials of every layer.

        Raises:
            BadArgument: `images` has the wrong shape, or a sequence is shorter than `steps`.

        Examples:
            >>> trace = net.simulate(images, steps=20)
            >>> trace.counts[0].shape
            torch.Size([8, 4, 2, 2])
        """
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
        """Solve a = f(a) (E4) by Anderson mixing, without running in spikes.

        Args:
            images: as for a call: [B, *input_shape], or [B, T, *input_shape] for a sequence.
            steps: how many frames of a sequence are averaged; by default the network's own T. Unused for images.
            tol: largest |f(a) - a| of any neuron to accept, spikes per step; 1e-6 is near what float32 resolves.
            max_steps: the most evaluations of f.

        Returns:
            The rates of every layer. Where `converged` is False, they are the best iterate found, not an equilibrium.

        Raises:
            BadArgument: `images` has the wrong shape, or a sequence is shorter than `steps`.

        Examples:
            >>> point = net.equilibrium(images)
            >>> point.converged
            True
        """
        values, steps = self._checked(images, steps)
        f = self.rate_map(self.average(values, steps))
        start = values.new_zeros(len(values), *self.architecture.layers[-1].out_shape)
        solution = anderson(lambda last: f(last)[-1], start, tol=tol, max_steps=max_steps)
        return Equilibrium((*f(solution.value)[:-1], solution.value), solution.residual, solution.steps, solution.converged)

    def rate_map(self, average: Tensor, *, batch_statistics: bool = False) -> LoopMap:
        """Return f of E4 for a batch: a function from the last layer's rates to the rates of every layer, the last one mapped once around.

        Args:
            average: [B, *input_shape], normalised and averaged over the steps (see `average`).
            batch_statistics: use the statistics of this batch in batch norm, as training does, which also updates the running ones.
        """
        weight = self.feedback.weight() if self.feedback else None
        first = self.stages[0].current(average)
        return self._loop_map(first, weight, Masks.none(len(self.stages)), running=not batch_statistics)

    def average(self, values: Tensor, steps: int) -> Tensor:
        """Return x* of E3: the weighted mean of a sequence's first `steps` frames; images as they are.

        Args:
            values: normalised input, [B, *input_shape] or [B, T, *input_shape].
            steps: how many frames to average.
        """
        if not self._is_sequence(values):
            return values
        weights = values.new_tensor(self.neuron.weights(steps))
        return torch.einsum("t,bt...->b...", weights, values[:, :steps])

    def _rest_of_loop(self) -> float:
        """An upper bound of ||F²|| … ||Fᴺ|| / vthᴺ, batch norm and pooling folded in (E6)."""
        gain = self.vth ** -len(self.stages)
        for stage, tracked in list(zip(self.stages, self._tracked_norms, strict=True))[1:]:
            operator, weight, _ = stage.folded()
            gain *= tracked.bound(operator, weight)
        return gain

    def normalise(self, images: Tensor) -> Tensor:
        """Return what the first layer sees: raw uint8 values normalised, float values unchanged, in the dtype of the weights.

        Args:
            images: any shape that ends in (C, H, W) or (N,) of the input.
        """
        values = images.to(self.readout.weight.dtype)
        if images.dtype != torch.uint8 or self.normalisation is None:
            return values
        shape = (-1, *[1] * (len(self.architecture.input_shape) - 1))
        mean = values.new_tensor(self.normalisation.mean).view(shape)
        std = values.new_tensor(self.normalisation.std).view(shape)
        return (values / self.normalisation.divisor - mean) / std

    @property
    def delay(self) -> int:
        """Steps that the feedback takes in the layers' own time: 1 if sequential, the number of layers if pipelined."""
        return 1 if self.schedule == "sequential" else len(self.stages)

    def _is_sequence(self, values: Tensor) -> bool:
        return values.dim() == len(self.architecture.input_shape) + 2

    def _checked(self, images: Tensor, steps: int | None) -> tuple[Tensor, int]:
        steps = self.steps if steps is None else steps
        if steps < 1:
            raise BadArgument(f"steps must be at least 1, got {steps}")
        if not isinstance(images, Tensor):
            remedy = "torch.from_numpy(images)" if isinstance(images, np.ndarray) else "torch.as_tensor(images)"
            raise BadArgument(f"images must be a torch.Tensor, got {type(images).__name__}: pass {remedy}")
        shape, sequence = self.architecture.input_shape, self._is_sequence(images)
        if tuple(images.shape[1:]) != shape and not (sequence and tuple(images.shape[2:]) == shape):
            raise BadArgument(f"images must be [B, {', '.join(map(str, shape))}], or [B, T, …] for a sequence; got {list(images.shape)}")
        if sequence and images.shape[1] < steps:
            raise BadArgument(f"a sequence of {images.shape[1]} frames is too short for {steps} steps")
        return self.normalise(images), steps

    def _note_inputs(self, images: Tensor) -> None:
        """Remember that training uses floats that no raw value gives, for `quantise` to refuse them."""
        if self.normalisation is None and self.trained_range is None and images.is_floating_point():
            self.trained_range = fractional_range(images)

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
        stages, feedback, vth = self.stages, self.feedback, self.vth
        return LoopMap(
            stages=stages, feedback=feedback, vth=vth, first=first, weight=weight, masks=masks, running=running, coupling=coupling
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

    @torch.no_grad()
    def _turn(self, first: Tensor, weight: Tensor | None, masks: Masks) -> Trace:
        """The rates after all but the last of `turns` turns of f, from zero, with batch norm's running statistics."""
        f = self._loop_map(first, weight, masks, running=True)
        rates = first.new_zeros(len(first), *self.architecture.layers[-1].out_shape)
        for _ in range(self.turns - 1):
            rates = f(rates)[-1]
        return Trace((rates,), (), ())

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
        """Return everything but weights, solver and metrics as plain values; `from_config` reverses it."""
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
        """Make a network with new random weights.

        Args:
            config: from `FSNN.config`.

        Raises:
            BadArgument: a value is out of range.
        """
        values = dict(config)
        leak, normalisation = values.pop("leak"), values.pop("normalisation")
        if normalisation is not None:
            divisor, mean, std = normalisation
            values["normalisation"] = Normalisation(divisor, tuple(mean), tuple(std))
        return FSNN(values.pop("architecture"), neuron=IF() if leak == 1.0 else LIF(leak), **values)

    def save(self, path: str | Path) -> None:
        """Write configuration, weights and metrics to a file that plain torch can read too.

        Args:
            path: usually model.pt. An existing file is replaced only when the new one is complete.

        Raises:
            BadFile: the file cannot be written.

        Examples:
            >>> net.save("model.pt")
            >>> net = fl.FSNN.load("model.pt")
        """
        from fsnn_lava.formats import model

        model.write_model(self, path)

    @staticmethod
    def load(path: str | Path) -> FSNN:
        """Read a network from a file written by `save` or fsnn-train, without executing anything in it.

        Args:
            path: usually model.pt.

        Returns:
            The network in eval mode, on the CPU; call `train()` to continue training.

        Raises:
            BadFile: the file is missing, damaged, written by a newer version, or something else.
        """
        from fsnn_lava.formats import model

        return model.read_model(path)
