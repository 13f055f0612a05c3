"""Networks of norse, with the package itself."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import fsnn_lava as fl

norse = pytest.importorskip("norse.torch")


def imported(container, *modules):
    torch.manual_seed(1)
    return fl.from_torch(container(*modules), input_shape=(8,), calibration=20 * torch.rand(6, 8), steps=20)


def dense(inputs, outputs):
    torch.manual_seed(inputs)
    return nn.Linear(inputs, outputs)


def subtracting():
    from norse.torch.functional.reset import reset_subtract

    return norse.LIFBoxCell(norse.LIFBoxParameters(reset_method=reset_subtract))


@pytest.mark.parametrize("container", [nn.Sequential, norse.SequentialState])
def test_cells_that_subtract_send_the_same_spikes(container):
    net = imported(container, dense(8, 6), subtracting(), dense(6, 3), subtracting())
    assert net.neuron.leak == pytest.approx(0.9, rel=1e-7) and net.feedbacks == ()  # norse computes it in float32
    said = net.metrics["imported"]
    assert "subtracts θ before the leak, spikes at u >= θ or u > θ (rounding hides which), keeps 0.9 of u per step" in said
    assert "multiplies its input by 0.1, without delay" in said
    assert "equal spikes" in said


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        (lambda: norse.LIFBoxCell(), "it resets to zero"),
        (lambda: norse.IAFCell(), "it resets to zero"),
        (lambda: norse.LIFCell(), "it has a second state"),
    ],
)
def test_other_cells_are_refused_by_what_they_do(cell, sentence):
    with pytest.raises(fl.BadArgument, match=rf"layer '1' \(\w+\): measured with norse [\d.]+, {sentence}"):
        imported(nn.Sequential, dense(8, 6), cell())
