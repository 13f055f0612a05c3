"""make audit: are there known advisories about what the locks pin, and what do they mean here?

Without the internet the locks are compared with advisories.toml, which is dated and not complete. With it (and uv) pip-audit is asked too.
Exit code 1 if a pinned version is affected by an advisory that has no answer, or if pip-audit knows one that the list does not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from packaging.specifiers import SpecifierSet

from deploy.locks.lockfile import FOLDER, PYTHONS, lock_path, read_everything

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ADVISORIES = FOLDER / "advisories.toml"


def advisories() -> tuple[str, list[dict[str, Any]]]:
    """The date of the list, and the list."""
    content = tomllib.loads(ADVISORIES.read_text())
    return str(content["date"]), content["advisory"]


def affected(python: str) -> list[dict[str, Any]]:
    """The advisories of the list that hit a version which is installed on that Python."""
    pins = read_everything(python)
    hits = []
    for advisory in advisories()[1]:
        pin = pins.get(advisory["package"])
        if pin is not None and SpecifierSet(advisory["affected"], prereleases=True).contains(pin.version):
            hits.append({**advisory, "version": str(pin.version)})
    return hits


def ask_pip_audit(python: str) -> list[tuple[str, str, set[str]]] | None:
    """What pip-audit knows about the lock: package, version, ids. None if it cannot run, or cannot reach what it asks."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    command = [uv, "tool", "run", "pip-audit", "-r", str(lock_path(python)), "--disable-pip", "--require-hashes", "-f", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        found = json.loads(done.stdout)["dependencies"]
    except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError):
        return None
    answered = [one for one in found if "skip_reason" not in one]
    if not answered:  # out of reach, pip-audit skips every package and calls that success
        return None
    return [(one["name"], one["version"], {entry["id"], *entry["aliases"]}) for one in answered for entry in one["vulns"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="only the list that is kept here")
    args = parser.parse_args()
    date, listed = advisories()
    known = {identity for advisory in listed for identity in advisory["ids"]}
    open_questions = 0
    for python in PYTHONS:
        hits = affected(python)
        print(f"Python {python}: {len(read_everything(python))} packages, {len(hits)} advisories of {date} hit them")
        for hit in hits:
            open_questions += not hit.get("answer")
            print(f"  {hit['package']} {hit['version']}  {hit['ids'][0]}  {hit['what']}\n      {hit.get('answer') or 'NO ANSWER'}")
        news = None if args.offline else ask_pip_audit(python)
        if news is None:
            print("  pip-audit was not asked, or could not reach its database: the list above is not complete")
            continue
        for name, version, ids in news:
            if not ids & known:
                open_questions += 1
                print(f"  {name} {version}  {', '.join(sorted(ids))}: known to pip-audit, not in the list: NO ANSWER")
    print(f"{open_questions} without an answer")
    return int(open_questions > 0)


if __name__ == "__main__":
    sys.exit(main())
