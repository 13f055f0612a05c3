"""Checkpoints of the authors' code: the same rates as their equations give, and a sentence for everything else."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as nnf

import fsnn_lava as fl
from tests.helpers.ide_checkpoint import random_state, write_checkpoint

SHAPES = {"fc": None, "conv": (12, 6, 6), "deep": (12, 9, 9)}  # with a kernel of 5: stride 2 and padding 2, 2 and 1
SIDES = {"fc": 1, "conv": 3, "deep": 2}
STEPS, VTH = 7, 1.5


def affine(state, name, values, *, convolution=None):
    """A linear operation and batch norm with its running statistics."""
    stride, padding = convolution or (1, 0)
    kind = "fc" if convolution is None else "conv"
    weight, bias = state[f"{name}.{kind}.weight"], state[f"{name}.{kind}.bias"]
    out = nnf.linear(values, weight, bias) if convolution is None else nnf.conv2d(values, weight, bias, stride, padding)
    statistics = (state[f"{name}.bn.{part}"] for part in ("running_mean", "running_var", "weight", "bias"))
    return nnf.batch_norm(out, *statistics)


def feedback_weight(state, name):
    """g W / sigma with |g| <= 1 and sigma = u' W v' after one step of power iteration from u."""
    weight, u = state[f"{name}.weight_w"], state[f"{name}.weight_u"]
    matrix = weight.reshape(weight.shape[0], -1)
    v = nnf.normalize(matrix.t() @ u, dim=0)
    u = nnf.normalize(matrix @ v, dim=0)
    return state[f"{name}.weight_g"].clamp(-1, 1) * weight / (u @ matrix @ v)


def their_rates(state, kind, values, leak):
    """Rates of the last layer: all layers in turn within a step, the feedback one step late, spikes weighted with the leak."""
    name = {"fc": "network_s.fc", "conv": "network_s.conv", "deep": "network_s5.convT"}[kind]
    back = feedback_weight(state, name)
    into = [lambda s, n=n: affine(state, f"network_s{n}", s, convolution=(2 if n == 2 else 1, 1)) for n in (1, 2, 3, 4)]
    into = into if kind == "deep" else []
    drive = affine(state, "network_x", values, convolution={"fc": None, "conv": (2, 2), "deep": (2, 1)}[kind])
    potentials, last, total, weights = [0.0] * (1 + len(into)), None, 0.0, 0.0
    for _ in range(STEPS):
        current = drive
        if last is not None:
            loops = {"fc": lambda s: s @ back.t(), "conv": lambda s: nnf.conv2d(s, back, padding=1)}
            loops["deep"] = lambda s: nnf.conv_transpose2d(s, back, stride=2, padding=1, output_padding=1)
            current = drive + loops[kind](last)
        for position in range(len(potentials)):
            u = leak * potentials[position] + current
            last = (u >= VTH).double()
            potentials[position] = u - VTH * last
            current = into[position](last) if position < len(into) else None
        total, weights = leak * total + last, leak * weights + 1.0
    return total / weights


@pytest.mark.parametrize("leak", [1.0, 0.9])
@pytest.mark.parametrize("kind", ["fc", "conv", "deep"])
def test_rates_equal_those_of_their_equations(kind, leak, tmp_path):
    shape = SHAPES[kind]
    state = random_state(kind, side=SIDES[kind])
    write_checkpoint(tmp_path / "model_best.pth.tar", state)
    net = fl.from_ide_fsnn(tmp_path / "model_best.pth.tar", leak=leak, input_shape=shape, vth=VTH, steps=STEPS)
    values = torch.randn(9, *(shape or (12,)), dtype=torch.float64)
    rates = net.simulate(values).rates[-1]
    wanted = their_rates(state, kind, values, leak)
    assert 0.05 < float(wanted.mean()) < 0.95
    torch.testing.assert_close(rates, wanted, rtol=0, atol=1e-12)
    logits = nnf.linear(wanted.flatten(1), state["classifier.weight"], state["classifier.bias"])
    torch.testing.assert_close(net(values), logits, rtol=0, atol=1e-12)


def test_leak_threshold_steps_and_file_are_kept_with_the_network(tmp_path):
    write_checkpoint(tmp_path / "best.tar", random_state("fc", dtype=torch.float32), parallel=False)
    net = fl.from_ide_fsnn(tmp_path / "best.tar", leak=0.95, input_shape=(1, 3, 4), steps=5)
    assert (net.neuron, net.vth, net.steps, net.readout.weight.dtype) == (fl.LIF(0.95), 2.0, 5, torch.float32)
    assert net.graph.shapes == ((7,),) and net.architecture.input_shape == (1, 3, 4)
    assert "best.tar" in net.metrics["imported"] and "leak 0.95, threshold 2 and T = 5 as given" in net.metrics["imported"]


@pytest.mark.parametrize(
    ("kind", "shape", "sentence"),
    [
        ("conv", None, "does not contain the size of its input"),
        ("conv", (12, 20, 20), "no stride and padding pairs of a 5 x 5 kernel give the 63 values"),
        ("fc", (1, 3, 3), r"takes 12 values, but input_shape is \(1, 3, 3\)"),
        ("conv", (3, 6, 6), r"takes 12 channels, but input_shape is \(3, 6, 6\)"),
    ],
)
def test_an_input_that_does_not_fit_is_refused(kind, shape, sentence, tmp_path):
    write_checkpoint(tmp_path / "best.tar", random_state(kind))
    with pytest.raises(fl.BadArgument, match=sentence):
        fl.from_ide_fsnn(tmp_path / "best.tar", leak=1.0, input_shape=shape)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda state: state.clear(), r"needs arrays named network_x.… and classifier.weight"),
        (lambda state: state.pop("network_s.fc.weight_u"), "do not form a network of IDE-FSNN"),
        (lambda state: state["network_x.bn.bias"].fill_(torch.nan), "network_x.bn.bias contains NaN or infinity"),
        (lambda state: state["network_s.fc.weight_w"].zero_(), "weight_w does not have a positive norm"),
        (lambda state: state.update({"classifier.bias": torch.zeros(3)}), "must all be float32 or all be float64"),
        (lambda state: state.update({"classifier.weight": torch.zeros(3, 4, dtype=torch.float64)}), "readout must be"),
    ],
)
def test_a_damaged_checkpoint_is_refused(change, sentence, tmp_path):
    state = random_state("fc")
    change(state)
    write_checkpoint(tmp_path / "best.tar", state)
    with pytest.raises(fl.FsnnError, match=sentence) as refused:
        fl.from_ide_fsnn(tmp_path / "best.tar", leak=1.0)
    assert refused.value.exit_code == 2


def test_what_would_execute_code_is_not_loaded(tmp_path):
    torch.save({"state_dict": {"module.network_x.fc.weight": print}}, tmp_path / "evil.tar")
    with pytest.raises(fl.BadFile, match="could execute code"):
        fl.from_ide_fsnn(tmp_path / "evil.tar", leak=1.0)
