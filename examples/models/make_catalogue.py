"""python examples/models/make_catalogue.py: write fsnn_lava/models/catalogue.toml, the hashes of the trained networks in this folder.

It also links their net.h5 into the package, so that the wheel contains them.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

HERE = Path(__file__).parent
CATALOGUE = HERE.parents[1] / "fsnn_lava" / "models" / "catalogue.toml"
FILES = ("net.h5", "model.pt")


def catalogue() -> str:
    parts = ["# Made by examples/models/make_catalogue.py: every trained network, with the size and SHA-256 of its files."]
    for folder in sorted(path.parent for path in HERE.glob("*/net.h5")):
        lines = [f"[{folder.name}]"]
        for name in FILES:
            content = (folder / name).read_bytes()
            lines.append(f'"{name}" = {{ bytes = {len(content)}, sha256 = "{hashlib.sha256(content).hexdigest()}" }}')
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def link_networks() -> None:
    for network in sorted(HERE.glob("*/net.h5")):
        link = CATALOGUE.parent / f"{network.parent.name}.h5"
        if not link.exists():
            link.symlink_to(os.path.relpath(network, link.parent))


if __name__ == "__main__":
    CATALOGUE.write_text(catalogue(), encoding="utf-8")
    link_networks()
