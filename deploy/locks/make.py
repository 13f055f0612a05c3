"""make lock: write lock files with hashes for every supported Python, the licences of the pinned packages, and bills of materials.

Resolving needs uv (`pip install uv`) and the package index that uv is configured to use, which is not named in the files.
python deploy/locks/make.py --offline keeps the lock files and rewrites only the licences and bills of materials.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent.parent))

from deploy.locks.lockfile import FOLDER, PYTHONS, ROOT, Pin, lock_path, read_everything, unmet

LICENCES, BILL = FOLDER / "licences.json", "sbom-python{}.json"
UNKNOWN = "not declared"


def resolve(python: str) -> None:
    """Write a new lock file for Linux on x86-64 with the newest versions that are compatible with each other."""
    uv = shutil.which("uv") or str(Path(sys.executable).with_name("uv"))
    command = [uv, "pip", "compile", "setup.cfg", "--extra", "test", "--python-version", python, "--generate-hashes", "--quiet"]
    command += ["--python-platform", "x86_64-unknown-linux-gnu", "--no-emit-index-url", "--no-annotate", "--upgrade"]
    command += ["--custom-compile-command", "make lock", "--output-file", str(lock_path(python))]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    if "://" in lock_path(python).read_text():
        raise SystemExit(f"{lock_path(python).name} names a host, which a lock file must not do")


def licence(name: str) -> str:
    """Return the licence that the installed package declares, in a few words."""
    try:
        found = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    expression, text = found.get("License-Expression"), (found.get("License") or "").strip()
    classified = [entry.split(" :: ")[-1] for entry in found.get_all("Classifier") or [] if entry.startswith("License :: ")]
    short = text.splitlines()[0] if text and len(text.splitlines()[0]) <= 60 else ""
    return expression or (", ".join(c for c in classified if c != "OSI Approved") or short) or UNKNOWN


def licences(names: set[str]) -> dict[str, str]:
    """Return each package's licence: the one it declares if it is installed, otherwise the one recorded earlier on another Python."""
    known = json.loads(LICENCES.read_text()) if LICENCES.exists() else {}
    return {name: licence(name) or known.get(name, UNKNOWN) for name in sorted(names)}


def bill_of_materials(python: str, pins: dict[str, Pin], found: dict[str, str]) -> dict[str, object]:
    """Return the bill of materials (CycloneDX 1.5); the same lock file always gives the same one."""
    version = re.search(r'__version__ = "([^"]+)"', (ROOT / "fsnn_lava/version.py").read_text())
    product = {"type": "library", "bom-ref": "fsnn-lava", "name": "fsnn-lava", "version": version[1] if version else "0"}
    components = [
        {
            "type": "library",
            "bom-ref": f"pkg:pypi/{pin.name}@{pin.version}",
            "name": pin.name,
            "version": str(pin.version),
            "purl": f"pkg:pypi/{pin.name}@{pin.version}",
            "licenses": [{"license": {"name": found[pin.name]}}],
        }
        for pin in pins.values()
    ]
    properties = [{"name": "python", "value": python}, {"name": "lock", "value": lock_path(python).name}]
    head = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1}
    return {**head, "metadata": {"component": product, "properties": properties}, "components": components}


def write_json(path: Path, content: object) -> None:
    path.write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def main() -> int:
    parser = argparse.ArgumentParser(description="Write lock files, licences and bills of materials.")
    parser.add_argument("--offline", action="store_true", help="keep the lock files; rewrite only the licences and bills of materials")
    if not parser.parse_args().offline:
        for python in PYTHONS:
            resolve(python)
    locks = {python: read_everything(python) for python in PYTHONS}
    found = licences({name for pins in locks.values() for name in pins})
    write_json(LICENCES, found)
    for python, pins in locks.items():
        write_json(FOLDER / BILL.format(python), bill_of_materials(python, pins, found))
        print(f"Python {python}: {len(pins)} packages")
    missing = [line for python in PYTHONS for line in unmet(python)]
    print("\n".join(missing) or "the lock files meet every requirement of setup.cfg")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
