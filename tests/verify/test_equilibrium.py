"""Solving for a*: the tolerance, the second try, the cost."""

from __future__ import annotations

from math import nextafter
from types import SimpleNamespace

import numpy as np

from fsnn_lava.ir.network import TransposedConvSynapse
from fsnn_lava.verify import equilibrium
from fsnn_lava.verify.equilibrium import Equilibria, equilibrium_multiplications, solve_equilibria
from tests.helpers.chip_networks import conv_network, dense_network


def test_the_work_of_one_rate_map_counts_the_synapses_between_layers():
    """Input synapses are multiplied once, not in every evaluation: 5 x 5 of the feedback are left; a kernel is used at every place."""
    assert equilibrium_multiplications(dense_network(1, size=5, inputs=7)) == 25
    chip = conv_network(1)
    between = [synapse for synapse in chip.synapses if synapse.source != "input"]
    places = [chip.layer(s.source if isinstance(s, TransposedConvSynapse) else s.target).shape[1:] for s in between]
    assert equilibrium_multiplications(chip) == sum(s.weight.size * int(np.prod(place)) for s, place in zip(between, places))


def test_an_equilibrium_is_found_at_a_billionth_and_not_beyond():
    assert list(Equilibria((), np.array([0.0, 1e-9, nextafter(1e-9, 1.0)])).converged) == [True, True, False]


def test_a_second_try_is_used_only_where_it_is_closer(monkeypatch):
    """From rest the first sample is solved and the others stay at 1/2; from the run's rates the second is no better, the third is."""
    from_rest = SimpleNamespace(rates=(np.zeros((3, 2)),), residual=np.array([0.0, 0.5, 0.5]))
    monkeypatch.setattr(equilibrium, "_solve_from", lambda *_: Equilibria((np.ones((2, 2)),), np.array([0.5, 0.25])))
    point = solve_equilibria(SimpleNamespace(solve_drive=lambda *_, **__: from_rest), np.zeros((3, 2)), (np.ones((3, 2)),))
    assert list(point.residual) == [0.0, 0.5, 0.25]
    assert point.rates[0].tolist() == [[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]
