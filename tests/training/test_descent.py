"""One pass over the weights is torch's SGD, and shares its state."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from fsnn_lava.training import descent
from fsnn_lava.training.descent import descend

SHAPES = [(7, 5), (), (3, 2, 3, 3), (11,)]


def weights(dtype: torch.dtype = torch.float32) -> list[Tensor]:
    torch.manual_seed(0)
    return [torch.randn(shape, dtype=dtype).requires_grad_() for shape in SHAPES]


def pair(dtype: torch.dtype = torch.float32, **options: object) -> tuple[torch.optim.SGD, torch.optim.SGD]:
    ours = weights(dtype)
    theirs = [copy.deepcopy(weight) for weight in ours]
    plan = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01, **options}
    return torch.optim.SGD(ours, **plan), torch.optim.SGD(theirs, **plan)  # type: ignore[arg-type]


def give_gradients(*optimisers: torch.optim.SGD, but: int | None = None) -> None:
    for number, weights in enumerate(zip(*(one.param_groups[0]["params"] for one in optimisers), strict=True)):
        grad = torch.randn(weights[0].shape, dtype=weights[0].dtype)
        for weight in weights:
            weight.grad = None if number == but else grad.clone()


def agree(ours: torch.optim.SGD, theirs: torch.optim.SGD) -> None:
    mine, other = ours.param_groups[0]["params"], theirs.param_groups[0]["params"]
    for a, b in zip(mine, other, strict=True):
        torch.testing.assert_close(a, b)
        buffers = [state.get("momentum_buffer") for state in (ours.state[a], theirs.state[b])]
        assert (buffers[0] is None) == (buffers[1] is None)
        if buffers[0] is not None:
            torch.testing.assert_close(buffers[0], buffers[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_steps_are_torchs(monkeypatch: pytest.MonkeyPatch, decay: float, dtype: torch.dtype) -> None:
    ours, theirs = pair(dtype, weight_decay=decay)
    monkeypatch.setattr(ours, "step", lambda: pytest.fail("torch's own step was taken"))
    for number in range(5):
        for optimiser in (ours, theirs):
            optimiser.param_groups[0]["lr"] = 0.1 / (number + 1)
        give_gradients(ours, theirs, but=number - 2)  # one without a gradient, in the first step none
        descend(ours)
        theirs.step()
        agree(ours, theirs)


def test_either_can_continue_from_the_others_state() -> None:
    ours, theirs = pair()
    give_gradients(ours, theirs)
    descend(ours)
    theirs.step()
    kept = ours.state_dict()
    ours.load_state_dict(theirs.state_dict())
    theirs.load_state_dict(kept)
    give_gradients(ours, theirs)
    descend(ours)
    theirs.step()
    agree(ours, theirs)


@pytest.mark.parametrize("options", [{"nesterov": True}, {"momentum": 0.0}, {"dampening": 0.5}, {"maximize": True}])
def test_what_it_does_not_know_is_torchs(monkeypatch: pytest.MonkeyPatch, options: dict[str, object]) -> None:
    monkeypatch.setattr(descent, "sgd_step", lambda *_: pytest.fail("not torch's own step"))
    ours, theirs = pair(**options)
    for _ in range(2):
        give_gradients(ours, theirs)
        descend(ours)
        theirs.step()
    agree(ours, theirs)


def test_weights_that_are_not_side_by_side_are_torchs(monkeypatch: pytest.MonkeyPatch) -> None:
    weight = torch.randn(4, 6).t().requires_grad_()
    optimiser = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    before, weight.grad = weight.detach().clone(), torch.ones(6, 4)
    monkeypatch.setattr(descent, "sgd_step", lambda *_: pytest.fail("not torch's own step"))
    descend(optimiser)
    torch.testing.assert_close(weight.detach(), before - 0.5)


def test_a_momentum_that_is_not_side_by_side_is_torchs() -> None:
    """As torch leaves it after a gradient of another layout."""
    weight = torch.ones(2, 3, 4, 4, requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=0.5, momentum=0.5)
    weight.grad = torch.ones_like(weight).contiguous(memory_format=torch.channels_last)
    optimiser.step()
    weight.grad = torch.ones_like(weight).contiguous()
    descend(optimiser)
    torch.testing.assert_close(weight.detach(), torch.full((2, 3, 4, 4), 1 - 0.5 - 0.75))


def test_what_was_computed_with_the_old_weights_cannot_be_differentiated_any_more() -> None:
    weight = torch.ones(3, requires_grad=True)
    optimiser = torch.optim.SGD([weight], lr=0.5, momentum=0.9)
    before = weight.square().sum()
    weight.grad = torch.ones(3)
    descend(optimiser)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        before.backward()
