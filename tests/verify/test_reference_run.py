"""The reference compared with a naive simulator with full matrices and with the emulator: every rule of E9 on random networks."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.ir.stock_network import executed_network
from fsnn_lava.verify import reference_run
from fsnn_lava.verify.divergence import differing_samples
from fsnn_lava.verify.reference_run import run_reference
from tests.helpers.chip_networks import conv_network
from tests.helpers.naive_simulator import simulate
from tests.helpers.strategies import random_network, random_values


@pytest.mark.parametrize("part", range(4))
def test_random_networks_give_the_same_result_as_the_naive_simulator(part):
    for seed in range(15 * part, 15 * (part + 1)):
        rng = np.random.default_rng([11, seed])
        chip = random_network(rng, layers=int(rng.integers(1, 4)), wild=seed % 3 == 0)
        values = random_values(rng, chip, 2)
        assert not differing_samples(run_reference(chip, values, steps=chip.steps), simulate(chip, values)).any(), seed


@pytest.mark.parametrize("decay", [0, 205])
def test_stock_neurons_are_computed_as_the_emulator_computes_them(decay):
    for seed in range(6):
        chip = executed_network(conv_network(seed, decay=decay), "stock")
        values = random_values(np.random.default_rng(seed), chip, 2)
        expected = Emulator(chip, stock=True).run(values, steps=14, spikes=True)
        assert not differing_samples(run_reference(chip, values, steps=14, stock=True), expected).any()


def test_it_imports_no_compiled_code():
    tree = ast.parse(Path(reference_run.__file__).read_text(encoding="utf-8"))
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert not any("compiled" in str(module) or "backends" in str(module) for module in modules)
