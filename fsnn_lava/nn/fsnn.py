"""FSNN: the float network. Simulated in spikes, understood by its equilibrium, trained by implicit differentiation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from fsnn_lava.errors import BadArgument, Diverged
from fsnn_lava.nn.dropout import Masks, draw
from fsnn_lava.nn.feedback import RestrictedFeedback
from fsnn_lava.nn.gradient import implicit, implicit_ring, slopes
from fsnn_lava.nn.layer import Stage
from fsnn_lava.nn.neurons import IF, LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.notation import parse
from fsnn_lava.nn.simulation import Dynamics, Trace, simulate
from fsnn_lava.solvers.equilibrium import Equilibrium, Solution, Solver, anderson

if TYPE_CHECKING:
    from fsnn_lava.nn.event_simulation import EventSimulation, Run

SCHEDULES = ("sequential", "pipelined")
DENSE_FROM = 0.5  # activity from which dense products are faster, measured for layers of 64 to 384 channels
SEQUENCES_AT_ONCE = 16  # an input sequence's drive takes T times the memory of an image's


def _masked(mask: Tensor | None, current: Tensor) -> Tensor:
    return current if mask is None else current * mask


class FSNN(nn.Module):
    """A feedback spiking network: stages F¹ … Fᴺ, feedback W from the last layer to the first, a non-spiking readout.

    In training mode `net(images)` simulates T steps without a graph and attaches the implicit gradient (E5); memory does not
    depend on T. Raw uint8 images are normalised here; float images are taken as normalised. [B, T, C, H, W] is a sequence.
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
        self.last_trace: Trace | None = None  # the simulation of the last forward pass
        self.event_driven = True  # simulate float32 on the CPU spike by spike unless too many fire; False: always dense products
        self.activity = 0.0  # the share of all products that the spikes of the last run on the CPU asked for
        self._events: EventSimulation | None = None
        self.stages = nn.ModuleList(Stage(spec, batch_norm=batch_norm) for spec in self.architecture.layers)
        spec = self.architecture.feedback
        self.feedback = RestrictedFeedback(spec, norm=norm, limit=limit) if spec else None
        self.readout = nn.Linear(self.architecture.layers[-1].size, classes)

    # --- running -----------------------------------------------------------------------------------------------------

    def forward(self, images: Tensor, steps: int | None = None) -> Tensor:
        """Logits [B, classes] after `steps` steps; in training mode with the gradient of E5."""
        values, steps = self._checked(images, steps)
        weight = self.feedback.weight() if self.feedback else None
        masks = self._masks(len(values), values)
        if not (self.training and torch.is_grad_enabled()):
            rates = self._simulate(values, steps, weight, masks).rates[-1]
            return self.readout(rates.flatten(1))
        average = self.average(values, steps)
        first = self.stages[0].current(average)  # type: ignore[operator]
        known = first.detach() if values is average else None
        trace = self._simulate(values, steps, weight, masks, known, returned=True)
        return self.readout(self._attach(trace, first, weight, masks).flatten(1))

    @torch.no_grad()
    def simulate(self, images: Tensor, steps: int | None = None, *, residuals: bool = False) -> Trace:
        """Run in spikes; with `residuals`, also max |f(a[t]) - a[t]| of the last layer after every step, [B] each."""
        values, steps = self._checked(images, steps)
        masks = Masks((None,) * len(self.stages), None)
        weight = self.feedback.weight() if self.feedback else None
        if not residuals:
            return self._simulate(values, steps, weight, masks)
        seen: list[Tensor] = []

        def observe(t: int, sums: tuple[Tensor, ...]) -> None:
            rates = sums[-1] / self.neuron.weight_sum(t + 1)
            mapped = self.rate_map(self.average(values, t + 1))(rates)[-1]
            seen.append((mapped - rates).abs().flatten(1).amax(1))

        trace = self._simulate(values, steps, weight, masks, observe=observe)
        return Trace(trace.rates, trace.counts, trace.potentials, seen)

    @torch.no_grad()
    def equilibrium(self, images: Tensor, *, steps: int | None = None, tol: float = 1e-6, max_steps: int = 500) -> Equilibrium:
        """Rates with a = f(a) (E4); `steps` says how much of a sequence is averaged. Look at `.converged`."""
        values, steps = self._checked(images, steps)
        f = self.rate_map(self.average(values, steps))
        start = values.new_zeros(len(values), *self.architecture.layers[-1].out_shape)
        solution = anderson(lambda last: f(last)[-1], start, tol=tol, max_steps=max_steps)
        return Equilibrium((*f(solution.value)[:-1], solution.value), solution.residual, solution.steps, solution.converged)

    def rate_map(self, average: Tensor, *, batch_statistics: bool = False) -> Callable[[Tensor], tuple[Tensor, ...]]:
        """f of E4 at an averaged input: the last layer's rates -> the rates of every layer, the last one mapped once around."""
        weight = self.feedback.weight() if self.feedback else None
        masks = Masks((None,) * len(self.stages), None)
        first = self.stages[0].current(average)  # type: ignore[operator]
        return lambda rates: self._map(rates, first, weight, masks, running=not batch_statistics)

    def average(self, values: Tensor, steps: int) -> Tensor:
        """x* of E3: a constant input itself, the weighted mean of a sequence's first `steps` frames."""
        if values.dim() == len(self.architecture.input_shape) + 1:
            return values
        weights = values.new_tensor(self.neuron.weights(steps))
        return torch.einsum("t,bt...->b...", weights, values[:, :steps])

    def normalise(self, images: Tensor) -> Tensor:
        """Raw uint8 values as the first stage wants them; float values unchanged."""
        dtype = self.readout.weight.dtype
        if images.dtype != torch.uint8:
            return images.to(dtype)
        values = images.to(dtype)
        if self.normalisation is None:
            return values
        shape = (-1, *[1] * (len(self.architecture.input_shape) - 1))
        mean = values.new_tensor(self.normalisation.mean).view(shape)
        std = values.new_tensor(self.normalisation.std).view(shape)
        return (values / self.normalisation.divisor - mean) / std

    # --- inside ------------------------------------------------------------------------------------------------------

    def _checked(self, images: Tensor, steps: int | None) -> tuple[Tensor, int]:
        steps = self.steps if steps is None else steps
        if steps < 1:
            raise BadArgument(f"steps must be at least 1, got {steps}")
        shape = self.architecture.input_shape
        sequence = images.dim() == len(shape) + 2
        if tuple(images.shape[1:]) != shape and not (sequence and tuple(images.shape[2:]) == shape):
            raise BadArgument(f"images must be [B, {', '.join(map(str, shape))}], or [B, T, …] for a sequence; got {list(images.shape)}")
        if sequence and images.shape[1] < steps:
            raise BadArgument(f"a sequence of {images.shape[1]} frames cannot run {steps} steps")
        return self.normalise(images), steps

    @property
    def delay(self) -> int:
        """Steps the feedback takes in the layers' own time."""
        return 1 if self.schedule == "sequential" else len(self.stages)

    def _masks(self, batch: int, like: Tensor) -> Masks:
        if not self.training or self.dropout == 0.0:
            return Masks((None,) * len(self.stages), None)
        shapes = [spec.out_shape for spec in self.architecture.layers]
        masks = draw(shapes + (shapes[:1] if self.feedback else []), batch, self.dropout, like)
        return Masks(tuple(masks[: len(self.stages)]), masks[-1] if self.feedback else None)

    @torch.no_grad()
    def _simulate(
        self,
        values: Tensor,
        steps: int,
        weight: Tensor | None,
        masks: Masks,
        first: Tensor | None = None,
        observe: Callable[[int, tuple[Tensor, ...]], None] | None = None,
        returned: bool = False,
    ) -> Trace:
        """`first` is F¹x without batch norm where it is known already; `returned`: W a is wanted, if cheap."""
        by_events = observe is None and self.event_driven and values.device.type == "cpu" and values.dtype == torch.float32
        by_events = by_events and len(values) > 0
        if by_events and self.activity < DENSE_FROM:
            trace, rates = self._simulate_events(values, steps, weight, masks, first, returned)
        else:
            trace = simulate(self._dynamics(values, weight, masks, first), steps, observe=observe)
            rates = [float(count.mean()) / steps for count in trace.counts] if by_events else []
        if by_events:
            self.activity = self._event_simulation().activity(rates)
        self.last_trace = replace(trace, returned=None)
        return trace

    def _event_simulation(self) -> EventSimulation:
        if self._events is None:
            from fsnn_lava.nn.event_simulation import of_network

            self._events = of_network(self.architecture, delay=self.delay)
        return self._events

    def _simulate_events(
        self, values: Tensor, steps: int, weight: Tensor | None, masks: Masks, first: Tensor | None, returned: bool
    ) -> tuple[Trace, Sequence[float]]:
        """The same run, spike by spike (see emulator/floats.py): equal up to the order of sums; and each layer's mean rate."""
        events = self._event_simulation()
        entry: Stage = self.stages[0]  # type: ignore[assignment]
        later = [stage.pooled() for stage in list(self.stages)[1:]]  # type: ignore[operator]
        weights = [None if weight is None else weight.detach(), *(w for w, _ in later)]
        part = len(values) if values.dim() == len(self.architecture.input_shape) + 1 else SEQUENCES_AT_ONCE
        biases, onward, pieces = [b for _, b in later], (masks.feedback, *masks.stages[1:]), []
        for start in range(0, len(values), part):
            some = slice(start, start + part)
            mine = onward if part == len(values) else [None if mask is None else mask[some] for mask in onward]
            drive = self._drive(entry, values[some], steps, first, masks.stages[0], some)
            pieces.append(events.run(drive, biases, weights, mine, steps=steps, leak=self.neuron.leak, vth=self.vth, returned=returned))
        run = pieces[0] if len(pieces) == 1 else _joined(pieces)
        total = self.neuron.weight_sum(steps)
        rates = tuple((s / total).contiguous() for s in run.sums)
        return Trace(rates, run.counts, run.potentials, returned=run.returned), run.rates

    def _drive(self, entry: Stage, values: Tensor, steps: int, first: Tensor | None, mask: Tensor | None, some: slice) -> Tensor:
        """Masked current of the first layer from outside: [B, *shape], or [B, T, *shape] for a sequence."""
        if values.dim() == len(self.architecture.input_shape) + 1:
            current = entry.normalise(entry.current(values) if first is None else first, running=True)
            return _masked(mask, current)
        current = entry.connection()(values[:, :steps].flatten(0, 1)).unflatten(0, (len(values), steps))
        return current if mask is None else current * mask[some, None]

    def _dynamics(self, values: Tensor, weight: Tensor | None, masks: Masks, first: Tensor | None) -> Dynamics:
        entry: Stage = self.stages[0]  # type: ignore[assignment]
        if values.dim() == len(self.architecture.input_shape) + 1:
            current = entry.normalise(entry.current(values) if first is None else first, running=True)
            constant = _masked(masks.stages[0], current)
            drive = lambda _t: constant  # noqa: E731
        else:
            connect = entry.connection()
            drive = lambda t: _masked(masks.stages[0], connect(values[:, t]))  # noqa: E731
        forward = []
        for stage, mask in zip(list(self.stages)[1:], masks.stages[1:], strict=True):
            forward.append(_masking(stage.connection(), mask))  # type: ignore[operator]
        loop = None
        if self.feedback is not None and weight is not None:
            feedback, fixed = self.feedback, weight.detach()
            loop = _masking(lambda spikes: feedback.connect(fixed, spikes), masks.feedback)
        return Dynamics(drive, forward, loop, self.neuron, self.vth, self.delay)

    def _map(self, rates: Tensor, first: Tensor, weight: Tensor | None, masks: Masks, *, running: bool) -> tuple[Tensor, ...]:
        """One turn around the loop (E4), from the last layer's rates; `first` is F¹x* without batch norm."""
        out: list[Tensor] = []
        for position, stage in enumerate(self.stages):
            current = stage.normalise(first if position == 0 else stage.current(out[-1]), running=running)  # type: ignore[operator]
            current = _masked(masks.stages[position], current)
            if position == 0 and self.feedback is not None and weight is not None:
                current = current + _masked(masks.feedback, self.feedback.connect(weight, rates))
            out.append(torch.clamp(current / self.vth, 0.0, 1.0))
        return tuple(out)

    def _attach(self, trace: Trace, first: Tensor, weight: Tensor | None, masks: Masks) -> Tensor:
        """The last layer's rates with the gradient of the equilibrium they stand for (E5), batch norm in its training mode (E7)."""
        rates = trace.rates[-1]
        if self.feedback is None or weight is None:
            mapped = self._map(rates, first, weight, masks, running=False)[-1]
            return implicit(mapped, rates, partial(Solver(max_steps=0).solve_affine, torch.zeros_like), report=self._report)
        if len(self.stages) == 1:
            return self._attach_ring(trace, first, weight, masks)
        start = rates.detach().requires_grad_()
        mapped = self._map(start, first, weight, masks, running=False)[-1]
        product = lambda v: torch.autograd.grad(mapped, start, v, retain_graph=True)[0]  # noqa: E731
        return implicit(mapped, rates, partial(self.solver.solve_affine, product, apart=False), report=self._report)

    def _attach_ring(self, trace: Trace, first: Tensor, weight: Tensor, masks: Masks) -> Tensor:
        """The same for a single layer: v -> J_f^T v is W^T (sigma' v / vth), where sigma' is 0 or 1 per neuron."""
        feedback: RestrictedFeedback = self.feedback  # type: ignore[assignment]
        rates, mask, fixed = trace.rates[0], masks.feedback, weight.detach()
        own = _masked(masks.stages[0], self.stages[0].normalise(first, running=False))  # type: ignore[operator]
        with torch.no_grad():
            back = _masked(mask, feedback.connect(fixed, rates)) if trace.returned is None else trace.returned
            slope, gain = slopes(own, back, mask, self.vth)
        solve = partial(self.solver.solve_affine, partial(feedback.connect_transposed, fixed), gain=gain)
        return implicit_ring(own, weight, rates, slope=slope, mask=mask, feedback=feedback, solve=solve, report=self._report)

    def _report(self, solution: Solution) -> None:
        worst = float(solution.residual.max()) if solution.steps else 0.0
        self.last_solve = (solution.steps, worst if solution.steps else math.nan)
        if not math.isfinite(worst + float(solution.value.sum())):  # residuals are infinite where no iterate was finite
            raise Diverged("the gradient is not finite: the feedback diverges (lower the learning rate, or the feedback's limit)")

    # --- files -------------------------------------------------------------------------------------------------------

    def config(self) -> dict[str, Any]:
        """Everything but the weights, as plain values; `FSNN.from_config` is the way back."""
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
        values = dict(config)
        leak, normalisation = values.pop("leak"), values.pop("normalisation")
        if normalisation is not None:
            divisor, mean, std = normalisation
            values["normalisation"] = Normalisation(divisor, tuple(mean), tuple(std))
        return FSNN(values.pop("architecture"), neuron=IF() if leak == 1.0 else LIF(leak), **values)

    def save(self, path: str | Path) -> None:
        from fsnn_lava.formats import model

        model.write(self, path)

    @staticmethod
    def load(path: str | Path) -> FSNN:
        from fsnn_lava.formats import model

        return model.read(path)


