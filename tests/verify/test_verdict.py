"""The verdict: when it passes, what it says, how it is printed."""

from __future__ import annotations

from fsnn_lava.verify.check import Check, not_done
from fsnn_lava.verify.verdict import JudgedRun, Verdict
from tests.helpers.chip_networks import conv_network
from tests.verify.test_merged_findings import run_of


def test_a_verdict_without_a_check_does_not_pass() -> None:
    for checks in ((), (not_done("shift", "a link", "no model"),)):
        verdict = Verdict(checks=checks)
        assert not verdict.passed
        assert verdict.to_text().startswith("NOT CHECKED")
        assert verdict.to_dict()["passed"] is False
    assert Verdict(checks=(Check(name="charge", link="a link", passed=True, summary="held"),)).passed


def test_a_check_that_was_not_done_does_not_fail_the_verdict_and_says_so() -> None:
    left_out = not_done("shift", "a link", "no model")
    verdict = Verdict(checks=(left_out, Check(name="charge", link="a link", passed=True, summary="held")))
    assert verdict.word == "PASS" and verdict.failed == ()
    said = verdict.to_dict()["checks"][0]
    assert (said["passed"], said["done"], said["mark"], said["summary"]) == (True, False, "--", "not done: no model")


def test_lines_of_a_verdict_have_at_most_118_characters() -> None:
    """20 characters of indentation, then one-letter words: 49 words are 97 characters, 50 would be 99."""
    lines = Verdict(checks=(Check(name="charge", link="a link", passed=True, summary="a " * 120),)).to_text().splitlines()[1:]
    assert [len(line) for line in lines] == [117, 117, 20 + 43]


def test_the_run_itself_is_not_part_of_a_verdicts_repr_and_equality() -> None:
    chip = conv_network(5)
    result, values, _ = run_of(chip, 2)
    one, other = (Verdict(checks=(), run=JudgedRun(chip=chip, result=result, values=v)) for v in (values, values + 1))
    assert one == other
    assert "JudgedRun" not in repr(one)
