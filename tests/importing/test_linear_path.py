"""A path of linear modules, folded into one, computes what they compute."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from fsnn_lava.errors import BadArgument
from fsnn_lava.importing.chain import links
from fsnn_lava.importing.linear_path import fold_path


def normalised(kind, channels):
    norm = kind(channels).double()
    with torch.no_grad():
        for values in (norm.running_mean, norm.weight, norm.bias):
            values.copy_(torch.randn(channels))
        norm.running_var.copy_(torch.rand(channels) + 0.5)
    return norm


PATHS = {
    "convolution": (lambda: [nn.Conv2d(2, 3, 3, stride=2, padding=1)], (2, 9, 8)),
    "groups and dilation": (lambda: [nn.Conv2d(2, 4, 3, dilation=2, groups=2, bias=False)], (2, 9, 8)),
    "batch norm": (lambda: [nn.Conv2d(2, 3, 3), normalised(nn.BatchNorm2d, 3)], (2, 9, 8)),
    "pooling after, then batch norm": (lambda: [nn.Conv2d(2, 3, 2), nn.AvgPool2d(2), normalised(nn.BatchNorm2d, 3)], (2, 9, 8)),
    "pooling after, with a rest": (lambda: [nn.Conv2d(2, 3, 3, padding=1), nn.AvgPool2d(2)], (2, 9, 7)),
    "pooling before": (lambda: [nn.AvgPool2d(2), nn.Conv2d(2, 3, 3, padding=1, stride=2)], (2, 12, 8)),
    "pooling twice before": (lambda: [nn.AvgPool2d(2), nn.AvgPool2d((2, 2)), nn.Conv2d(2, 3, 2)], (2, 16, 12)),
    "pooling before and after": (lambda: [nn.AvgPool2d(2), nn.Conv2d(2, 3, 3, padding=1), nn.AvgPool2d(2)], (2, 12, 8)),
    "dense": (lambda: [nn.Linear(6, 4), nn.Dropout(0.5), normalised(nn.BatchNorm1d, 4)], (6,)),
    "dense twice": (lambda: [nn.Linear(6, 4), nn.Identity(), nn.Linear(4, 5)], (6,)),
    "pooling, flattened, dense": (lambda: [nn.AvgPool2d(3), nn.Flatten(), nn.Linear(12, 4)], (2, 6, 9)),
}


@pytest.mark.parametrize("name", PATHS)
def test_one_module_computes_what_the_path_computes(name):
    torch.manual_seed(1)
    modules, shape = PATHS[name]
    source = nn.Sequential(*modules()).double().eval()
    path = fold_path(links(source), shape, where="here")
    values = torch.randn(3, *shape, dtype=torch.float64)
    module = path.module()
    found = module(values.flatten(1) if isinstance(module, nn.Linear) else values)
    assert tuple(found.shape[1:]) == path.shape
    torch.testing.assert_close(found, source(values), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("modules", "shape", "sentence"),
    [
        ([nn.Conv2d(2, 3, 3), nn.Conv2d(3, 3, 3)], (2, 9, 9), r"layer '1' \(Conv2d\): it follows another linear layer directly"),
        ([nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(147, 2)], (2, 9, 9), r"layer '2' \(Linear\): it follows a convolution directly"),
        ([nn.Conv2d(2, 3, 3, padding="same")], (2, 9, 9), "must use zero padding given as numbers, got 'zeros', 'same'"),
        ([nn.Conv2d(4, 3, 3)], (2, 9, 9), r"takes 4 channels, but its input has shape \(2, 9, 9\)"),
        ([nn.Conv2d(2, 3, 11)], (2, 9, 9), "there is no output"),
        ([nn.Linear(18, 3)], (2, 3, 3), r"its input has shape \(2, 3, 3\): put nn.Flatten\(\) before it"),
        ([nn.Linear(17, 3)], (18,), "check input_shape"),
        ([nn.AvgPool2d(2), nn.Conv2d(2, 3, 3)], (2, 9, 8), "2 does not divide 9 x 8"),
        ([nn.AvgPool2d(3, stride=2), nn.Conv2d(2, 3, 3)], (2, 9, 9), "average pooling must be square, without overlap"),
        ([nn.AvgPool2d(2), nn.Conv2d(2, 3, 3, dilation=2)], (2, 12, 12), "a dilated convolution cannot follow average pooling"),
        ([nn.BatchNorm2d(2), nn.Conv2d(2, 3, 3)], (2, 9, 9), r"layer '0' \(BatchNorm2d\): .* right before it; move it there"),
        ([nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False)], (4,), "track_running_stats=True"),
        ([nn.Conv2d(1, 2, 2), nn.Flatten(), nn.BatchNorm1d(8)], (1, 3, 3), r"it has 8 channels, but its input has shape \(8,\)"),
        ([nn.Flatten(2), nn.Linear(4, 3)], (2, 2, 2), r"must flatten everything but the batch: nn.Flatten\(\)"),
        ([nn.Dropout()], (4,), "here: it has no nn.Linear or nn.Conv2d before it"),
    ],
)
def test_a_path_that_cannot_be_folded_is_refused_in_a_sentence(modules, shape, sentence):
    with pytest.raises(BadArgument, match=sentence):
        fold_path(links(nn.Sequential(*modules)), shape, where="here")
