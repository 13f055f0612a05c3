"""The verdict: when it passes, what it says, how it is printed."""

from __future__ import annotations

from fsnn_lava.verify.accurate import Accurate
from fsnn_lava.verify.check import Check, not_done
from fsnn_lava.verify.settled import Settled
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
    assert (said["passed"], said["done"], said["mark"], said["summary"]) == (None, False, "--", "not done: no model")


def test_a_missed_threshold_leaves_a_run_faithful_but_does_not_pass() -> None:
    held = Check(name="charge", passed=True, summary="held")
    missed = Check(name="accuracy", passed=True, missed=("accuracy must be at least 99%",), summary="80%; accuracy must be at least 99%")
    verdict = Verdict(checks=(held, missed))
    assert (verdict.faithful, verdict.passed, verdict.word) == (True, False, "MISSED")
    assert [check.name for check in verdict.failed] == ["accuracy"]
    broken = Verdict(checks=(Check(name="charge", passed=False, summary="lost"), missed))
    assert (broken.faithful, broken.passed, broken.word) == (False, False, "FAIL")
    assert broken.to_text().startswith("FAIL  not faithful (charge)")


def test_the_first_line_and_the_json_give_three_answers() -> None:
    settled = Settled(answer="no", residual=0.5, typical=0.2, resolution=0.1, level=0.1, beyond=0.25, samples_settled=0.0, steps=50)
    accurate = Accurate(accuracy=0.75, interval=(0.4, 0.9), samples=8, float_accuracy=1.0)
    held = (Check(name="charge", passed=True, summary="held"),)
    verdict = Verdict(checks=held, settled=settled, accurate=accurate)
    first = verdict.to_text().splitlines()[0]
    answers = (
        "settled: no (|f(a) - a| up to 0.5, 25.00% beyond the 0.1 that it resolves, about 50 steps needed); "
        "accurate: 75.00% (40.00% … 90.00%), float 100.00%"
    )
    assert first == f"PASS  faithful; {answers}"
    said = verdict.to_dict()
    assert (said["faithful"], said["settled"]["answer"], said["settled"]["steps"]) == (True, "no", 50)
    assert (said["accurate"]["accuracy"], said["accurate"]["interval"]) == (0.75, [0.4, 0.9])
    unlabelled = Verdict(checks=held, settled=settled)
    assert unlabelled.to_dict()["accurate"] is None
    assert "accurate: unknown, no labels" in unlabelled.answers()


def test_lines_of_a_verdict_have_at_most_118_characters() -> None:
    """20 characters of indentation, then one-letter words: 49 words are 97 characters, 50 would be 99."""
    lines = Verdict(checks=(Check(name="charge", link="a link", passed=True, summary="a " * 120),)).to_text().splitlines()[2:]
    assert [len(line) for line in lines] == [117, 117, 20 + 43]


def test_the_run_itself_is_not_part_of_a_verdicts_repr_and_equality() -> None:
    chip = conv_network(5)
    result, values, _ = run_of(chip, 2)
    one, other = (Verdict(checks=(), run=JudgedRun(chip=chip, result=result, values=v)) for v in (values, values + 1))
    assert one == other
    assert "JudgedRun" not in repr(one)
