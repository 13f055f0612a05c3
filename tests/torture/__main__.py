"""make torture: inject every kind of fault many times, and print a table of what was done and how it went.

The exit code is 1 if anything was lost, crashed, hung or failed without a message, or if a mutation of the arithmetic went unnoticed.
The table is printed even if one of its parts fails.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor, as_completed

from tests.torture import document
from tests.torture.parts import KILLED, PARTS, Row


def main() -> int:
    parser = argparse.ArgumentParser(prog="make torture", description="Inject every kind of fault many times.")
    parser.add_argument("--cases", type=int, default=24000, help="damaged files to read (default: %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="number of the first damaged file; the same number always gives the same file")
    parser.add_argument("--kills", type=int, default=200, help="kills per writer; each command gets half as many (default: %(default)s)")
    parser.add_argument("--mutants", type=int, default=0, help="mutations per folder (default: all known ones)")
    parser.add_argument("--only", nargs="+", choices=list(PARTS), default=list(PARTS), help="run only these parts")
    parser.add_argument("--jobs", type=int, default=2, help="how many parts run at the same time, on one core each (default: %(default)s)")
    parser.add_argument("--record", action="store_true", help="write the results to docs/reliability.md")
    args = parser.parse_args()
    began, rows = time.monotonic(), dict[str, list[Row]]()
    try:
        with ThreadPoolExecutor(args.jobs) as pool:
            waiting = {pool.submit(run_part, name, args): name for name in PARTS if name in args.only}
            try:
                for done in as_completed(waiting):
                    rows[waiting[done]] = done.result()
                    tell(waiting[done], done.result())
            except KeyboardInterrupt:
                for left in waiting:
                    left.cancel()
                raise
    finally:
        found = [row for name in PARTS for row in rows.get(name, [])]
        missing = [name for name in PARTS if name in args.only and name not in rows]
        found += [Row(name, name, "", "interrupted", False) for name in missing]
        print(table(found), flush=True)
        print(f"{sum(row.good for row in found)} of {len(found)} rows held, {time.monotonic() - began:.0f} s", flush=True)
    if args.record:
        document.record(rows)
    return int(not all(row.good for row in found))


def run_part(name: str, args: argparse.Namespace) -> list[Row]:
    """Return the rows of a part; a part that cannot run counts as failed, and the others continue."""
    print(f"{name} …", flush=True)
    began = time.monotonic()
    try:
        rows = PARTS[name](args)
    except Exception as error:
        said = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        rows = [Row(key, key, "", said, False) for key in ([f"kill {one}" for one in KILLED] if name == "kills" else [name])]
    rows[-1].seconds = time.monotonic() - began
    return rows


def tell(name: str, rows: list[Row]) -> None:
    """Print the rows of a part as soon as they are known."""
    lines = [f"{name}:", *(f"    {row.fault}: {row.times}: {row.result}" for row in rows)]
    print("\n".join([*lines, *(f"        {detail}" for row in rows for detail in row.details)]), flush=True)


def table(rows: list[Row]) -> str:
    head = ("fault", "how often", "result", "seconds")
    lines = [head, *((row.fault, row.times, row.result, f"{row.seconds:.0f}" if row.seconds else "") for row in rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(3)]
    marks = ["", *("ok   " if row.good else "FAIL " for row in rows)]
    width = max(map(len, marks))
    text = ["".join((mark.ljust(width), *(line[at].ljust(widths[at] + 2) for at in range(3)), line[3])) for mark, line in zip(marks, lines)]
    return "\n".join(line.rstrip() for line in text)


if __name__ == "__main__":
    sys.exit(main())
