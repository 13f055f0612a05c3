"""make torture: every fault, often, as a table. Exit code 1 if anything was lost, crashed, hung or left without a sentence."""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from tests.torture.fuzz import fuzz
from tests.torture.originals import ROOT

FOLDER = Path(__file__).parent


def main() -> int:
    parser = argparse.ArgumentParser(prog="make torture", description="Faults on purpose, many of them.")
    parser.add_argument("--cases", type=int, default=20000, help="damaged files to read (default: %(default)s)")
    parser.add_argument("--kills", type=int, default=200, help="kills of each writer (default: %(default)s); a 20th of it of each command")
    parser.add_argument("--first", type=int, default=0, help="number of the first damaged file: the same number is the same file")
    args = parser.parse_args()
    tally = fuzz(args.first, args.cases)
    print(f"damaged files    {dict(tally.counts)}", flush=True)
    for failure in tally.failures:
        print(f"    {failure}")
    command = [sys.executable, "-m", "tests.torture.kill_cases", str(args.kills), str(args.kills // 20)]
    kills = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    print(f"kills            {kills.stdout.strip() or kills.stderr.strip()}", flush=True)
    rest = subprocess.run([sys.executable, "-m", "pytest", str(FOLDER), "-v"], cwd=ROOT)
    return int(bool(tally.failures or kills.returncode or rest.returncode))


if __name__ == "__main__":
    sys.exit(main())
