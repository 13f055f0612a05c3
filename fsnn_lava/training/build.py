"""Build the network and the optimiser of a recipe."""

from __future__ import annotations

import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.architecture import parse_architecture
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.graph import Graph
from fsnn_lava.nn.neurons import IF, LIF, SigmaDelta
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.solvers.solver import Solver
from fsnn_lava.training.momentum_sgd import MomentumSGD
from fsnn_lava.training.random_streams import stream_seed
from fsnn_lava.training.recipe import Recipe

INITIALISE = 4  # the stream of random numbers for the initial weights


def build_network(
    recipe: Recipe, *, input_shape: tuple[int, ...], classes: int, normalisation: Normalisation | None, class_names: tuple[str, ...] = ()
) -> FSNN:
    """Build the network of a recipe, with new weights drawn from its seed, or with those of the model that it starts from."""
    if recipe.start:
        net = _loaded_start(recipe, input_shape=input_shape, classes=classes)
    else:
        torch.manual_seed(stream_seed(INITIALISE, recipe.seed))
        net = FSNN(
            _architecture(recipe, input_shape),
            input_shape=input_shape,
            classes=classes,
            neuron=_neuron(recipe),
            vth=recipe.vth,
            steps=recipe.steps,
            schedule=recipe.schedule,
            dropout=recipe.dropout,
            norm=recipe.norm,
            limit=recipe.limit,
            normalisation=normalisation,
            class_names=class_names,
        )
    configure_network(net, recipe.at(0))
    if recipe.quantise is not None:
        from fsnn_lava.quantisation.fake_quantise import enable_fake_quantisation

        enable_fake_quantisation(net, bits=recipe.quantise.bits)
    return net


def configure_network(net: FSNN, plan: Recipe) -> None:
    """Set everything in the network that may change from phase to phase; `plan` is the recipe of one epoch."""
    chosen = plan.solver
    net.solver = Solver(method=chosen.method, tol=chosen.tol, max_steps=chosen.max_steps, precision=chosen.precision)
    net.steps, net.turns, net.dropout = plan.steps, plan.turns, plan.dropout
    net.limit = plan.limit
    for connection, feedback in zip(net.graph.feedback, net.feedbacks, strict=True):
        feedback.limit = plan.limit if connection.limit is None else connection.limit
    net.clip_feedback_()


def _architecture(recipe: Recipe, input_shape: tuple[int, ...]) -> str | Graph:
    return recipe.architecture if recipe.graph is None else recipe.graph.graph(input_shape)


def _loaded_start(recipe: Recipe, *, input_shape: tuple[int, ...], classes: int) -> FSNN:
    """Load the network that the recipe starts from; BadArgument if it differs from the recipe's."""
    net, own = FSNN.load(recipe.start), parse_architecture(_architecture(recipe, input_shape), input_shape=input_shape, classes=classes)
    wanted = {"leak": recipe.leak, "vth": recipe.vth, "input shape": input_shape, "classes": classes}
    plan = net.architecture
    found = {"leak": net.neuron.leak, "vth": net.vth, "input shape": plan.input_shape, "classes": plan.classes}
    differing = [(key, found[key], value) for key, value in wanted.items() if found[key] != value]
    if plan.graph != own.graph:
        differing.insert(0, ("architecture", plan.text, own.text))
    for key, theirs, value in differing[:1]:
        raise BadArgument(f"the network in {recipe.start} (start) has {key} {theirs!r}, but the recipe says {value!r}; they must agree")
    net.steps, net.schedule, net.dropout = recipe.steps, recipe.schedule, recipe.dropout
    net.neuron = _neuron(recipe)
    return net


def _neuron(recipe: Recipe) -> LIF:
    if recipe.neuron == "delta":
        return SigmaDelta(dead_band=recipe.dead_band, activation=recipe.activation)
    return IF() if recipe.neuron == "if" else LIF(recipe.leak)


def build_optimiser(recipe: Recipe, net: FSNN) -> MomentumSGD:
    """Build the optimiser, SGD with momentum on every parameter; its learning rate is set before each step."""
    plan = recipe.optimiser
    return MomentumSGD(net.parameters(), lr=plan.learning_rate, momentum=plan.momentum, weight_decay=plan.weight_decay)
