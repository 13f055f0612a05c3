"""Single faults of Lava's own neuron, on the graph that the chip runs: every spike is checked there, with and without a leak."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.ir.stock_network import stock_equivalent
from fsnn_lava.verify.comparator import Comparator
from fsnn_lava.verify.verdict import Verdict
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_atrlif import NaiveAtrlif, delta_i_of_1, floored
from tests.helpers.naive_simulator import Faults, simulate, towards_zero
from tests.helpers.strategies import random_values

NETWORKS = {"dense": lambda decay: dense_network(3, size=40, decay=decay), "conv": lambda decay: conv_network(3, decay=decay)}
FAULTS = {
    "fires at twice its threshold": {"fires_at": 2},
    "one silent step after a spike": {"refractory": 1},
    "half of all spikes withheld": {"withheld": 2},
    "a lower threshold": {"lower_by": 64 * 60},
    "subtracts a little less": {"subtracts": 63},
    "delta_i of 1": {"memory": delta_i_of_1},
    "delta_i of 0": {"memory": lambda i: i},
}
LEAKY = {  # that only a leak can show
    "v rounded down": {"leak_v": floored},
    "r rounded up": {"leak_r": lambda r, decay: -floored(-r, decay)},
    "r does not leak": {"leak_r": lambda r, decay: r},
    "v does not leak": {"leak_v": lambda v, decay: v},
    "decay off by one": {"leak_v": lambda v, decay: towards_zero(v, decay + 1)},
    "no bias for the offset": {"offset_bias": lambda exact: 0 * exact},
    "one too much for the offset": {"offset_bias": lambda exact: ((exact + 2048) >> 12) + 1},
}
CASES = [(fault, decay) for fault in FAULTS for decay in (0, 205)] + [(fault, 205) for fault in LEAKY]


def stock_run(chip: ChipNetwork, values: np.ndarray[Any, Any], *, faults: Faults | None = None, **broken: Any) -> Result:
    """A run on stock neurons, of which `broken` options are wrong in the last layer."""
    equivalent, _ = stock_equivalent(chip)

    def neurons(layer: Any) -> NaiveAtrlif:
        return NaiveAtrlif(layer=layer, **(broken if layer.name == equivalent.layers[-1].name else {}))

    result = simulate(equivalent, values, faults=faults, neurons=neurons)
    unreported = tuple(np.zeros_like(flags) for flags in result.clipped)
    return replace(result, backend="sim", graph="stock", clipped=unreported, clip_count=np.zeros_like(result.clip_count))


def judge(chip: ChipNetwork, result: Result, values: np.ndarray[Any, Any]) -> Verdict:
    comparator = Comparator(chip, graph="stock", equilibrium_samples=0)
    comparator.add(result, values)
    return comparator.verdict()


@pytest.mark.parametrize("decay", [0, 1, 205, 1024])
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_a_correct_run_of_stock_neurons_passes(name, decay):
    chip = NETWORKS[name](decay)
    values = random_values(np.random.default_rng(1), chip, 3)
    verdict = judge(chip, stock_run(chip, values), values)
    assert verdict.check("spikes").passed, verdict.to_text()
    assert verdict.check("charge").passed, verdict.to_text()


@pytest.mark.parametrize(("fault", "decay"), CASES, ids=[f"{fault}, {'LIF' if decay else 'IF'}" for fault, decay in CASES])
@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_a_fault_of_the_stock_neuron_is_found_in_its_layer(name, fault, decay):
    chip = NETWORKS[name](decay)
    values = random_values(np.random.default_rng(1), chip, 3)
    right, broken = stock_run(chip, values), stock_run(chip, values, **{**FAULTS, **LEAKY}[fault])
    spikes = judge(chip, broken, values).check("spikes")
    assert not np.array_equal(right.potentials[-1], broken.potentials[-1])
    assert not spikes.passed
    assert spikes.offenders[0]["layer"] == chip.layers[-1].name


@pytest.mark.parametrize("decay", [0, 205])
def test_a_spike_that_is_lost_on_its_way_is_found_at_its_step(decay):
    chip = conv_network(3, decay=decay)
    values = random_values(np.random.default_rng(1), chip, 3)
    lose = Faults(delivered=lambda layer, tau, spikes: spikes * (tau != 6) if layer == 0 else spikes)
    spikes = judge(chip, stock_run(chip, values, faults=lose), values).check("spikes")
    assert not spikes.passed
    assert spikes.offenders[0]["layer"] == "l2"
    assert spikes.offenders[0]["step"] >= 6
