"""The paper's notation: parsed, printed back, counted as the paper counts, and mistakes named by their column."""

import pytest

from fsnn_lava.errors import BadArchitecture
from fsnn_lava.nn.architecture import parse_architecture

MNIST, NMNIST, CIFAR = (1, 28, 28), (2, 34, 34), (3, 32, 32)
ALEXNET_F = "96C3s-256C3-384C3s-384C3-256C3 (F96C3u)"
CIFARNET_F = "128C3s-256C3-512C3s-1024C3-512C3 (F128C3u)"


@pytest.mark.parametrize(
    ("text", "shape", "classes", "neurons", "parameters"),
    [
        ("64C5s (F64C5)", MNIST, 10, "13K", "229K"),
        ("400 (F400)", MNIST, 10, "1.2K", "478K"),
        ("64C5s (F64C5)", NMNIST, 10, "21K", "291K"),
        (ALEXNET_F, CIFAR, 10, "159K", "3.7M"),
        (CIFARNET_F, CIFAR, 10, "232K", "11.8M"),
        (ALEXNET_F, CIFAR, 100, "159K", "5.2M"),
        (CIFARNET_F, CIFAR, 100, "232K", "14.8M"),
    ],
)
def test_neurons_and_parameters_are_those_of_the_papers_tables(text, shape, classes, neurons, parameters):
    architecture = parse_architecture(text, input_shape=shape, classes=classes)
    assert _as_printed(architecture.neurons, neurons) == neurons
    assert _as_printed(architecture.parameters, parameters) == parameters
    assert str(architecture) == text


def _as_printed(count, example):
    unit = {"K": 1e3, "M": 1e6}[example[-1]]
    digits = len(example.partition(".")[2]) - 1 if "." in example else 0
    return f"{count / unit:.{digits}f}{example[-1]}"


def test_shapes_are_worked_out_through_stride_pooling_and_feedback():
    architecture = parse_architecture("12C5-P2-64C3s-20C3 (F12C3u)", input_shape=(2, 34, 36), classes=7)
    assert [layer.out_shape for layer in architecture.layers] == [(12, 17, 18), (64, 9, 9), (20, 9, 9)]
    (feedback,) = architecture.graph.feedback
    operator = architecture.graph.operator(feedback)
    assert (feedback.source, feedback.target) == ("l3", "l1")
    assert operator.in_shape == (20, 9, 9)
    assert operator.out_shape == (12, 17, 18)
    assert operator.output_padding == (0, 1)
    assert str(architecture) == "12C5-P2-64C3s-20C3 (F12C3u)"


def test_a_network_without_feedback_is_allowed():
    assert parse_architecture("20-10", input_shape=(5,), classes=3).graph.feedback == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("64C5x", r"unknown suffix 'x' in '64C5x' at column 5"),
        ("64C5sx", r"unknown suffix 'x' in '64C5sx' at column 6"),
        ("400s", r"unknown suffix 's' in '400s' at column 4"),
        ("32C3-64C4", r"odd .* got 4 in '64C4' at column 9"),
        ("32C3--64C3", r"a layer is missing .* at column 6"),
        ("P2-64C3", r"pooling needs a convolution right before it in 'P2' at column 1"),
        ("3C3-P5", r"28 x 28 cannot be pooled by 5 without a remainder"),
        ("400-8C3", r"a convolution needs an input of shape \(C, H, W\), got \(400,\) in '8C3' at column 5"),
        ("64C5s (F32C5)", r"feedback must have the first layer's 64 channels, got 32 in '32C5' at column 9"),
        ("64C5s-64C3s (F64C5)", r"feedback produces 7x7, but the first layer is 14x14 \(add 'u'"),
        ("64C5s (F64C5u)", r"feedback produces 28x28, but the first layer is 14x14 \(remove 'u'"),
        ("64C5s (F400)", r"dense feedback to 400 neurons must end in a dense layer of that size, but the first layer has shape"),
        ("8C3-20 (F2>1:8C3)", r"convolutional feedback needs channels at both ends, but leads from shape \(20,\) to the first layer of"),
        ("20-10 (F2>1)", r"feedback needs an operation, such as F64C5 or F3>1:64C5 in 'F2>1' at column 8"),
        ("20-10 (F)", r"feedback needs an operation, such as F64C5"),
        ("8C3-MP2", r"maximum pooling is not supported, .* use average pooling \(P2\) in 'MP2' at column 5"),
        ("100@", r"a threshold \(@\) needs a number, as in 100@1.5 in '100@' at column 4"),
        ("8C3-9C3g4", r"connection 'l1' -> 'l2': 4 groups must divide both the 8 source and the 9 target channels"),
        ("400 (F400", r"must read like"),
        ("", r"a layer is missing"),
        ("0C3", r"a size must be positive"),
        ("99999999999", r"below 2\*\*31"),
    ],
)
def test_a_mistake_is_named_by_its_column(text, sentence):
    with pytest.raises(BadArchitecture, match=sentence):
        parse_architecture(text, input_shape=MNIST, classes=10)
