"""Part of the catalogue of single faults: every rule on every backend. python bench/faults.py runs all of it."""

from __future__ import annotations

import pytest

from tests.helpers.fault_catalogue import BACKENDS, CATALOGUE, GRAPHS, LEAKS, cases, outcomes

EVERY = 11  # coprime to the number of faults, so that each comes up


@pytest.fixture(scope="module")
def judged():
    return list(outcomes(lambda number: number % EVERY == 1))


def test_every_fault_is_found(judged):
    assert len(judged) >= 60
    assert [(o.fault.name, o.graph, o.leak, o.backend) for o in judged if not o.found] == []


def test_the_right_layer_is_named_for_nearly_all(judged):
    wrong = [(o.fault.name, o.graph, o.leak, o.backend, o.layer) for o in judged if not o.named]
    assert len(wrong) <= 0.05 * len(judged), wrong


def test_every_rule_and_every_backend_is_among_them(judged):
    assert {o.fault.rule for o in judged} == {fault.rule for fault in CATALOGUE}
    assert {o.backend for o in judged} == set(BACKENDS)
    assert {(o.graph, o.leak) for o in judged} == {(graph, leak) for graph in GRAPHS for leak in LEAKS}


@pytest.mark.parametrize("leak", sorted(LEAKS))
@pytest.mark.parametrize("graph", sorted(GRAPHS))
def test_the_same_runs_without_a_fault_pass(graph, leak):
    for backend in BACKENDS:
        case = cases(graph, leak, backend)
        verdict = case.judge(case.run())
        assert verdict.faithful, verdict.to_text()
