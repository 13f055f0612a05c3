"""Inject every fault of the catalogue on every backend and network, and print a table: was it found, and was the right layer named?

    python bench/faults.py [--encoding rate|delta] [--every N] [--no-trains] [--json]

The catalogues are tests/helpers/fault_catalogue.py and delta_fault_catalogue.py. The exit code is 1 if a fault is missed, or if, with rate
coding, the right layer is named for fewer than 95 % of them.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import defaultdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.helpers import delta_fault_catalogue
from tests.helpers.delta_fault_catalogue import DeltaOutcome
from tests.helpers.fault_catalogue import BACKENDS, Outcome, outcomes

NAMED_MIN = 0.95


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--encoding", choices=("rate", "delta"), default="rate")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="check only every N-th case")
    parser.add_argument("--no-trains", action="store_true", help="check the runs without their spike trains, as without --spikes")
    parser.add_argument("--json", action="store_true", help="print the totals as JSON")
    args = parser.parse_args()
    if args.encoding == "delta":
        return messages(args)
    started = time.process_time()
    found = list(outcomes(lambda number: number % args.every == 0, trains=not args.no_trains))
    named = sum(outcome.named for outcome in found)
    missed = [outcome for outcome in found if not outcome.found]
    totals = {
        "cases": len(found),
        "found": len(found) - len(missed),
        "named": named,
        "cpu_seconds": round(time.process_time() - started, 1),
    }
    print(json.dumps(totals) if args.json else f"{table(found)}\n\n{', '.join(f'{value} {name}' for name, value in totals.items())}")
    for outcome in missed:
        print(f"missed: {where(outcome)}", file=sys.stderr)
    for outcome in found:
        if outcome.found and not outcome.named:
            print(f"named {outcome.layer}, not {sorted(outcome.expected)}: {where(outcome)}", file=sys.stderr)
    return int(bool(missed) or named < NAMED_MIN * len(found))


def messages(args: argparse.Namespace) -> int:
    """Do the same with the catalogue of delta encoding, where checks are named instead of layers."""
    started = time.process_time()
    found = list(delta_fault_catalogue.outcomes(lambda number: number % args.every == 0, trains=not args.no_trains))
    missed = [outcome for outcome in found if not outcome.found]
    totals = {"cases": len(found), "found": len(found) - len(missed), "cpu_seconds": round(time.process_time() - started, 1)}
    print(json.dumps(totals) if args.json else f"{checks_table(found)}\n\n{', '.join(f'{value} {name}' for name, value in totals.items())}")
    for outcome in missed:
        print(f"missed: {outcome.fault.rule}: {outcome.fault.name}; {outcome.graph}, {outcome.backend}", file=sys.stderr)
    return int(bool(missed))


def checks_table(found: list[DeltaOutcome]) -> str:
    """Return a table with the found cases and the checks that failed, per fault."""
    rows: dict[tuple[str, str], list[DeltaOutcome]] = defaultdict(list)
    for outcome in found:
        rows[outcome.fault.rule, outcome.fault.name].append(outcome)
    lines = ["| rule | fault | found | by |", "|---|---|---|---|"]
    for (rule, name), cases in rows.items():
        by = sorted({check for outcome in cases for check in outcome.by})
        lines.append(f"| {rule} | {name} | {sum(o.found for o in cases)} of {len(cases)} | {', '.join(by)} |")
    return "\n".join(lines)


def where(outcome: Outcome) -> str:
    return f"{outcome.fault.rule}: {outcome.fault.name}; {outcome.graph}, {outcome.leak}, {outcome.backend}"


def table(found: list[Outcome]) -> str:
    """Return a table with the found and correctly located cases per fault and backend."""
    rows: dict[tuple[str, str], dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in found:
        rows[outcome.fault.rule, outcome.fault.name][outcome.backend].append(outcome)
    lines = ["| rule | fault | " + " | ".join(BACKENDS) + " |", "|---|---|" + "---|" * len(BACKENDS)]
    for (rule, name), by_backend in rows.items():
        cells = [_cell(by_backend[backend]) for backend in BACKENDS]
        lines.append(f"| {rule} | {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(found: list[Outcome]) -> str:
    """Return "found/located of cases"."""
    return f"{sum(o.found for o in found)}/{sum(o.named for o in found)} of {len(found)}" if found else "–"


if __name__ == "__main__":
    sys.exit(main())
