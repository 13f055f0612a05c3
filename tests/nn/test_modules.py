"""A network of torch modules is the one of the same graph, with the modules' weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import fsnn_lava as fl


def blocks():
    torch.manual_seed(0)
    layers = {
        "stem": nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.AvgPool2d(2), nn.BatchNorm2d(4)),
        "body": nn.Conv2d(4, 4, 3, padding=1, groups=2),
        "head": nn.Sequential(nn.Flatten(), nn.Linear(64, 6)),
    }
    more = {
        ("stem", "body"): nn.Identity(),
        ("input", "head"): nn.Linear(64, 6, bias=False),
        ("body", "stem"): nn.Conv2d(4, 4, 3, padding=1, bias=False),
        ("head", "head"): nn.Linear(6, 6, bias=False),
    }
    return layers, more


def test_geometry_and_weights_are_those_of_the_modules():
    layers, more = blocks()
    readout = nn.Linear(6, 3)
    net = fl.from_modules(layers, connections=more, input_shape=(1, 8, 8), classes=3, limit=5.0, readout=readout).eval()
    assert [layer.shape for layer in net.graph.layers] == [(4, 4, 4), (4, 4, 4), (6,)]
    assert [(one.source, one.target) for one in net.graph.feedback] == [("body", "stem"), ("head", "head")]
    images = torch.randn(5, 1, 8, 8)
    given = [torch.rand(5, 4, 4, 4), torch.rand(5, 6)]
    layers["stem"].eval()
    with torch.no_grad():
        stem, body, head = net.rate_map(images)(given)
        expected = (layers["stem"](images) + more["body", "stem"](given[0])) / 2
        torch.testing.assert_close(stem, expected.clamp(0, 1), rtol=1e-3, atol=1e-4)  # the feedback's norm is a tracked estimate
        torch.testing.assert_close(body, ((layers["body"](stem) + stem) / 2).clamp(0, 1))
        expected = (layers["head"](body) + more["input", "head"](images.flatten(1)) + more["head", "head"](given[1])) / 2
        torch.testing.assert_close(head, expected.clamp(0, 1), rtol=1e-3, atol=1e-4)
        torch.testing.assert_close(net.readout(head), readout(head))


def test_a_sequential_begins_a_layer_with_every_linear_module():
    modules = nn.Sequential(
        nn.Conv2d(1, 3, 3, stride=2, padding=1), nn.BatchNorm2d(3), nn.ConvTranspose2d(3, 2, 2, stride=2), nn.Flatten(), nn.Linear(128, 7)
    )
    net = fl.from_modules(modules, input_shape=(1, 8, 8), classes=2)
    assert net.architecture.layers == (fl.Neurons("l1", (3, 4, 4)), fl.Neurons("l2", (2, 8, 8)), fl.Neurons("l3", (7,)))
    assert [stage.norm is not None for stage in net.stages] == [True, False, False]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda layers, more: layers.update(body=nn.Sequential(nn.Conv2d(4, 4, 1), nn.ReLU())),
            "ReLU cannot follow here.*leave activations out",
        ),
        (lambda layers, more: layers.update(body=nn.MaxPool2d(2)), "'stem' -> 'body': MaxPool2d is not a connection; use one of Linear"),
        (lambda layers, more: more.update({("body", "stem"): nn.Conv2d(4, 4, 1)}), "feedback has no bias; make its module with bias=False"),
        (lambda layers, more: layers.update(body=nn.Conv2d(4, 4, 3, padding="same")), "zero padding given in numbers"),
        (lambda layers, more: layers.update(body=nn.AvgPool2d(3, 2)), "average pooling must be square, without overlap and padding"),
    ],
)
def test_a_module_that_has_no_place_is_named(change, sentence):
    layers, more = blocks()
    change(layers, more)
    with pytest.raises(fl.BadArgument, match=sentence):
        fl.from_modules(layers, connections=more, input_shape=(1, 8, 8), classes=3)
