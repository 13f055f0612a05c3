"""python docs/make_imports.py: draw docs/pictures/imports.svg, which shows which folder imports which, from the source (read by grimp).

Rows import columns, and each number counts the importing modules. Folders are in the order of the contract in setup.cfg, so
everything is below the diagonal except for the delegating methods that the contract names.
"""

from __future__ import annotations

import configparser
from collections import Counter
from pathlib import Path

import grimp

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "imports.svg"
CELL, LEFT, TOP = 34, 120, 96


def folders() -> list[str]:
    """Return the folders and top-level modules of the library, starting with the one that imports no other."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    layers = config["importlinter:contract:pipeline"]["layers"].split()
    return [layer.partition(".")[2] for layer in reversed(layers)]


def counts() -> Counter[tuple[str, str]]:
    """Return how many modules of one folder import from another."""
    graph = grimp.build_graph("fsnn_lava")
    found: set[tuple[str, str]] = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            found.add((module, _folder(imported)))
    return Counter((_folder(module), folder) for module, folder in found if _folder(module) != folder)


def _folder(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def draw(names: list[str], found: Counter[tuple[str, str]]) -> str:
    """Return the matrix as SVG."""
    side = CELL * len(names)
    box = f"0 0 {LEFT + side + 10} {TOP + side + 10}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" font-family="sans-serif" font-size="12">',
        "<title>Which folder imports which</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
    ]
    for i, name in enumerate(names):
        y, x = TOP + i * CELL, LEFT + i * CELL
        parts.append(f'<text x="{LEFT - 8}" y="{y + 21}" text-anchor="end">{name}</text>')
        parts.append(f'<text transform="translate({x + 21},{TOP - 8}) rotate(-60)">{name}</text>')
        parts.append(f'<rect x="{x}" y="{y}" width="{CELL}" height="{CELL}" fill="#d9dee3"/>')
    for (importer, imported), number in sorted(found.items()):
        if importer not in names or imported not in names:
            continue
        row, column = names.index(importer), names.index(imported)
        x, y = LEFT + column * CELL, TOP + row * CELL
        colour = "#3b6ea8" if column < row else "#c2571a"
        parts.append(f'<rect x="{x + 2}" y="{y + 2}" width="{CELL - 4}" height="{CELL - 4}" rx="3" fill="{colour}"/>')
        parts.append(f'<text x="{x + CELL / 2:g}" y="{y + 21}" text-anchor="middle" fill="#ffffff">{number}</text>')
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(draw(folders(), counts()), encoding="utf-8")
    print(f"wrote {PICTURE.relative_to(ROOT)}")
