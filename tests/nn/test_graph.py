"""Network graphs: what fits together is accepted, and every mistake is named with what would be right."""

from __future__ import annotations

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.errors import BadArchitecture

STEM = {"source": "input", "target": "a", "kind": "conv", "kernel": 3}
AHEAD = {"source": "a", "target": "b", "kind": "conv", "kernel": 3}


def link(**how):
    return fl.Connection(source="a", target="b", **how)


def graph(*more, layers=(("a", (2, 4, 4)), ("b", (2, 4, 4))), first=(STEM, AHEAD), shape=(1, 4, 4)):
    connections = [fl.Connection(**one) for one in (*first, *more)]
    return fl.Graph(shape, [fl.Neurons(*layer) for layer in layers], connections)


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda: fl.Neurons("input", 3), "a layer cannot be called 'input': that name is reserved"),
        (lambda: fl.Neurons("1a", 3), "a layer's name must be up to 64 letters, digits, '_' and '-', starting with a letter, got '1a'"),
        (lambda: fl.Neurons("a", (3, 4)), r"layer 'a' must have the shape \(N,\) or \(C, H, W\) of positive sizes, got \(3, 4\)"),
        (lambda: fl.Neurons("a", 3, vth=0), "layer 'a': vth must be a positive number, got 0"),
        (
            lambda: link(kind="conf"),
            "kind must be one of dense, conv, transposed, pool, identity, got 'conf'",
        ),
        (
            lambda: link(kernel=3),
            "kernel belongs to connections of kind conv, transposed, pool, not to 'dense'",
        ),
        (
            lambda: link(kind="conv", kernel=4),
            r"an even kernel \(4 x 4\) has no 'same' padding; set it, for",
        ),
        (lambda: link(kind="conv", kernel=(3, 0)), "kernel must be a whole number of at least 1, got 0"),
        (lambda: link(kind="conv", stride=(1, 2, 3)), "stride must be a whole number or a pair"),
        (lambda: link(kind="identity", gain=0), "gain must be a finite number other than 0, got 0"),
        (lambda: graph(layers=[("a", 2), ("a", 2)], first=()), "two layers are called 'a'; every layer needs a different name"),
        (lambda: graph(layers=[], first=()), "a graph needs at least one layer"),
        (lambda: graph({**AHEAD, "source": "aa"}), "there is no source 'aa'; did you mean 'a'?"),
        (lambda: graph({**AHEAD, "target": "input"}), "nothing can connect to the input; feedback ends in a layer"),
        (lambda: graph({**AHEAD, "stride": 2}), r"its output has shape \(2, 2, 2\), but layer 'b' has shape \(2, 4, 4\)"),
        (lambda: graph({**AHEAD, "kind": "dense", "kernel": 1}), r"a dense connection ends in a layer of shape \(N,\), got \(2, 4, 4\)"),
        (lambda: graph({**AHEAD, "groups": 3}), "3 groups must divide both the 2 source and the 2 target channels"),
        (
            lambda: graph({"source": "b", "target": "a", "kind": "identity"}),
            r"feedback is learned and restricted \(E6\)",
        ),
        (lambda: graph({**AHEAD, "source": "b", "target": "a", "batch_norm": True}), r"feedback has no batch norm \(E7\)"),
        (lambda: graph({**AHEAD, "limit": 0.5}), "limit applies to feedback only, but this connection goes forward"),
        (
            lambda: graph({**AHEAD, "source": "b", "target": "a"}, first=(STEM, {**STEM, "target": "b"})),
            "it goes back to an earlier layer but does not close a cycle: nothing leads from 'a' to 'b'. "
            "List 'b' before 'a' to make it a forward connection",
        ),
        (lambda: graph(first=(STEM,)), "layer 'a': nothing leads from it to the last layer, 'b', which is read out"),
        (lambda: graph({**AHEAD, "source": "b"}, first=(STEM, {**STEM, "target": "b"})), "nothing leads from it to the last layer"),
        (lambda: graph(first=({**STEM, "target": "b"}, {**AHEAD, "source": "a"})), "layer 'a': nothing leads to it from the input"),
        (lambda: fl.Graph((1, 4, 4), ["a"], []), "a graph takes layers of type Neurons and connections of type Connection"),
        (lambda: fl.FSNN(graph(), input_shape=(3, 4, 4), classes=2), r"the graph takes inputs of shape \(1, 4, 4\), but input_shape is"),
        (lambda: fl.FSNN("4 (F4)", classes=2), "'4 \\(F4\\)' needs input_shape"),
        (lambda: fl.FSNN(4, classes=2), "the architecture must be a notation such as '64C5s \\(F64C5\\)', or a Graph, got int"),
    ],
)
def test_a_mistake_is_named_with_what_would_be_right(made, sentence):
    with pytest.raises(BadArchitecture, match=sentence):
        made()


