"""The recipes that come with the package, by name: those in the folder train/."""

from __future__ import annotations

import difflib
import json
import re
from pathlib import Path

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.files.toml import read_toml

FOLDER = Path(__file__).parent / "recipes"
SHOWN = ("data", "architecture", "neuron", "steps", "epochs")
ARCHITECTURE_WIDTH = 32


def shipped_recipes() -> dict[str, Path]:
    """Return the files of the shipped recipes by name."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml"))}


def find_recipe(name_or_path: str | Path) -> Path:
    """Return the file of a recipe, given its path or the name of a shipped recipe."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    names = shipped_recipes()
    if str(name_or_path) in names:
        return names[str(name_or_path)]
    close = difflib.get_close_matches(path.stem, names, n=1)
    hint = f"; did you mean {close[0]}?" if close else "; fsnn train --list lists them all"
    raise BadFile(f"there is no file {path} and no shipped recipe of that name{hint}")


def recipe_table() -> str:
    """Return a table of the shipped recipes, one line each."""
    rows: list[tuple[str, ...]] = [("recipe", "data", "architecture", "neuron", "T", "epochs")]
    for name, path in shipped_recipes().items():
        values = read_toml(path, what="recipe")
        values.setdefault("architecture", "graph")
        rows.append((name, *(_shortened(str(values.get(key, ""))) for key in SHOWN)))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows)


def _shortened(text: str) -> str:
    return text if len(text) <= ARCHITECTURE_WIDTH else f"{text[: ARCHITECTURE_WIDTH - 1]}…"


def copy_shipped_recipe(target: Path, source: Path, *, data: str | None = None) -> None:
    """Copy a shipped recipe, comments included, to a new file; `data` replaces its data set."""
    if target.exists():
        raise BadArgument(f"{target} already exists; choose another name")
    text = source.read_text(encoding="utf-8")
    if data is not None:
        line = f"data = {json.dumps(data, ensure_ascii=False)}"
        text = re.sub(r"(?m)^data = .*$", lambda _: line, text, count=1)
    keys = 'The keys are explained under "Recipes and results" in the documentation; a run writes all of them to recipe.toml.'
    with atomic_path(target) as temporary:
        temporary.write_text(f"# Copied from the recipe {source.stem}. {keys}\n{text}", encoding="utf-8")
