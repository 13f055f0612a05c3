"""The catalogue of a release's trained networks: the size and hash of their files, and where they can be downloaded."""

from __future__ import annotations

import difflib
import hashlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from fsnn_lava.errors import BadFile
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.files.toml import read_toml

CATALOGUE = Path(__file__).parent / "catalogue.toml"
VARIABLE = "FSNN_MODELS"
ADDRESS = ""  # URL of examples/models of a release; there is no public one yet
SECONDS = 60


@dataclass(frozen=True)
class ShippedFile:
    """One file of a trained network."""

    name: str
    bytes: int
    sha256: str


@lru_cache(maxsize=1)
def catalogue() -> dict[str, tuple[ShippedFile, ...]]:
    """Return the files of every trained network in the catalogue, by name."""
    return {
        name: tuple(ShippedFile(file, about["bytes"], about["sha256"]) for file, about in files.items())
        for name, files in read_toml(CATALOGUE, what="catalogue of networks").items()
    }


def catalogue_names() -> tuple[str, ...]:
    """Return the names of all trained networks in the catalogue of this release, whether or not they are on this machine."""
    return tuple(catalogue())


def download_from_catalogue(name: str, folder: Path, *, here: Mapping[str, Path] | None = None) -> list[Path]:
    """Return a network's catalogued files, after checking their size and hash; those that are missing are downloaded to folder/name.

    Args:
        name: the name of the network.
        folder: where downloads are kept.
        here: files of this network that are on this machine already, by their names.
    """
    here = here or {}
    if name not in catalogue():
        close = difflib.get_close_matches(name, catalogue_names(), n=1)
        hint = f"; did you mean {close[0]}?" if close else f" (available: {', '.join(catalogue_names())})"
        raise BadFile(f"there is no shipped network named {name}{hint}")
    written = []
    for file in catalogue()[name]:
        target = folder / name / file.name
        near = here.get(file.name)
        if near is not None and near.is_file() and _fits(near.read_bytes(), file):
            target = near
        elif not (target.is_file() and _fits(target.read_bytes(), file)):
            content = _fetched(f"{name}/{file.name}", file)
            target.parent.mkdir(parents=True, exist_ok=True)
            with atomic_path(target) as temporary:
                temporary.write_bytes(content)
        written.append(target)
    return written


def _fetched(relative: str, file: ShippedFile) -> bytes:
    base = os.environ.get(VARIABLE) or ADDRESS
    if not base:
        raise BadFile(
            f"cannot get {relative}: the package contains net.h5 of every network and model.pt of digits, and the other "
            f"files have no public address yet; set {VARIABLE} to the folder examples/models of a clone, or to its URL"
        )
    where = f"{base.rstrip('/')}/{relative}"
    try:
        content = _opened(where, file.bytes + 1)
    except (OSError, URLError, ValueError) as error:
        raise BadFile(f"cannot download {where}: {getattr(error, 'reason', None) or getattr(error, 'strerror', None) or error}") from error
    if not _fits(content, file):
        found = hashlib.sha256(content).hexdigest()
        raise BadFile(f"{where} is not the file of this release: its SHA-256 must be {file.sha256}, got {found}")
    return content


def _opened(where: str, most: int) -> bytes:
    if "://" not in where:
        with Path(where).expanduser().open("rb") as stream:
            return stream.read(most)
    with urlopen(where, timeout=SECONDS) as answer:
        content: bytes = answer.read(most)
        return content


def _fits(content: bytes, file: ShippedFile) -> bool:
    return len(content) == file.bytes and hashlib.sha256(content).hexdigest() == file.sha256