@pytest.mark.parametrize(
    "text",
    [
        "4C3s-4C3-4C3 (F4C3, F3>2:4C3)",  # a second feedback
        "4C3s-4C3-4C3 (R2:4C3)",  # recurrence in the middle
        "4C3s-4C3-4C3 (F4C3, S1>3)",  # a skip
        "4C3s-4C3-6 (R3:6, S1>3:6, S0>2:4C1s)",  # a skip from the input, and one into a dense layer
        "4C3s-4C3g2 (F4C3g4)",  # groups, depthwise feedback
        "4C3s3-4C3 (F4C3)",  # stride 3
        "4C4sp1-4C2p0-4C3 (R1:4C3)",  # even kernels with their padding
        "4C3s@1.5-4C3@0.5 (F4C3)",  # a threshold per layer
        "4C3sd2-4C3u (F4C3s)",  # dilation, a transposed convolution, a strided feedback
        "4C3s-4C3-4C1s (S1>3:P2, F4C3u)",  # pooling as a skip
    ],
)
def test_what_a_newcomer_tries_trains_runs_and_prints_as_it_was_written(text):
    torch.manual_seed(0)
    net = fl.FSNN(text, input_shape=(1, 8, 8), classes=3, steps=4, dropout=0.2)
    assert net.architecture.text == text
    net(torch.randn(4, 1, 8, 8)).square().sum().backward()
    assert net.last_solve is not None
    assert all(bool(parameter.grad.isfinite().all()) for parameter in net.parameters() if parameter.grad is not None)
    assert net.eval()(torch.randn(4, 1, 8, 8)).shape == (4, 3)


def test_one_threshold_for_each_layer_is_that_of_the_layers():
    net = fl.FSNN("5-4-3 (F5)", input_shape=(2,), classes=2, vth=[1.0, 2.0, 0.5])
    assert net.vths == (1.0, 2.0, 0.5)
    assert net.architecture.text == "5@1-4@2-3@0.5 (F5)"


def test_a_single_feedback_keeps_its_name_in_files_and_several_are_numbered():
    one, two = (fl.FSNN(text, input_shape=(4,), classes=2) for text in ("4 (F4)", "4-4 (F4, R2:4)"))
    assert {name.split(".")[0] for name in one.state_dict()} == {"stages", "feedback", "readout"}
    assert {name.split(".")[0] for name in two.state_dict()} == {"stages", "feedback1", "feedback2", "readout"}


def test_the_spectral_radius_is_that_of_all_gains():
    """Two layers with a loop around both and a recurrence: the radius of [[r, w], [f, 0]] / vth."""
    net = fl.FSNN("1-1 (F1, R1:1)", input_shape=(1,), classes=2, vth=2.0, batch_norm=False).double()
    with torch.no_grad():
        net.stages[1].linear.weight.fill_(-1.5)
        for feedback, alpha in zip(net.feedbacks, (0.8, -0.6), strict=True):
            feedback.alpha.fill_(alpha)
    gains = torch.tensor([[0.6, 0.8], [1.5, 0.0]]) / 2.0
    assert net.spectral_radius() == pytest.approx(float(torch.linalg.eigvals(gains).abs().max()), rel=1e-6)


def test_the_norm_of_one_loop_is_refused_where_there_are_several():
    with pytest.raises(fl.BadArgument, match="norm 'loop' restricts one loop, from the last layer of a chain to the first"):
        fl.FSNN("4-4 (F4, R2:4)", input_shape=(4,), classes=2, norm="loop", limit=0.9)


def test_a_file_of_a_graph_reads_back_as_the_same_network(tmp_path):
    net = fl.FSNN(graph({**AHEAD, "source": "b", "target": "a", "limit": 0.5}, {**AHEAD, "kind": "identity", "kernel": 1}), classes=3)
    net.save(tmp_path / "graph.pt")
    again = fl.FSNN.load(tmp_path / "graph.pt")
    assert again.graph == net.graph
    assert again.feedbacks[0].limit == 0.5
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in net.state_dict().items())
    assert torch.load(tmp_path / "graph.pt", weights_only=True)["version"] == 2
    fl.FSNN("4 (F4)", input_shape=(4,), classes=2).save(tmp_path / "chain.pt")
    assert torch.load(tmp_path / "chain.pt", weights_only=True)["version"] == 1  # older releases read it too
