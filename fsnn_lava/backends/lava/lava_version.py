"""Look up versions of Lava: the pinned one that we install, and the installed one. Lava is not imported here."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from pathlib import Path

PINS = Path(__file__).parent / "pins" / "lava-nc.txt"


def pinned_lava_version() -> tuple[str, str]:
    """Return the name and version of the Lava that `install_lava` installs: ("lava-nc", "0.10.0")."""
    line = next(line for line in PINS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    name, _, version = line.split()[0].partition("==")
    return name, version


def installed_lava_version() -> str | None:
    """Return the version of Lava that is installed in this environment, or None."""
    try:
        return importlib.metadata.version(pinned_lava_version()[0])
    except importlib.metadata.PackageNotFoundError:
        return None
