"""Networks that come with the package, found by name."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.errors import BadFile

SHIPPED = Path(__file__).parent / "data"
SUFFIX = ".h5"


def names() -> tuple[str, ...]:
    """Names of the networks that come with the package."""
    return tuple(sorted(path.stem for path in SHIPPED.glob(f"*{SUFFIX}")))


def find(name_or_path: str | Path) -> Path:
    """The file of a network: a path that exists, else a shipped name."""
    path = Path(name_or_path)
    if path.exists():
        return path
    shipped = SHIPPED / f"{name_or_path}{SUFFIX}"
    if str(name_or_path) == path.name and shipped.is_file():
        return shipped
    raise BadFile(f"there is no file {path}, and no network of that name comes with the package ({', '.join(names()) or 'none does'})")
