"""Lock files: which there are, what they pin, and what setup.cfg asks for. Lava has files of its own: no resolver admits it above 3.10."""

from __future__ import annotations

import configparser
import re
from dataclasses import dataclass
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
LAVA = tuple(ROOT / "fsnn_lava" / "backends" / "lava" / "pins" / f"{name}.txt" for name in ("lava-nc", "lava-dl"))


@dataclass(frozen=True)
class Pin:
    """One package of a lock: exactly this version, in one of the files with these SHA-256 sums."""

    name: str
    version: Version
    hashes: tuple[str, ...]


def lock_path(python: str) -> Path:
    return FOLDER / f"python{python}.txt"


def read_lock(path: Path) -> dict[str, Pin]:
    """Every pin of a lock file by its name; ValueError names a line that is not a pin with hashes."""
    text = re.sub(r"^\s*#.*\n", "", path.read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    pins = {}
    for line in filter(None, (line.strip() for line in text.splitlines())):
        found = re.fullmatch(r"([a-z0-9-]+)==([^\s;]+)((?:\s+--hash=sha256:[0-9a-f]{64})+)", line)
        if found is None:
            raise ValueError(f"{path.name}: not a pinned version with hashes: {line[:120]}")
        pins[found[1]] = Pin(found[1], Version(found[2]), tuple(re.findall(r"[0-9a-f]{64}", found[3])))
    return pins


def read_everything(python: str) -> dict[str, Pin]:
    """What an environment with the tests holds on that Python: the lock, and Lava, which is installed beside it."""
    pins = read_lock(lock_path(python))
    for path in LAVA:
        pins = {**read_lock(path), **pins}
    return dict(sorted(pins.items()))


def requirements(python: str, *extras: str) -> list[Requirement]:
    """What setup.cfg asks for on that Python, on Linux."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    texts = [config["options"]["install_requires"], *(config["options.extras_require"][extra] for extra in extras)]
    lines = [line.strip() for text in texts for line in text.splitlines()]
    asked = [Requirement(line) for line in lines if line and not line.startswith("#")]
    environment = {**default_environment(), "python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    return [one for one in asked if one.marker is None or one.marker.evaluate({**environment})]


def unmet(python: str) -> list[str]:
    """Requirements of setup.cfg that the lock does not meet; an empty list if installing from the lock is enough."""
    pins = read_lock(lock_path(python))
    found = []
    for one in requirements(python, "test"):
        pin = pins.get(canonicalize_name(one.name))
        if pin is None or not one.specifier.contains(pin.version):
            found.append(f"Python {python}: {one} is asked for, the lock has {pin.version if pin else 'nothing'}")
    return found
