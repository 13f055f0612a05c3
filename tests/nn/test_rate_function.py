"""The float rate function, and its gradient exactly at 0 and at 1: one definition for one layer, several layers, and the verifier."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.compiled.slopes import rises
from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.nn.rate_function import rate_of
from fsnn_lava.verify.bounds.local_certificate import LocalCertifier
from tests.verify.test_comparator import loop_network

VTH = 1.7
BELOW = float(np.nextafter(VTH, 0.0))
CURRENTS = torch.tensor([-1.0, 0.0, 1e-9, 0.85, BELOW, VTH, 3.0], dtype=torch.float64)


def test_the_rate_is_the_clipped_current_over_the_threshold():
    assert rate_of(CURRENTS, VTH).tolist() == [min(max(current / VTH, 0.0), 1.0) for current in CURRENTS.tolist()]
    assert rate_of(torch.tensor([torch.nan]), VTH).isnan().all()


def test_the_gradient_is_the_one_derivative_that_the_library_defines():
    currents = CURRENTS.clone().requires_grad_()
    rate_of(currents, VTH).sum().backward()
    assert torch.equal(currents.grad * VTH > 0.5, rises(CURRENTS, VTH))
    assert currents.grad.tolist() == pytest.approx([0, 0, 1 / VTH, 1 / VTH, 1 / VTH, 0, 0])


def test_without_an_upper_clip_the_rate_and_its_slope_go_on():
    currents = CURRENTS.clone().requires_grad_()
    rates = rate_of(currents, VTH, float("inf"))
    assert rates.tolist() == [max(current / VTH, 0.0) for current in CURRENTS.tolist()]
    rates.sum().backward()
    assert torch.equal(currents.grad * VTH > 0.5, rises(CURRENTS, VTH * float("inf")))
    assert currents.grad.tolist() == pytest.approx([0, 0] + [1 / VTH] * 5)


@pytest.mark.parametrize("compilable", [True, False])
@pytest.mark.parametrize("architecture", ["4", "4 (F4)", "4-4", "4-4 (F4)"])
def test_a_neuron_exactly_at_0_or_1_passes_no_gradient_in_any_network(architecture, compilable, monkeypatch):
    for module in ("gradient", "graph_gradient", "ring_gradient"):
        monkeypatch.setattr(f"fsnn_lava.nn.{module}.compiler_accepts", lambda _: compilable)
    net = fl.FSNN(architecture, input_shape=(2,), classes=2, neuron=fl.IF(), vth=2.0, batch_norm=False, steps=8).double().train()
    for stage in net.stages:
        torch.nn.init.zeros_(stage.linear.weight)
        stage.linear.bias.data[:] = torch.tensor([0.0, 0.5, 2.0, 1.5])
    if net.feedback is not None:
        torch.nn.init.zeros_(net.feedback.alpha)
    net(torch.ones(1, 2, dtype=torch.float64)).sum().backward()
    through = (net.stages[-1].linear.bias.grad != 0).tolist()
    assert through == [False, True, False, True]


def test_the_jacobian_of_the_integers_is_flat_at_0_and_1():
    chip = loop_network([[30, -20], [25, 10]], bias=(0, 100))  # without a rate of the other neuron, exactly at 0 and at the threshold
    rate_map = RateMap(chip)
    rates, drive = (np.zeros((1, 2)),), rate_map.drive(np.zeros((1, 1), np.uint8))
    assert LocalCertifier(rate_map).certify(rates, rates, drive, samples=np.arange(1)).norm[0] == pytest.approx(0.0, abs=1e-100)
