"""fl.from_torch from end to end."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import fsnn_lava as fl


def trained_classifier():
    """A convolutional network that tells in which quadrant of an image a bright square is."""
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 4, 3, padding=1, bias=False),
        nn.BatchNorm2d(4),
        nn.ReLU(),
        nn.AvgPool2d(2),
        nn.Conv2d(4, 4, 3, padding=1),
        nn.ReLU(),
        nn.Flatten(),
        nn.Dropout(0.1),
        nn.Linear(64, 4),
    ).double()
    descent = torch.optim.Adam(net.parameters(), lr=0.01)
    for _ in range(30):
        images, labels = squares(32)
        loss = nn.functional.cross_entropy(net(images.double() / 255), labels)
        descent.zero_grad()
        loss.backward()
        descent.step()
    return net.eval()


def squares(number):
    images, labels = torch.randint(0, 60, (number, 1, 8, 8)), torch.randint(0, 4, (number,))
    for image, label in zip(images, labels):
        row, column = 4 * (int(label) // 2), 4 * (int(label) % 2)
        image[0, row : row + 3, column : column + 3] += 150
    return images.to(torch.uint8), labels


@pytest.fixture(scope="module")
def source():
    return trained_classifier()


@pytest.fixture(scope="module")
def imported(source):
    return fl.from_torch(source, input_shape=(1, 8, 8), calibration=squares(64)[0], steps=16, normalisation=fl.Normalisation())


def test_a_trained_classifier_keeps_its_answers_in_spikes_and_in_integers(source, imported):
    images, labels = squares(50)
    wanted = source(images.double() / 255).argmax(1)
    assert (wanted == labels).double().mean() > 0.95  # it has learned something
    assert (imported(images).argmax(1) == wanted).double().mean() > 0.95
    chip = fl.quantise(imported, calibration=images.numpy())
    result = fl.run(chip, images.numpy())
    assert (torch.from_numpy(result.predictions) == wanted).double().mean() > 0.9
    verdict = fl.compare(result, chip, images.numpy(), model=imported)
    assert verdict.faithful


def test_what_the_conversion_costs_is_said_and_kept_in_the_file(imported, tmp_path):
    said = imported.metrics["imported"]
    assert said.startswith(f"torch {torch.__version__}: ReLU activations as rates")
    assert "64 calibration samples" in said and "in 16 steps" in said
    imported.save(tmp_path / "model.pt")
    loaded = fl.FSNN.load(tmp_path / "model.pt")
    assert loaded.metrics["imported"] == said
    images = squares(5)[0]
    assert torch.equal(loaded(images), imported(images))


def test_the_source_is_not_changed_and_its_dtype_is_kept(source):
    before = {name: value.clone() for name, value in source.state_dict().items()}
    source.train()
    try:
        net = fl.from_torch(source, input_shape=(1, 8, 8), calibration=squares(8)[0], steps=2, normalisation=fl.Normalisation())
    finally:
        assert source.training
        source.eval()
    assert all(torch.equal(value, source.state_dict()[name]) for name, value in before.items())
    assert net.readout.weight.dtype == torch.float64


def test_a_network_that_was_trained_on_fractions_cannot_be_quantised_without_a_normalisation(source):
    net = fl.from_torch(source, input_shape=(1, 8, 8), calibration=squares(8)[0] / 255, steps=2)
    with pytest.raises(fl.BadArgument, match="normalisation"):
        fl.quantise(net)


class OwnNeuron(nn.Module):
    def forward(self, x):
        return (x >= 1.0).to(x.dtype)


class Branching(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(64, 4), nn.Linear(64, 4)

    def forward(self, x):
        return self.left(x) if x.sum() > 0 else self.right(x)


@pytest.mark.parametrize(
    ("modules", "sentence"),
    [
        ([nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 4)], r"layer '0' \(MaxPool2d\) takes a maximum, .* replace it with nn.AvgPool2d"),
        ([nn.Flatten(), nn.Linear(64, 8), nn.Softmax(1), nn.Linear(8, 4)], r"layer '2' \(Softmax\) cannot be .* elsewhere use nn.ReLU"),
        ([nn.Flatten(), nn.Linear(64, 8), OwnNeuron(), nn.Linear(8, 4)], r"layer '2' \(OwnNeuron\) is not supported: convert .* spiking"),
        ([nn.Flatten(), Branching()], r"layer '1' \(Branching\) has its own forward\(\), .* use nn.Sequential"),
    ],
    ids=["maximum", "softmax", "unknown neuron", "control flow"],
)
def test_what_cannot_be_converted_is_refused_with_its_layer_and_a_remedy(modules, sentence):
    with pytest.raises(fl.BadArgument, match=sentence):
        fl.from_torch(nn.Sequential(*modules), input_shape=(1, 8, 8), calibration=squares(8)[0], normalisation=fl.Normalisation())


@pytest.mark.parametrize("given", [torch.zeros(4, 8, 8), torch.zeros(0, 1, 8, 8), [1, 2]])
def test_a_calibration_batch_of_another_shape_is_refused(source, given):
    with pytest.raises(fl.BadArgument, match=r"calibration must be a tensor \[B, 1, 8, 8\] of at least one sample"):
        fl.from_torch(source, input_shape=(1, 8, 8), calibration=given)
