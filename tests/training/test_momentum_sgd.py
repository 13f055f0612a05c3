"""MomentumSGD has the steps, the state and the checkpoints of torch.optim.SGD, and does not import torch's compiler."""

from __future__ import annotations

import copy
import subprocess
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from fsnn_lava.training.descent import descend
from fsnn_lava.training.momentum_sgd import MomentumSGD

PLAN = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}
SHAPES = [(7, 5), (), (3, 2, 3, 3)]


def weights() -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape).requires_grad_() for shape in SHAPES]


def pair() -> tuple[MomentumSGD, torch.optim.SGD]:
    return MomentumSGD(weights(), **PLAN), torch.optim.SGD(weights(), **PLAN)


def give_gradients(*optimisers: MomentumSGD | torch.optim.SGD) -> None:
    """The same random gradients; the second parameter has none."""
    torch.manual_seed(1)
    for number, parameters in enumerate(zip(*(one.param_groups[0]["params"] for one in optimisers), strict=True)):
        grad = torch.randn(parameters[0].shape)
        for parameter in parameters:
            parameter.grad = None if number == 1 else grad.clone()


def momenta(state: dict[str, Any]) -> dict[int, Tensor]:
    found = {number: values.get("momentum_buffer") for number, values in state["state"].items()}
    return {number: buffer for number, buffer in found.items() if buffer is not None}


def assert_same(ours: MomentumSGD, theirs: torch.optim.SGD) -> None:
    for a, b in zip(ours.param_groups[0]["params"], theirs.param_groups[0]["params"], strict=True):
        torch.testing.assert_close(a, b)
    mine, other = ours.state_dict(), theirs.state_dict()
    assert mine["param_groups"] == other["param_groups"]
    buffers, others = momenta(mine), momenta(other)
    assert list(buffers) == list(others)
    for number, buffer in buffers.items():
        torch.testing.assert_close(buffer, others[number])


@pytest.mark.parametrize("compiled", [True, False])
def test_steps_and_state_are_torchs(compiled: bool) -> None:
    ours, theirs = pair()
    assert_same(ours, theirs)
    for _ in range(3):
        give_gradients(ours, theirs)
        descend(ours) if compiled else ours.step()
        theirs.step()
        assert_same(ours, theirs)


def test_a_checkpoint_of_either_continues_in_the_other() -> None:
    ours, theirs = pair()
    for _ in range(2):
        give_gradients(ours, theirs)
        descend(ours)
        theirs.step()
    exchanged = pair()
    exchanged[0].load_state_dict(copy.deepcopy(theirs.state_dict()))
    exchanged[1].load_state_dict(copy.deepcopy(ours.state_dict()))
    for new, old in zip(exchanged, (theirs, ours), strict=True):
        for a, b in zip(new.param_groups[0]["params"], old.param_groups[0]["params"], strict=True):
            a.data.copy_(b.data)
    give_gradients(ours, *exchanged)
    descend(ours)
    descend(exchanged[0])
    exchanged[1].step()
    assert_same(ours, exchanged[1])
    assert_same(exchanged[0], exchanged[1])


def test_a_state_of_other_parameters_is_refused() -> None:
    other = MomentumSGD(weights()[:2], **PLAN)
    with pytest.raises(ValueError, match="doesn't match the size"):
        pair()[0].load_state_dict(other.state_dict())


def test_training_does_not_import_torchs_compiler() -> None:
    """Importing it would take longer than training a small network."""
    code = """
import sys, torch
from fsnn_lava.training.build import build_network, build_optimiser
from fsnn_lava.training.descent import descend
from fsnn_lava.training.recipe import parse_recipe
values = {"data": "digits", "architecture": "3 (F3)", "epochs": 1, "neuron": "if", "steps": 2, "seed": 1, "vth": 2.0, "batch": 2}
recipe = parse_recipe(values)
net = build_network(recipe, input_shape=(1, 8, 8), classes=10, normalisation=None)
optimiser = build_optimiser(recipe, net)
net(torch.ones(2, 1, 8, 8), steps=2).sum().backward()
descend(optimiser)
optimiser.state_dict()
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=280)
    assert (done.returncode, done.stdout, done.stderr) == (0, "False\n", "")
