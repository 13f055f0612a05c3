"""A small network trained with each framework and imported: equal spikes, what 8 bits cost, and faithful Lava processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest
import torch
from torch import Tensor, nn

import fsnn_lava as fl
from tests.backends.lava.needs import needs_lava

STEPS = 8


@dataclass(frozen=True)
class Example:
    """A network, and how it answers values [B, 8]: spikes or potentials of two outputs, summed over all steps."""

    source: nn.Module
    answer: Callable[[Tensor], Tensor]
    gain: float = 1.0  # of the first layer at the start, so that its neurons fire


def snntorch_recurrent() -> Example:
    snn = pytest.importorskip("snntorch")
    utils = pytest.importorskip("snntorch.utils")
    source = nn.Sequential(nn.Linear(8, 16), snn.RLeaky(0.9, linear_features=16, init_hidden=True), nn.Linear(16, 2))

    def answer(values: Tensor) -> Tensor:
        utils.reset(source)
        return torch.stack([source(values) for _ in range(STEPS)]).sum(0)

    return Example(source, answer)


def spikingjelly() -> Example:
    neuron = pytest.importorskip("spikingjelly.activation_based.neuron")
    functional = pytest.importorskip("spikingjelly.activation_based.functional")
    source = nn.Sequential(nn.Linear(8, 16), neuron.IFNode(v_reset=None), nn.Linear(16, 2))

    def answer(values: Tensor) -> Tensor:
        functional.reset_net(source)
        return torch.stack([source(values) for _ in range(STEPS)]).sum(0)

    return Example(source, answer)


def norse() -> Example:
    torch_part = pytest.importorskip("norse.torch")
    from norse.torch.functional.reset import reset_subtract

    cell = torch_part.LIFBoxCell(torch_part.LIFBoxParameters(reset_method=reset_subtract))
    source = torch_part.SequentialState(nn.Linear(8, 16), cell, nn.Linear(16, 2))

    def answer(values: Tensor) -> Tensor:
        state, total = None, torch.zeros(len(values), 2)
        for _ in range(STEPS):
            out, state = source(values, state)
            total = total + out
        return total

    return Example(source, answer, gain=10.0)


def sinabs() -> Example:
    layers = pytest.importorskip("sinabs.layers")
    from sinabs.activation import SingleSpike

    neurons = layers.IAF(spike_fn=SingleSpike)
    source = nn.Sequential(nn.Linear(8, 16), neurons, nn.Linear(16, 2))

    def answer(values: Tensor) -> Tensor:
        neurons.reset_states()
        return source(values.unsqueeze(1).expand(-1, STEPS, -1)).sum(1)

    return Example(source, answer)


def halves(number: int) -> tuple[Tensor, Tensor]:
    """Eight pixels; is the first half brighter than the second?"""
    pixels = torch.randint(0, 256, (number, 8), dtype=torch.uint8)
    return pixels, (pixels[:, :4].double().mean(1) > pixels[:, 4:].double().mean(1)).long()


def train(example: Example) -> None:
    with torch.no_grad():
        next(example.source.parameters()).mul_(example.gain)
    descent = torch.optim.Adam(example.source.parameters(), lr=0.02)
    for _ in range(30):
        pixels, labels = halves(32)
        loss = nn.functional.cross_entropy(example.answer(pixels / 255), labels)
        descent.zero_grad()
        loss.backward()
        descent.step()


@pytest.mark.parametrize("make", [snntorch_recurrent, spikingjelly, norse, sinabs], ids=lambda make: make.__name__)
def test_a_network_trained_with_a_framework_runs_in_integers_as_lava_processes(make):
    needs_lava()
    torch.manual_seed(0)
    example = make()
    train(example)
    pixels, labels = halves(200)
    net = fl.from_torch(example.source, input_shape=(8,), calibration=pixels[:32], steps=STEPS, normalisation=fl.Normalisation())
    assert "equal spikes in float64" in net.metrics["imported"]
    chip = fl.quantise(net, calibration=pixels[:32].numpy())
    accuracy = float((net(pixels).argmax(1) == labels).double().mean())
    in_integers = float((torch.from_numpy(fl.run(chip, pixels.numpy()).predictions) == labels).double().mean())
    assert accuracy > 0.75  # it has learned something
    assert accuracy - in_integers <= 0.05
    few = pixels[:3].numpy()
    result = fl.run(chip, few, backend="sim")
    assert fl.compare(result, chip, few, model=net).faithful
