"""Count the false alarms of the comparator on correct runs of random networks of every kind, and print one line of JSON.

    python bench/false_alarms.py [--runs 2000] [--encoding rate|delta] [--backend emu|naive] [--seed 0]

An alarm is justified if charge was clipped; all others are false, and there must be none. Samples without an equilibrium do not raise an
alarm, but are counted. So are networks that are refused because their input does not fit the chip; others take their place.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import fsnn_lava as fl
from fsnn_lava.verify.comparator import Comparator
from tests.helpers.naive_delta import random_delta_network, simulate_delta, with_random_delta
from tests.helpers.naive_simulator import simulate
from tests.helpers.random_graphs import random_graph
from tests.helpers.strategies import random_network, random_values


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--encoding", choices=("rate", "delta"), default="rate")
    parser.add_argument("--backend", choices=("naive", "emu"), default="emu")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found: Counter[str] = Counter()
    started = time.process_time()
    for run in range(10 * args.runs):
        if found["done"] == args.runs:
            break
        rng = np.random.default_rng([args.seed, run])
        delta = args.encoding == "delta"
        chip = network(rng, delta=delta, wild=run % 4 == 0)
        values = random_values(rng, chip, 2)
        comparator = Comparator(chip, equilibrium_samples=1)
        reference = simulate_delta if delta else simulate
        try:
            result = fl.run(chip, values)
        except fl.BadNetwork:
            found["refused"] += 1
            continue
        found["done"] += 1
        comparator.add(reference(chip, values) if args.backend == "naive" else result, values)
        verdict = comparator.verdict()
        charge, contraction = verdict.check("sums" if delta else "charge"), verdict.check("contraction")
        clips = charge.numbers["clips" if delta else "harmful_clips"]
        found[contraction.numbers["state"]] += 1
        found["passed"] += verdict.passed
        found["clipped"] += clips > 0
        found["no equilibrium"] += contraction.numbers["unsolved"] > 0
        justified = {charge.name} if clips and not charge.numbers["violated"] else set()
        for check in verdict.failed:
            if check.name not in justified:
                found["false alarms"] += 1
                print(f"run {run}: {check.name}: {check.summary}", file=sys.stderr)
    found["false alarms"] += 0
    about = {"runs": found.pop("done"), "encoding": args.encoding, "backend": args.backend}
    print(json.dumps({**about, **found, "cpu_seconds": round(time.process_time() - started, 1)}))
    return int(found["false alarms"] > 0 or about["runs"] < args.runs)


def network(rng: np.random.Generator, *, delta: bool, wild: bool) -> fl.ChipNetwork:
    """Return a random chain of layers with one feedback; with delta encoding, a random graph every second time."""
    if not delta:
        return random_network(rng, wild=wild)
    if rng.random() < 0.5:
        return random_delta_network(rng, wild=wild)
    kind, layers = str(rng.choice(["pixels", "current", "events"])), int(rng.integers(1, 6))
    return with_random_delta(
        rng, random_graph(rng, layers=layers, feedbacks=3, skips=3, kind=kind, reset="subtract", strict=False), wild=wild
    )


if __name__ == "__main__":
    sys.exit(main())