def _joined(pieces: Sequence[Run]) -> Run:
    """Parts of a batch as one batch."""
    sums, counts, potentials = (tuple(torch.cat(layer) for layer in zip(*kind, strict=True)) for kind in list(zip(*pieces))[:3])
    sizes = torch.tensor([len(piece.sums[0]) for piece in pieces], dtype=torch.float64)
    rates = (sizes / sizes.sum()) @ torch.tensor([piece.rates for piece in pieces], dtype=torch.float64)
    return pieces[0]._replace(sums=sums, counts=counts, potentials=potentials, rates=rates.tolist())


def _masking(connection: Callable[[Tensor], Tensor], mask: Tensor | None) -> Callable[[Tensor], Tensor]:
    return connection if mask is None else lambda spikes: connection(spikes).mul_(mask)


def _check(*, vth: float, steps: int, schedule: str, dropout: float) -> None:
    if not vth > 0:
        raise BadArgument(f"vth must be positive, got {vth}")
    if steps < 1:
        raise BadArgument(f"steps must be at least 1, got {steps}")
    if schedule not in SCHEDULES:
        raise BadArgument(f"schedule must be one of {', '.join(SCHEDULES)}, got {schedule!r}")
    if not 0.0 <= dropout < 1.0:
        raise BadArgument(f"dropout must lie in [0, 1), got {dropout}")
