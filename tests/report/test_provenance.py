"""What ran: the notes of the network, rounded."""

from __future__ import annotations

from dataclasses import replace

from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.provenance import provenance_panel
from tests.helpers.report_case import digits_case


def test_measured_numbers_are_rounded_and_other_notes_are_shown_as_they_are():
    case = digits_case()
    notes = {"trained accuracy": "0.9587912087912088", "trained epochs": "16.0", "made by": "fsnn-lava 0.1.0", "bits": "6"}
    run = RunEvidence(replace(case.chip, notes=notes), case.result, case.values, case.labels, None, None)
    facts = dict(provenance_panel(Evidence(case.verdict, run)).facts)
    shown = {key.removeprefix("network: "): value for key, value in facts.items() if key.startswith("network: ")}
    assert shown == {**notes, "trained accuracy": "0.9588", "trained epochs": "16"}
