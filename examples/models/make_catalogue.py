"""python examples/models/make_catalogue.py: write fsnn_lava/models/catalogue.toml, the hashes of the trained networks in this folder."""

from __future__ import annotations

import hashlib
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


if __name__ == "__main__":
    CATALOGUE.write_text(catalogue(), encoding="utf-8")
