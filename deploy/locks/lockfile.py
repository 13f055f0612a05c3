"""Lock files: what they pin and what setup.cfg requires.

Lava has its own files, because no resolver accepts it on Python above 3.10, and so have the frameworks that the tests import networks from,
because they are installed without their dependencies.
"""

from __future__ import annotations

import configparser
import re
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import Marker, default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
LAVA = tuple(ROOT / "fsnn_lava" / "backends" / "lava" / "pins" / f"{name}.txt" for name in ("lava-nc", "lava-dl"))
PEERS = FOLDER / "peers.txt"


@dataclass(frozen=True)
class Pin:
    """One package in a lock file: exactly this version, in one of the files with these SHA-256 hashes, where `marker` holds."""

    name: str
    version: Version
    hashes: tuple[str, ...]
    marker: Marker | None = None


def lock_path(python: str) -> Path:
    return FOLDER / f"python{python}.txt"


def read_lock(path: Path) -> dict[str, Pin]:
    """Return every pin in a lock file by name; a ValueError names a line that is not a pin with hashes."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    pins = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        found = re.fullmatch(r"([a-z0-9-]+)==([^\s;]+)(?:;([^-]+))?((?:\s+--hash=sha256:[0-9a-f]{64})+)", line)
        if found is None:
            raise ValueError(f"{path.name}: not a pinned version with hashes: {line[:120]}")
        marker = None if found[3] is None else Marker(found[3])
        pins[found[1]] = Pin(found[1], Version(found[2]), tuple(re.findall(r"[0-9a-f]{64}", found[4])), marker)
    return pins


def read_everything(python: str) -> dict[str, Pin]:
    """Return everything in a test environment of that Python: the lock file, and what is installed separately."""
    pins = read_lock(lock_path(python))
    for path in (*LAVA, PEERS):
        pins = {**read_lock(path), **pins}
    return {name: pin for name, pin in sorted(pins.items()) if pin.marker is None or pin.marker.evaluate(_environment(python))}


def requirements(python: str, *extras: str) -> list[Requirement]:
    """Return what setup.cfg requires on that Python, on Linux."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    texts = [config["options"]["install_requires"], *(config["options.extras_require"][extra] for extra in extras)]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    asked = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return [one for one in asked if one.marker is None or one.marker.evaluate(_environment(python))]


def _environment(python: str) -> dict[str, str]:
    """What markers refer to, on that Python and Linux."""
    known = {name: str(value) for name, value in default_environment().items()}
    return {**known, "python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}


def unmet(python: str) -> list[str]:
    """Return the requirements of setup.cfg that the lock file does not meet, as messages."""
    pins = read_lock(lock_path(python))
    found = []
    for one in requirements(python, "test"):
        pin = pins.get(canonicalize_name(one.name))
        if pin is None or not one.specifier.contains(pin.version):
            found.append(f"Python {python}: {one} is required, but the lock file has {pin.version if pin else 'no version of it'}")
    return found
