"""Part of the catalogue of single faults of delta encoding. python bench/faults.py --encoding delta runs all of it."""

from __future__ import annotations

import pytest

from tests.helpers.delta_fault_catalogue import BACKENDS, CATALOGUE, GRAPHS, cases, outcomes

EVERY = 5  # coprime to the numbers of faults and of backends, so that every rule comes up


@pytest.fixture(scope="module")
def judged():
    return list(outcomes(lambda number: number % EVERY == 1))


def test_every_fault_is_found(judged):
    assert len(judged) >= 25
    assert [(o.fault.name, o.graph, o.backend) for o in judged if not o.found] == []


def test_every_rule_and_every_backend_is_among_them(judged):
    assert {o.fault.rule for o in judged} == {fault.rule for fault in CATALOGUE}
    assert {o.backend for o in judged} == set(BACKENDS)


@pytest.mark.parametrize("graph", sorted(GRAPHS))
def test_the_same_runs_without_a_fault_pass(graph):
    for backend in BACKENDS:
        case = cases(graph, backend)
        verdict = case.judge(case.right)
        assert verdict.faithful, verdict.to_text()
