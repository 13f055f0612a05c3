"""Are the tests able to fail? Wrong changes to the integer arithmetic, its kernels, the emulator and the comparator, in a copy.

python -m tests.torture.mutation                      the changes in changes.json again, each with the one test that noticed it
python -m tests.torture.mutation --search --count 48  so many new ones of each folder, shown to all tests that run their lines
python -m tests.torture.mutation --tests FILE …       those that nothing noticed, shown to new tests

A test that fails, hangs or crashes has noticed. What nothing noticed must stand with a reason in equivalent.json.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import tempfile
import time
from collections import Counter
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from random import Random

from tests.torture.laboratory import COMPILED, Laboratory
from tests.torture.mutants import Mutant, mutants

HERE = Path(__file__).parent
CHANGES = HERE / "changes.json"
FILES = {  # what is changed, by folder
    "compiled": [
        *("arithmetic", "atrlif", "convolution", "delta_run", "float_run", "integer_run", "norm_bound", "patches", "program"),
        *("residual_bounds", "row_sums", "row_vectors", "scatter", "spike_list", "weighted_sums"),
    ],
    "nn": ["architecture", "delta_simulation", "event_layout", "event_simulation", "notation", "operators"],
    "ir": ["connections", "delta_encoding", "input_current", "layers", "network", "rate_map", "compiled_synapse"],
    "quantisation": [
        *("chip_parts", "dead_band", "delta_rounding", "fake_quantise", "fold", "layer_problem", "quantise", "quantise_options"),
        *("readout_rounding", "rounding"),
    ],
    "importing": ["balance", "ide_fsnn", "linear_path", "neuron_facts", "nir_neurons", "probe", "spiking"],
    "backends/emulator": ["delta", "laid_out", "layout", "limit_cycle", "run"],
    "verify": [],  # all of it
}
TESTS = [  # that are watched: which of them runs a line is asked when that line is changed; compiled lines cannot be watched
    "tests/nn/test_delta_simulation.py",
    "tests/nn/test_event_simulation.py",
    "tests/nn/test_notation.py",
    "tests/ir",
    "tests/quantisation",
    "tests/placement",
    "tests/formats/test_netx.py",
    "tests/importing",
    "tests/verify",
    "tests/report",
    "tests/cli/test_compare.py",
    "tests/cli/test_map.py",
    "tests/whole/test_faults.py",
]
COMPILED_FOLDERS = {"compiled", "backends/emulator"}  # the tests of these are chosen by hand


@dataclass
class Change:
    """A change that was made, and the test that noticed it ("" if none)."""

    file: str
    text: str  # of the line
    change: str
    nth: int  # among the same changes of the same text in the file
    outcome: str  # "noticed", "hung or crashed" or "survived"
    by: str
    seconds: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.file}: {self.change}    in: {self.text}"

    @property
    def folder(self) -> str:
        return next((name for name in FILES if self.file.startswith(f"{name}/")), "")


def possible(package: Path, folder: str) -> dict[str, list[tuple[int, Mutant]]]:
    """Every change of the folder, by file, with its number among the same ones."""
    listed = [package / folder / f"{name}.py" for name in FILES[folder]]
    found = {}
    for path in listed or sorted((package / folder).rglob("*.py")):
        name = path.relative_to(package).as_posix()
        seen: Counter[tuple[str, str]] = Counter()
        found[name] = []
        for mutant in mutants(path, name):
            found[name].append((seen[mutant.text, mutant.change], mutant))
            seen[mutant.text, mutant.change] += 1
    return found


def drawn(package: Path, folder: str, count: int, seed: int) -> list[tuple[int, Mutant]]:
    """So many changes of a folder, file by file in turn; the same for the same seed and sources."""
    shuffled = [Random(f"{seed} {name}").sample(every, len(every)) for name, every in possible(package, folder).items()]
    return [one for turn in zip_longest(*shuffled) for one in turn if one is not None][:count]


def search(laboratory: Laboratory, args: argparse.Namespace, known: list[Change]) -> list[Change]:
    """Draw, show to all tests, and add to what is known."""
    chosen = {test for rounds in COMPILED.values() for tests in rounds for test in tests}
    if not laboratory.sound(chosen) or not (set(args.folders) <= COMPILED_FOLDERS or laboratory.watch(TESTS)):
        sys.exit("the tests fail on the unbroken package: nothing to find out")
    done = {(one.file, one.text, one.change, one.nth) for one in known}
    found = list(known)
    for folder in args.folders:
        for nth, mutant in drawn(laboratory.package, folder, args.count, args.seed):
            if args.file not in mutant.file or (mutant.file, mutant.text, mutant.change, nth) in done:
                continue
            began = time.monotonic()
            outcome, by = laboratory.show(mutant, laboratory.rounds(mutant, args.patience))
            seconds = round(time.monotonic() - began, 1)
            found.append(Change(mutant.file, mutant.text, mutant.change, nth, outcome, by, seconds))
            print(f"{outcome:15} {seconds:5.1f} s  {mutant}    by {by}", flush=True)
            write(found)
    return found


def survivors(laboratory: Laboratory, args: argparse.Namespace, known: list[Change]) -> list[Change]:
    """Show what nothing noticed and nobody explained to these tests."""
    if not laboratory.sound(args.tests):
        sys.exit("the tests fail on the unbroken package: nothing to find out")
    for one in known:
        if one.outcome == "survived" and args.file in one.file and not explanation(one):
            every = possible(laboratory.package, one.folder).get(one.file, [])
            mutant = next((m for nth, m in every if (m.text, m.change, nth) == (one.text, one.change, one.nth)), None)
            if mutant is not None:
                one.outcome, one.by = laboratory.show(mutant, [args.tests])
            print(f"{one.outcome:15} {one.name}    by {one.by}", flush=True)
            write(known)
    return known


def write(found: list[Change]) -> None:
    ordered = sorted(found, key=lambda one: (one.file, one.text, one.change, one.nth))
    CHANGES.write_text(json.dumps([asdict(one) for one in ordered], indent=1, ensure_ascii=False) + "\n")


def known() -> list[Change]:
    return [Change(**one) for one in json.loads(CHANGES.read_text())] if CHANGES.exists() else []


def again(laboratory: Laboratory, args: argparse.Namespace) -> list[Change]:
    """What is known, `count` of each folder, each with the test that noticed it; "gone" if the line is no longer there."""
    chosen = [one for folder in args.folders for one in in_turn(folder, args.file)[: args.count or None]]
    present = {
        (mutant.file, mutant.text, mutant.change, nth): mutant
        for folder in args.folders
        for every in possible(laboratory.package, folder).values()
        for nth, mutant in every
    }
    if not laboratory.sound(one.by for one in chosen if one.by):
        sys.exit("the tests fail on the unbroken package: nothing to find out")
    found = []
    for one in chosen:
        mutant, began = present.get((one.file, one.text, one.change, one.nth)), time.monotonic()
        outcome = "gone" if mutant is None else one.outcome
        if mutant is not None and one.by:
            outcome = laboratory.show(mutant, [[one.by]])[0]
        found.append(Change(one.file, one.text, one.change, one.nth, outcome, one.by, round(time.monotonic() - began, 1)))
        print(f"{outcome:15} {found[-1].seconds:5.1f} s  {one.name}", flush=True)
    return found


def in_turn(folder: str, file: str) -> list[Change]:
    """The known changes of a folder, file by file in turn."""
    those = [one for one in known() if one.folder == folder and file in one.file]
    by_file = [[one for one in those if one.file == name] for name in sorted({one.file for one in those})]
    return [one for turn in zip_longest(*by_file) for one in turn if one is not None]


def explained() -> list[dict[str, str]]:
    """Changes that no test can notice, because they change nothing that matters, and why."""
    return json.loads((HERE / "equivalent.json").read_text())


def explanation(change: Change) -> str:
    """Why it is no wonder that nothing noticed; "" if nobody has found out."""
    same = (entry for entry in explained() if all(entry[key] == getattr(change, key) for key in ("file", "text", "change")))
    return next((entry["why"] for entry in same), "")


def summary(found: list[Change]) -> tuple[str, list[Change]]:
    """One line, and the changes that nothing noticed and nobody explained."""
    left = [one for one in found if one.outcome == "survived"]
    unexplained = [one for one in left if not explanation(one)]
    gone = sum(one.outcome == "gone" for one in found)
    folders = ", ".join(f"{number} of {name}/" for name, number in Counter(one.folder for one in found if one.outcome != "gone").items())
    text = (
        f"{len(found) - gone} changes ({folders}): {len(found) - gone - len(left)} noticed, {len(left) - len(unexplained)} change nothing"
    )
    text += f", {len(unexplained)} unexplained" + (f"; {gone} lines are no longer there" if gone else "")
    return text, unexplained


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--search", action="store_true", help="draw new changes and add what became of them to changes.json")
    parser.add_argument("--tests", nargs="+", default=[], help="show the known changes that nothing noticed to these tests")
    parser.add_argument("--count", type=int, default=0, help="changes of each folder (default: all that are known)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--folders", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--file", default="", help="only changes of files whose name holds this")
    parser.add_argument("--patience", type=float, default=0.0, help="seconds of tests that a change is shown to (default: all of them)")
    parser.add_argument("--laboratory", type=Path, help="folder for the copy, kept; what was watched there before is not watched again")
    args = parser.parse_args()
    if args.search and importlib.util.find_spec("coverage") is None:
        sys.exit("the lines that a test runs are found with coverage, which is not installed: pip install coverage")
    os.environ.update(NUMBA_OPT="0", NUMBA_LOOP_VECTORIZE="0", NUMBA_SLP_VECTORIZE="0")  # compiling is what takes longest
    import h5py  # noqa: F401  (loaded once, for all children)
    import hypothesis  # noqa: F401
    import matplotlib  # noqa: F401
    import numba  # noqa: F401
    import torch  # noqa: F401

    with tempfile.TemporaryDirectory() as name:
        laboratory = Laboratory((args.laboratory or Path(name)).resolve())
        if args.tests:
            found = survivors(laboratory, args, known())
        else:
            found = search(laboratory, args, known()) if args.search else again(laboratory, args)
    text, unexplained = summary(found)
    print(text)
    for one in unexplained:
        print(f"    not noticed: {one.name}")
    return int(bool(unexplained))


if __name__ == "__main__":
    sys.exit(main())
