"""make audit: list the known advisories for the versions in the lock files, and what they mean here.

Offline, the lock files are compared with advisories.toml, a snapshot that is not complete. With internet access and uv, pip-audit runs too.
The exit code is 1 if a pinned version is affected by an advisory without an answer, or if pip-audit reports one that is not in the list.
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
    """Return the date of the list, and the list."""
    content = tomllib.loads(ADVISORIES.read_text())
    return str(content["date"]), content["advisory"]


def affected(python: str) -> list[dict[str, Any]]:
    """Return the listed advisories that affect a version installed on that Python."""
    pins = read_everything(python)
    hits = []
    for advisory in advisories()[1]:
        pin = pins.get(advisory["package"])
        if pin is not None and SpecifierSet(advisory["affected"], prereleases=True).contains(pin.version):
            hits.append({**advisory, "version": str(pin.version)})
    return hits


def ask_pip_audit(python: str) -> list[tuple[str, str, set[str]]] | None:
    """Return what pip-audit reports for the lock file (package, version, ids), or None if it cannot run or reach its database."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    command = [uv, "tool", "run", "pip-audit", "-r", str(lock_path(python)), "--disable-pip", "--require-hashes", "-f", "json"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=600)
        found = json.loads(done.stdout)["dependencies"]
    except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError, KeyError):
        return None
    answered = [one for one in found if "skip_reason" not in one]
    if not answered:  # without internet access, pip-audit skips every package and reports success
        return None
    return [(one["name"], one["version"], {entry["id"], *entry["aliases"]}) for one in answered for entry in one["vulns"]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--offline", action="store_true", help="use only the list in the repository")
    args = parser.parse_args()
    date, listed = advisories()
    known = {identity for advisory in listed for identity in advisory["ids"]}
    open_questions = 0
    for python in PYTHONS:
        hits = affected(python)
        print(f"Python {python}: {len(read_everything(python))} packages, affected by {len(hits)} of the advisories listed on {date}")
        for hit in hits:
            open_questions += not hit.get("answer")
            print(f"  {hit['package']} {hit['version']}  {hit['ids'][0]}  {hit['what']}\n      {hit.get('answer') or 'NO ANSWER'}")
        news = None if args.offline else ask_pip_audit(python)
        if news is None:
            print("  pip-audit was not run or could not reach its database, so this list may not be complete")
            continue
        for name, version, ids in news:
            if not ids & known:
                open_questions += 1
                print(f"  {name} {version}  {', '.join(sorted(ids))}: reported by pip-audit, not in the list: NO ANSWER")
    print(f"advisories without an answer: {open_questions}")
    return int(open_questions > 0)


if __name__ == "__main__":
    sys.exit(main())
