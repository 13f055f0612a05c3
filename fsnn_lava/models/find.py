"""Find trained networks by name: digits comes with the package, the others are in examples/models of the source tree."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.errors import BadFile

PACKAGED = Path(__file__).parent
EXAMPLES = Path(__file__).parents[2] / "examples" / "models"


def shipped_models() -> dict[str, Path]:
    """Network files by name."""
    found = {path.parent.name: path for path in sorted(EXAMPLES.glob("*/net.h5"))}
    return {**{path.stem: path for path in sorted(PACKAGED.glob("*.h5"))}, **found}


def find_model(name_or_path: str | Path) -> Path:
    """The file of a network: a path that exists, else a shipped name."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    names = shipped_models()
    if str(name_or_path) in names:
        return names[str(name_or_path)]
    raise BadFile(f"there is no file {path} and no shipped network of that name (shipped: {', '.join(names) or 'none'})")
