"""FSNN, the float network: it runs in spikes, has an equilibrium, and is trained by implicit differentiation at that equilibrium."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import replace
from math import prod
from numbers import Real
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument, Diverged, Remark
from fsnn_lava.nn.architecture import parse_architecture, with_thresholds
from fsnn_lava.nn.channel_rows import stored_channels_last
from fsnn_lava.nn.coupling import WHOLE_BATCH, SampleCoupling
from fsnn_lava.nn.dense_simulation import Observer
from fsnn_lava.nn.dropout import Masks
from fsnn_lava.nn.dynamics import Dynamics, Schedule
from fsnn_lava.nn.feedback import NormKind, RestrictedFeedback
from fsnn_lava.nn.fsnn_config import constructor_arguments, network_config
from fsnn_lava.nn.fsnn_options import check_options
from fsnn_lava.nn.fsnn_summary import fsnn_summary
from fsnn_lava.nn.gradient import attach_gradient
from fsnn_lava.nn.graph import INPUT, Graph
from fsnn_lava.nn.graph_checks import check_single_loop
from fsnn_lava.nn.images import check_images, is_image_sequence
from fsnn_lava.nn.layer_rates import layer_rates, layer_rates_of_graph
from fsnn_lava.nn.layer_shape import layer_shape
from fsnn_lava.nn.loop_map import Equilibrium, LoopMap
from fsnn_lava.nn.network_dynamics import network_dynamics
from fsnn_lava.nn.network_gains import network_gains, spectral_radius
from fsnn_lava.nn.neurons import IF, LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.raw_values import fault_of_floats, range_unless_raw_values
from fsnn_lava.nn.readout import Readout
from fsnn_lava.nn.simulation import simulate
from fsnn_lava.nn.source_rates import SourceRates
from fsnn_lava.nn.stage import Stage, Stages
from fsnn_lava.nn.trace import Trace
from fsnn_lava.nn.tracked_norm import TrackedNorm
from fsnn_lava.solvers.anderson import anderson
from fsnn_lava.solvers.solution import Solution
from fsnn_lava.solvers.solver import Solver


class FSNN(nn.Module):
    """A feedback spiking network: layers, forward and feedback connections between them, and a non-spiking readout on the last layer.

    In training mode, `net(images)` simulates T steps without a graph and attaches the implicit gradient (E5): memory does not depend on T.
    Raw uint8 images are normalised here; float images must already be normalised. `print(net)` lists layers and connections.

    It learns from average rates at an equilibrium: do not use it to tell sequences apart by the order of their frames.

    Args:
        architecture: a `Graph`, or the paper's notation. "64C5s (F64C5)" is a convolution with 64 channels, kernel 5 and stride 2,
            with convolutional feedback; "400 (F400)" is dense; "-" joins layers, "P2" averages 2 x 2, and a final "u" transposes a
            feedback convolution. An example with several loops, recurrence and a skip: "16C3s-16C3-16C3 (F16C3, R2:16C3, S1>3)".
        input_shape: (N,) or N, or (C, H, W), without batch and time; a graph has its own.
        classes: outputs of the readout.
        neuron: `IF()` (the default: its residual falls as 1/T), `LIF(leak)`, or `SigmaDelta(dead_band=…)`, which sends changes of rates
            instead of spikes.
        vth: threshold: one for each layer, or one for all layers that have none of their own. The paper uses 2.
        steps: T, the default for calls. The paper uses 30 for MNIST.
        schedule: "sequential" is the paper's: a layer sees the new spikes of the one before it. "pipelined" is the chip's: every connection
            takes one step. Both have the same equilibrium.
        dropout: share of currents dropped in training, in [0, 1), with one mask for all steps. Off by default.
        norm: how the feedback's norm is estimated: "kernel" is the paper's; choose "operator" if you want a certificate (E6), or "loop" if
            the network is a chain of several layers with one feedback, from the last to the first.
        limit: every feedback's alpha is kept in [-limit, limit]; the paper uses 1. With norm "loop", `feedback.clip_()` keeps the product
            of all norms around the loop, divided by all thresholds, within the limit: below 1, the network is certified from the start.
        batch_norm: after every forward connection, never after the feedback (E7).
        normalisation: how raw values become inputs. None takes them unchanged; you must then train on raw values too, since `quantise`
            rejects a network that was trained on other floats: the chip would see other inputs.
        class_names: one per class, or none; kept in files and reports.
        solver: how the gradient's linear system is solved; by default GMRES to a relative residual of 1e-2.

    Attributes:
        architecture: its graph with every shape.
        feedbacks: the feedback connections in the order of the graph; a single one is also `feedback`.
        last_trace: the Trace of the last simulation; None before the first.
        last_solve: products and relative residual of the last backward pass; None before the first.
        metrics: what a training run recorded; kept in model.pt.
        trained_range: smallest and largest input in training, if the inputs were floats; None for raw values, which are uint8, or whole
            floats 0 … 255 if there is no `normalisation`. Kept in model.pt and as metadata of the state dict.

    Raises:
        BadArchitecture: `architecture` cannot be parsed, or its shapes do not fit together.
        BadArgument: another argument is out of range.

    Examples:
        >>> net = fl.FSNN("4C3s (F4C3)", input_shape=(1, 4, 4), classes=3, neuron=fl.LIF(0.95))
        >>> loss = torch.nn.functional.cross_entropy(net(images), labels)
        >>> loss.backward()
    """

    feedback: RestrictedFeedback | None  # the only one, or None; absent if there are several

    def __init__(
        self,
        architecture: str | Graph,
        *,
        input_shape: Sequence[int] | int | None = None,
        classes: int,
        neuron: LIF | None = None,
        vth: float | Sequence[float] = 2.0,
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
        check_options(neuron=neuron, steps=steps, schedule=schedule, dropout=dropout, normalisation=normalisation)
        shape = None if input_shape is None else layer_shape(input_shape, "the input")
        self.architecture = with_thresholds(parse_architecture(architecture, input_shape=shape, classes=classes), vth)
        self.graph = self.architecture.graph
        self.neuron = neuron if neuron is not None else IF()
        self.vth = float(vth) if isinstance(vth, Real) else 2.0
        self.steps, self.schedule, self.dropout = int(steps), schedule, float(dropout)
        self.norm_kind, self.limit, self.batch_norm = norm, float(limit), bool(batch_norm)
        self.normalisation, self.class_names = normalisation, tuple(class_names)
        if self.class_names and len(self.class_names) != classes:
            raise BadArgument(f"there are {classes} classes and {len(self.class_names)} class names")
        self.solver = solver if solver is not None else Solver()
        self.metrics: dict[str, Any] = {}
        self.last_solve: tuple[int, float] | None = None  # steps and relative residual of the last backward pass
        self.last_trace: Trace | None = None  # of the last forward pass
        self.trained_range: tuple[float, float] | None = None  # of float training inputs, unless all of them were raw values
        self.event_driven = True  # False: always simulate with dense products
        self.turns = 0  # in training, take the rates from this many iterations of f from zero, instead of a simulation; 0: simulate
        graph = self.graph
        self.stages = Stages(Stage(one, graph.operator(one), batch_norm=batch_norm) for one in graph.forward)
        self.feedbacks = tuple(
            RestrictedFeedback(graph.operator(one), norm=norm, limit=limit if one.limit is None else one.limit) for one in graph.feedback
        )
        self._register_feedbacks()
        self.readout = Readout(self.architecture.layers[-1].size, classes)
        self._tracked_norms = [TrackedNorm() for _ in self.stages]
        if norm == "loop" and self.feedbacks:
            check_single_loop(graph)
            self.feedbacks[0].rest_of_loop = self._rest_of_loop
        self.clip_feedback_()

    def _register_feedbacks(self) -> None:
        """Register every feedback as a module; a single one keeps the name that it has always had in files."""
        for number, feedback in enumerate(self.feedbacks, start=1):
            self.add_module("feedback" if len(self.feedbacks) == 1 else f"feedback{number}", feedback)
        if not self.feedbacks:
            self.feedback = None

    def __repr__(self) -> str:
        shape, classes = self.architecture.input_shape, self.architecture.classes
        vth = " … ".join(f"{vth:g}" for vth in sorted({min(self.vths), max(self.vths)}))
        return f"FSNN({self.architecture.text!r}, input_shape={shape}, classes={classes}, neuron={self.neuron}, vth={vth})"

    def __str__(self) -> str:
        return fsnn_summary(self).to_text()

    def _repr_html_(self) -> str:
        return fsnn_summary(self).to_html()

    def __call__(self, images: Tensor, steps: int | None = None, *, coupling: SampleCoupling = WHOLE_BATCH) -> Tensor:
        """Run `steps` steps and return the logits; in training mode with the implicit gradient (E5).

        Args:
            images: [B, *input_shape], raw uint8 or normalised float; [B, T, *input_shape] is a sequence of T frames.
            steps: T; by default the network's own.
            coupling: computes dropout masks, batch statistics and residual scales over a joint batch of which `images` are only a part.
                Do not pass it in a single process.

        Returns:
            [B, classes]. After `backward`, `last_solve` says how well the gradient's system was solved.

        Raises:
            BadArgument: `images` has the wrong shape, or a sequence is shorter than `steps`.
            Diverged: in `backward`, if the gradient is not finite.
        """
        logits: Tensor = super().__call__(images, steps, coupling=coupling)
        return logits

    def forward(self, images: Tensor, steps: int | None = None, *, coupling: SampleCoupling = WHOLE_BATCH) -> Tensor:
        """Do the work of `__call__`; call the network itself instead, so that torch's hooks run too."""
        return self.readout(self._rates(images, steps, coupling, inner=False)[-1].flatten(1))

    def rates(self, images: Tensor, steps: int | None = None, *, coupling: SampleCoupling = WHOLE_BATCH) -> tuple[Tensor, ...]:
        """Run `steps` steps and return the rates of every layer; in training mode with the implicit gradient, for a loss of your own (E17).

        `net.readout(rates[-1].flatten(1))` are the logits. In training mode, the rates where feedback starts imply those of the
        other layers (E13), which at an equilibrium are the simulated ones.

        Args:
            images: as for a call: [B, *input_shape], or [B, T, *input_shape] for a sequence.
            steps: T; by default the network's own.
            coupling: as for a call.

        Returns:
            [B, *shape] per layer: spikes per step, in [0, 1]; with the activation "relu" they may exceed 1.

        Raises:
            BadArgument: `images` has the wrong shape, or a sequence is shorter than `steps`.
            Diverged: in `backward`, if the gradient is not finite.

        Examples:
            >>> rates = net.rates(images)
            >>> loss = sum(layer.sum() for layer in rates)  # as few spikes as possible
        """
        return self._rates(images, steps, coupling, inner=True)

    def _rates(self, images: Tensor, steps: int | None, coupling: SampleCoupling, *, inner: bool) -> tuple[Tensor, ...]:
        """Return the rates, with a gradient in training mode; only those of the last layer unless `inner`."""
        values, steps = self._checked(images, steps)
        weights = self.feedback_weights()
        masks = self._masks(len(values), values, coupling)
        if not (self.training and torch.is_grad_enabled()):
            return self._simulate(self._dynamics(values, weights, masks), steps).rates
        self._note_inputs(images)
        average = self.average(values, steps)
        entries = self._entries(stored_channels_last(average))
        if self.turns:
            trace = self._turn(_detached(entries), weights, masks)
        else:
            known = _detached(entries) if values is average else None
            trace = self._simulate(self._dynamics(values, weights, masks, known), steps, returned=True)
        loop = self._loop_map(entries, weights, masks, running=False, coupling=coupling)
        if inner and self.graph.sources != (len(self.graph.layers) - 1,):
            return layer_rates_of_graph(trace, loop, self.solver, report=self._report, turn=self.turns > 0)
        last = attach_gradient(trace, loop, self.solver, report=self._report, turn=self.turns > 0)
        return layer_rates(loop, last) if inner else (last,)

    @torch.no_grad()
    def simulate(self, images: Tensor, steps: int | None = None, *, residuals: bool = False) -> Trace:
        """Run in spikes, or in changes of rates (E14), without a gradient, and return what happened in every layer.

        Args:
            images: as for a call: [B, *input_shape], or [B, T, *input_shape] for a sequence.
            steps: T; by default the network's own.
            residuals: also evaluate f after every step, for `Trace.residuals`; slower.

        Returns:
            Rates, counts of spikes or messages, and final potentials of every layer.

        Raises:
            BadArgument: `images` has the wrong shape, or a sequence is shorter than `steps`.

        Examples:
            >>> trace = net.simulate(images, steps=20)
            >>> trace.counts[0].shape
            torch.Size([8, 4, 2, 2])
        """
        values, steps = self._checked(images, steps)
        dynamics = self._dynamics(values, self.feedback_weights(), self._no_masks())
        if not residuals:
            return self._simulate(dynamics, steps)
        found: list[Tensor] = []

        def observe(t: int, sums: tuple[Tensor, ...]) -> None:
            rates = [total / self.neuron.weight_sum(t + 1) for total in sums]
            found.append(self.residual(rates, self.average(values, t + 1)))

        return replace(self._simulate(dynamics, steps, observe=observe), residuals=found)

    @torch.no_grad()
    def equilibrium(self, images: Tensor, *, steps: int | None = None, tol: float = 1e-6, max_steps: int = 500) -> Equilibrium:
        """Solve a = f(a) (E4) by Anderson mixing, without running in spikes.

        Args:
            images: as for a call: [B, *input_shape], or [B, T, *input_shape] for a sequence.
            steps: how many frames of a sequence are averaged; by default the network's own T. Unused for images.
            tol: largest |f(a) - a| of any neuron to accept, spikes per step; 1e-6 is near what float32 resolves.
            max_steps: the largest number of evaluations of f.

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
        f, sources = self.rate_map(self.average(values, steps)), SourceRates(self.graph.sources, self.graph.shapes)
        start = sources.zeros(len(values), values)
        solution = anderson(lambda given: sources.join(f(sources.split(given))), start, tol=tol, max_steps=max_steps)
        solved = dict(zip(sources.positions, sources.split(solution.value), strict=True))
        rates = tuple(solved.get(position, rate) for position, rate in enumerate(f(sources.split(solution.value))))
        return Equilibrium(rates, solution.residual, solution.steps, solution.converged)

    @torch.no_grad()
    def residual(self, rates: Sequence[Tensor], average: Tensor) -> Tensor:
        """Return how far rates are from an equilibrium: the largest |f(a) - a| where feedback starts, for each sample.

        Args:
            rates: [B, *shape] of every layer.
            average: the input, normalised and averaged over the steps (see `average`).

        Returns:
            [B], spikes per step. Without feedback, it is taken on the last layer.
        """
        sources = SourceRates(self.graph.sources, self.graph.shapes)
        given = sources.join(rates)
        return (sources.join(self.rate_map(average)(sources.split(given))) - given).abs().flatten(1).amax(1)

    def rate_map(self, average: Tensor, *, batch_statistics: bool = False) -> LoopMap:
        """Return f of E4 for a batch: a function from the rates where feedback starts to the rates of every layer, once around the loops.

        Args:
            average: [B, *input_shape], normalised and averaged over the steps (see `average`).
            batch_statistics: use the statistics of this batch in batch norm, as training does; this also updates the running ones.
        """
        return self._loop_map(self._entries(average), self.feedback_weights(), self._no_masks(), running=not batch_statistics)

    @torch.no_grad()
    def spectral_radius(self) -> float:
        """Return the spectral radius of the gains M (E13): below 1, the network is certified to have one equilibrium, which it approaches.

        For every pair of layers, M adds up the norms of the connections between them, divided by the target's threshold. The norms are
        guaranteed upper bounds, with batch norm and pooling folded in; computing them takes seconds for large convolutions.
        """
        return spectral_radius(network_gains(self))

    def feedback_weights(self) -> tuple[Tensor, ...]:
        """Return the weight of every feedback, restricted (E6); in training, each call advances their power iterations by a step."""
        return tuple(feedback.weight() for feedback in self.feedbacks)

    def clip_feedback_(self) -> None:
        """Bring every feedback's alpha back within its limit, in place; training does so after every step."""
        for feedback in self.feedbacks:
            feedback.clip_()

    def average(self, values: Tensor, steps: int) -> Tensor:
        """Return x* of E3: the weighted mean of a sequence's first `steps` frames; images are returned unchanged.

        Args:
            values: normalised input, [B, *input_shape] or [B, T, *input_shape].
            steps: how many frames to average.
        """
        if not is_image_sequence(values, self.architecture.input_shape):
            return values
        weights = values.new_tensor(self.neuron.weights(steps))
        return torch.einsum("t,bt...->b...", weights, values[:, :steps])

    def _rest_of_loop(self) -> float:
        """Return an upper bound on a chain's ||F²|| … ||Fᴺ|| divided by all thresholds, batch norm and pooling folded in (E6)."""
        gain = 1.0 / prod(self.vths)
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
        return self.normalisation.apply(values, channels_axis=-len(self.architecture.input_shape))

    @property
    def vths(self) -> tuple[float, ...]:
        """The threshold of every layer."""
        return tuple(self.vth if layer.vth is None else layer.vth for layer in self.graph.layers)

    def _checked(self, images: Tensor, steps: int | None) -> tuple[Tensor, int]:
        steps = self.steps if steps is None else steps
        check_images(images, self.architecture.input_shape, steps)
        return self.normalise(images), steps

    def _note_inputs(self, images: Tensor) -> None:
        """Remember the range of float inputs, so that `quantise` can reject a network whose inputs raw values cannot reproduce."""
        if not images.is_floating_point() or not images.numel():
            return
        if self.normalisation is None:
            if self.trained_range is None:
                self.trained_range = range_unless_raw_values(images)
        elif self.trained_range is None or fault_of_floats(*self.trained_range, self.normalisation):
            low, high = (float(bound) for bound in torch.aminmax(images.detach()))
            before = self.trained_range
            self.trained_range = (low, high) if before is None else (min(low, before[0]), max(high, before[1]))
            fault = fault_of_floats(*self.trained_range, self.normalisation)
            if before is None and fault:
                warnings.warn(
                    Remark(
                        f"float images must already be normalised, but training uses floats from {low:.3g} to {high:.3g}, and {fault}: "
                        "pass raw uint8 values, which the network normalises itself, or normalise the floats"
                    ),
                    stacklevel=4,
                )

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]]["trained_range"] = self.trained_range  # no tensor: the names in files stay the same

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: Any, *outcome: Any) -> None:
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *outcome)
        self.trained_range = local_metadata.get("trained_range", self.trained_range)

    def _no_masks(self) -> Masks:
        return Masks.none(len(self.stages), len(self.feedbacks))

    def _masks(self, samples: int, like: Tensor, coupling: SampleCoupling = WHOLE_BATCH) -> Masks:
        """Return the dropout masks for the currents of all connections that learn."""
        if not self.training or self.dropout == 0.0:
            return self._no_masks()
        learning = [stage for stage in self.stages if stage.linear is not None]
        targets = [stage.connection.target for stage in learning] + [one.target for one in self.graph.feedback]
        drawn = iter(coupling.draw_masks([self.graph.shape(name) for name in targets], samples, self.dropout, like))
        stages = tuple(next(drawn) if stage.linear is not None else None for stage in self.stages)
        return Masks(stages, tuple(drawn))

    def _entries(self, average: Tensor) -> tuple[Tensor | None, ...]:
        """Return F x* without batch norm for the stages that start at the input, and None for the others."""
        return tuple(stage.current(average) if stage.connection.source == INPUT else None for stage in self.stages)

    def _loop_map(
        self,
        entries: tuple[Tensor | None, ...],
        weights: tuple[Tensor, ...],
        masks: Masks,
        *,
        running: bool,
        coupling: SampleCoupling = WHOLE_BATCH,
    ) -> LoopMap:
        """Return f for an input whose currents, without batch norm, are `entries`."""
        return LoopMap(
            graph=self.graph,
            stages=self.stages,
            feedbacks=self.feedbacks,
            vths=self.vths,
            rate_max=self.neuron.rate_max,
            entries=entries,
            weights=weights,
            masks=masks,
            running=running,
            coupling=coupling,
        )

    @torch.no_grad()
    def _dynamics(
        self, values: Tensor, weights: tuple[Tensor, ...], masks: Masks, entries: tuple[Tensor | None, ...] | None = None
    ) -> Dynamics:
        """Return every current of a run. `entries` are the input's currents without batch norm, if they are known already."""
        return network_dynamics(self, values, weights, masks, entries)

    @torch.no_grad()
    def _turn(self, entries: tuple[Tensor | None, ...], weights: tuple[Tensor, ...], masks: Masks) -> Trace:
        """Iterate f from zero, for all but the last of `turns` turns, with batch norm's running statistics; return the rates."""
        f = self._loop_map(entries, weights, masks, running=True)
        known = next(entry for entry in entries if entry is not None)
        rates = tuple(known.new_zeros(len(known), *layer.out_shape) for layer in self.graph.layers)
        for _ in range(self.turns - 1):
            rates = f([rates[position] for position in self.graph.sources])
        return Trace(rates, (), ())

    def _simulate(self, dynamics: Dynamics, steps: int, *, observe: Observer | None = None, returned: bool = False) -> Trace:
        trace = simulate(dynamics, steps, events=self.event_driven, observe=observe, returned=returned)
        self.last_trace = replace(trace, returned=None)
        return trace

    def _report(self, solution: Solution) -> None:
        """Record the figures of a backward solve; Diverged if the gradient is not finite."""
        worst = float(solution.residual.max()) if solution.steps else 0.0
        self.last_solve = (solution.steps, worst if solution.steps else math.nan)
        if not math.isfinite(worst + float(solution.value.sum())):  # residuals are infinite where no iterate was finite
            raise Diverged("the gradient is not finite: the feedback diverges (lower the learning rate, or the feedback's limit)")

    def config(self) -> dict[str, Any]:
        """Return everything but weights, solver and metrics as plain values; `from_config` reverses it."""
        return network_config(self)

    @staticmethod
    def from_config(config: dict[str, Any]) -> FSNN:
        """Make an FSNN of this configuration with new random weights.

        Args:
            config: from `FSNN.config`.

        Raises:
            BadArgument: a value is out of range.
        """
        return FSNN(**constructor_arguments(config))

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
            BadFile: the file is missing, damaged, written by a newer version, or not a model.
        """
        from fsnn_lava.formats import model

        return model.read_model(path)


def _detached(entries: tuple[Tensor | None, ...]) -> tuple[Tensor | None, ...]:
    return tuple(None if entry is None else entry.detach() for entry in entries)
