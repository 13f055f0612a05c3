"""The tables of docs/reliability.md: the promises are written here, and the results come from ran.json, which `--record` writes.

python -m tests.torture.document     rewrites the tables
"""

from __future__ import annotations

import datetime
import json
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tests.torture import mutation

RAN = Path(__file__).parent / "ran.json"
PACKAGE = Path(__file__).parent.parent.parent / "fsnn_lava"
PAGE = Path(__file__).parent.parent.parent / "docs" / "reliability.md"
ROWS, CHANGES, END = "<!-- rows -->\n", "<!-- changes -->\n", "<!-- end -->"
HEAD = "| fault | promise | tested by | ran | result |\n|---|---|---|---|---|\n"
HALF = "either the complete old file or the complete new one is there"
LINES = [  # key, fault, promise, tested by
    (
        "files",
        "damaged files, for every reader: networks, slayer, NIR, results, models, .npz, recipes, boards, IDX, CIFAR (both layouts), "
        "N-MNIST; the parts, notes and locks of an interrupted run",
        "the content is read, or there is a one-sentence message and exit code 2; no traceback, no crash, at most 10 s of CPU time "
        "and 1 GiB of extra memory",
        "`tests/torture/test_readers.py`, `fuzz.py`; 1000 of them in `make test`",
    ),
    (
        "readers",
        "hand-made files: decompression bombs, links to other files, endless heaps, files that claim to contain terabytes, "
        "code in a pickle",
        "they are refused with a message; nothing is executed, and `torch.load` is not called",
        "`test_readers.py`, `tests/files/test_torch_archive.py`, `tests/files/test_plain_pickle.py`",
    ),
    ("kill write net.h5", "`kill -9` while net.h5 is being overwritten", HALF, "`tests/torture/kill_cases.py`"),
    ("kill write model.pt", "`kill -9` while model.pt is being overwritten", HALF, "`kill_cases.py`"),
    ("kill fsnn-export", "`kill -9` of `fsnn-export` while it overwrites a file", HALF, "`kill_cases.py`"),
    (
        "kill fsnn-run",
        "`kill -9` of `fsnn-run`, then `--resume`",
        "either the old or the new results are there; no finished batch is lost; resuming gives the same results as without the kill",
        "`kill_cases.py`, `tests/running/test_job.py`",
    ),
    (
        "resume",
        "`fsnn-run` with one sample per batch, killed or interrupted, in one process and in two",
        "resuming gives the same results as an uninterrupted run",
        "`tests/torture/resume_cases.py`",
    ),
    (
        "kill fsnn-train",
        "`kill -9` of `fsnn-train`, then `--resume`",
        "state.pt, last.pt and best.pt can be loaded; resuming gives the same bits as without the kill",
        "`kill_cases.py`",
    ),
    (
        "twice",
        "two runs that write to the same folder or file",
        "the second is refused",
        "`tests/training/test_loop.py`, `tests/running/test_job.py`",
    ),
    (
        "disks",
        "full disk (64 KiB), read-only file system",
        "exit code 2 and a one-sentence message; the old file is kept, and nothing else is left behind",
        "`tests/torture/test_nothing_lost.py`",
    ),
    (
        "long",
        "long runs",
        "10,000 samples in 125 batches on `sim` and `emu`: memory does not grow, no process or file is left behind, and no result depends "
        "on batch size, order or number of processes",
        "`tests/torture/test_long_run.py`",
    ),
    (
        "machines",
        "machines with limited resources, other locales or odd clocks",
        "the same numbers, or a one-sentence message",
        "`tests/torture/test_machines.py`",
    ),
    ("mutants", "mutations of the integer network, the emulator and the comparator", "a test fails", "`tests/torture/mutation.py`"),
    (
        "supply",
        "packages",
        "the lock files have hashes and satisfy `setup.cfg`, and every advisory that applies has an answer",
        "`tests/whole/test_supply_chain.py`",
    ),
    (
        "privacy",
        "what leaves the machine",
        "no socket is opened, and no secret from the environment is printed or written",
        "`tests/whole/test_privacy.py`",
    ),
]


def record(parts: Mapping[str, Sequence[Any]]) -> None:
    """Keep the rows of these parts, by their keys, and write the table."""
    known = json.loads(RAN.read_text()) if RAN.exists() else {}
    keys = [key for key, *_ in LINES]
    about = {"date": datetime.date.today().isoformat(), "python": platform.python_version(), "torch": version("torch").partition("+")[0]}
    for rows in parts.values():
        for row in rows:
            if row.key not in keys:
                raise KeyError(f"{row.key!r} is no line of the table")
            known[row.key] = {"times": row.times, "result": row.result, "good": row.good, "details": row.details, **about}
    ordered = {key: known[key] for key, *_ in LINES if key in known}
    RAN.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n")
    write()


def table(ran: Mapping[str, Any]) -> str:
    """The lines of the page."""
    lines = []
    for key, *said in LINES:
        found = ran.get(key)
        shown = [""] * 2 if found is None else [f"{found['times']}; {found['date']}", _result(key, found)]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") or "not yet" for cell in (*said, *shown)) + " |\n")
    return HEAD + "".join(lines)


def _result(key: str, found: Mapping[str, Any]) -> str:
    text = found["result"] if found["good"] else f"**failed**: {found['result']}"
    return "<br>".join([text, *found["details"]]) if key == "long" else text


def changes() -> str:
    """The wrong changes that are known, by folder, and why some change nothing."""
    known, lines = mutation.known(), ["| | possible | made | noticed | hung or crashed | change nothing |", "|---|---|---|---|---|---|"]
    for folder in mutation.FILES:
        those = [one.outcome for one in known if one.folder == folder]
        possible = sum(len(every) for every in mutation.possible(PACKAGE, folder).values())
        counts = [those.count(outcome) for outcome in ("noticed", "hung or crashed", "survived")]  # a test asks for a reason of the last
        lines.append(f"| `{folder}/` | {possible} | {len(those)} | {' | '.join(map(str, counts))} |")
    reasons = [f"* `{one['file']}`, {one['change'].replace('|', '¦')}: {one['why']}." for one in mutation.explained()]
    return "\n".join([*lines, "", *reasons, ""])


def write() -> None:
    """Both tables into the page."""
    page = PAGE.read_text()
    for start, text in ((ROWS, table(json.loads(RAN.read_text()))), (CHANGES, changes())):
        before, rest = page.split(start)
        page = before + start + text + END + rest.partition(END)[2]
    PAGE.write_text(page)


if __name__ == "__main__":
    write()
