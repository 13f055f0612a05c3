"""The bound of the float spikes is that of E11, no looser."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.quantisation.fold import fold
from fsnn_lava.verify.comparator import compare
from tests.verify.test_float_network import model, pixels


@pytest.mark.parametrize("leak", [1.0, 0.9])
def test_the_bound_of_the_float_spikes_is_that_of_the_equation(leak):
    """One layer onto itself: every rate may lie off by what its potential and one spike on its way still hold (E11)."""
    net = model("dense", leak=leak)
    values, steps = pixels(net), 20
    chip = fl.quantise(net, calibration=values)
    found = compare(fl.run(chip, values, steps=steps), chip, values, model=net).check("float").numbers["bound_max"]
    folded = fold(net)
    trace = folded.simulate(torch.from_numpy(values), steps, schedule=net.schedule)
    rate, potential = trace.rates[0].numpy(), trace.potentials[0].numpy()
    late = np.abs(folded.feedback[0].weight.numpy()).sum(axis=1)
    scale = net.vth * sum(leak**age for age in range(steps))
    ends = [np.clip(rate + (potential + sign * late) / scale, 0, 1) for sign in (1, -1)]
    expected = max(np.abs(end - rate).max() for end in ends)
    assert 0.01 < expected < 0.5
    assert found == pytest.approx(expected, abs=1e-8)  # 1e-9 is allowed for rounding
