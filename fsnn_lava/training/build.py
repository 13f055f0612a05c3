"""Build the network and the optimiser of a recipe."""

from __future__ import annotations

import torch

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.neurons import IF, LIF
from fsnn_lava.nn.normalisation import Normalisation
from fsnn_lava.nn.notation import parse_notation
from fsnn_lava.solvers.solver import Solver
from fsnn_lava.training.momentum_sgd import MomentumSGD
from fsnn_lava.training.random_streams import stream_seed
from fsnn_lava.training.recipe import Recipe

INITIALISE = 4  # the stream of random numbers for the initial weights


def build_network(
    recipe: Recipe, *, input_shape: tuple[int, ...], classes: int, normalisation: Normalisation | None, class_names: tuple[str, ...] = ()
) -> FSNN:
    """The network of a recipe, with new weights drawn from its seed, or those of the model that it starts from."""
    if recipe.start:
        net = _loaded_start(recipe, input_shape=input_shape, classes=classes)
    else:
        torch.manual_seed(stream_seed(INITIALISE, recipe.seed))
        net = FSNN(
            recipe.architecture,
            input_shape=input_shape,
            classes=classes,
            neuron=IF() if recipe.neuron == "if" else LIF(recipe.leak),
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
    net.solver = Solver(method=plan.solver.method, tol=plan.solver.tol, max_steps=plan.solver.max_steps)
    net.steps, net.turns, net.dropout = plan.steps, plan.turns, plan.dropout
    net.limit = plan.limit
    if net.feedback is not None:
        net.feedback.limit = plan.limit
        net.feedback.clip_()


def _loaded_start(recipe: Recipe, *, input_shape: tuple[int, ...], classes: int) -> FSNN:
    """The network in the file that the recipe starts from; BadArgument if it differs from the recipe's."""
    net = FSNN.load(recipe.start)
    text = parse_notation(recipe.architecture, input_shape=input_shape, classes=classes).text
    wanted = {"architecture": text, "leak": recipe.leak, "vth": recipe.vth, "input shape": input_shape, "classes": classes}
    plan = net.architecture
    found = {"architecture": plan.text, "leak": net.neuron.leak, "vth": net.vth, "input shape": plan.input_shape, "classes": plan.classes}
    for key, value in wanted.items():
        if found[key] != value:
            raise BadArgument(
                f"the network in {recipe.start} (start) has {key} {found[key]!r}, but the recipe says {value!r}; they must agree"
            )
    net.steps, net.schedule, net.dropout = recipe.steps, recipe.schedule, recipe.dropout
    return net


def build_optimiser(recipe: Recipe, net: FSNN) -> MomentumSGD:
    """SGD with momentum on every parameter; the learning rate is set before each step."""
    plan = recipe.optimiser
    return MomentumSGD(net.parameters(), lr=plan.learning_rate, momentum=plan.momentum, weight_decay=plan.weight_decay)
