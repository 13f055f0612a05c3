"""What a change of the feedback's sources can reach, and how much J changes with the undecided neurons."""

from __future__ import annotations

import numpy as np

from fsnn_lava.ir.rate_map import RateMap
from fsnn_lava.verify.bounds.loop_gains import LoopGains
from fsnn_lava.verify.linearised_loop import LinearisedLoop, Loop
from tests.helpers.strategies import random_network


def dense(jacobian, size, rows):
    return np.stack([jacobian.apply(np.tile(unit, (rows, 1))) for unit in np.eye(size)], axis=2)


def test_j_changes_by_no_more_than_the_bound_whatever_the_undecided_neurons_do():
    for seed in range(40):
        rng = np.random.default_rng([13, seed])
        chip = random_network(rng)
        if not chip.feedback:
            continue
        loop = Loop(RateMap(chip))
        gains = LoopGains(loop)
        active = tuple(rng.random((3, *layer.shape)) < 0.7 for layer in chip.layers)
        undecided = [rng.random((3, *layer.shape)) < rng.choice([0.02, 0.3]) for layer in chip.layers]
        flipped = tuple(a ^ (u & (rng.random(u.shape) < 0.7)) for a, u in zip(active, undecided))
        change = dense(LinearisedLoop(loop, flipped), loop.size, 3) - dense(LinearisedLoop(loop, active), loop.size, 3)
        exact = np.linalg.norm(change, 2, axis=(1, 2))
        assert (exact <= gains.change_of_jacobian(undecided) * (1 + 1e-9) + 1e-12).all()


def test_no_layer_and_no_neuron_moves_further_than_its_reach():
    for seed in range(40):
        rng = np.random.default_rng([17, seed])
        chip = random_network(rng)
        if not chip.feedback:
            continue
        loop = Loop(RateMap(chip))
        gains, drive = LoopGains(loop), tuple(rng.uniform(-200, 400, (3, *layer.shape)) for layer in chip.layers)
        one, other = rng.random((2, 3, loop.size))
        length = np.linalg.norm(one - other, axis=1)
        (rates, inputs), (others, their_inputs) = loop.sweep(one, drive), loop.sweep(other, drive)
        for position in range(len(chip.layers)):
            moved = np.linalg.norm((rates[position] - others[position]).reshape(3, -1), axis=1)
            assert (moved <= gains.reach[position] * length * (1 + 1e-9) + 1e-12).all()
            per_neuron = np.abs(inputs[position] - their_inputs[position]).reshape(3, -1)
            assert (per_neuron <= gains.rows[position].reshape(-1) * length[:, None] * (1 + 1e-9) + 1e-9).all()
