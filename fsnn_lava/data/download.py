"""Download a data set and verify its MD5 sum; files appear only once they are complete."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tarfile
import tempfile
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator
from http.client import HTTPException
from pathlib import Path
from typing import IO

from tqdm import tqdm

from fsnn_lava.data.addresses import Resource
from fsnn_lava.data.search_path import default_root
from fsnn_lava.errors import BadData
from fsnn_lava.files.atomic import atomic_path

TIMEOUT_SECONDS = 60
CHUNK = 2**20


def download(resources: tuple[Resource, ...], root: str | Path | None = None) -> Path:
    """Download every file of a data set into `root` (default: $FSNN_DATA or ~/.cache/fsnn-data), and return `root`; nothing is deleted."""
    base = Path(root).expanduser() if root is not None else default_root()
    for resource in resources:
        folder = base / resource.folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _fetch_into(folder, resource)
        except OSError as error:
            raise BadData(f"cannot write into {folder}: {error.strerror or error}") from error
    return base


def _fetch_into(folder: Path, resource: Resource) -> None:
    if not resource.members:
        target = folder / resource.name
        if not (target.is_file() and _md5(target) == resource.md5):
            with atomic_path(target) as temporary:
                _fetch(resource, temporary)
        return
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=folder) as scratch:
        archive = Path(scratch) / resource.name
        _fetch(resource, archive)
        for path in _unpack(archive, resource.members, Path(scratch) / "unpacked"):
            target = folder / path.relative_to(Path(scratch) / "unpacked")
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, target)


def _fetch(resource: Resource, target: Path) -> None:
    """Download from the first address that sends a file with the correct MD5 sum."""
    reasons = []
    for url in resource.urls:
        try:
            _copy(url, target, resource.name)
        except (urllib.error.URLError, HTTPException, TimeoutError, ConnectionError) as error:
            reasons.append(f"{url}: {getattr(error, 'reason', None) or error}")
            continue
        found = _md5(target)
        if found == resource.md5:
            return
        reasons.append(f"{url}: the MD5 sum must be {resource.md5}, got {found}")
    raise BadData(f"cannot download {resource.name} ({'; '.join(reasons)})")


def _copy(url: str, target: Path, label: str) -> None:
    with urllib.request.urlopen(url, timeout=TIMEOUT_SECONDS) as answer, target.open("wb") as file:
        size = int(answer.headers.get("Content-Length") or 0) or None
        with tqdm(total=size, desc=label, unit="B", unit_scale=True, disable=not sys.stderr.isatty(), file=sys.stderr) as bar:
            while chunk := answer.read(CHUNK):
                file.write(chunk)
                bar.update(len(chunk))


def _md5(path: Path) -> str:
    checksum = hashlib.md5(usedforsecurity=False)
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            checksum.update(chunk)
    return checksum.hexdigest()


def _unpack(archive: Path, members: str, target: Path) -> list[Path]:
    """Unpack only those regular files in a downloaded archive whose full names match."""
    paths = []
    for name, stream in _matching(archive, re.compile(members)):
        path = target / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            shutil.copyfileobj(stream, file)
        paths.append(path)
    if not paths:
        raise BadData(f"{archive.name} contains no file that matches {members}")
    return paths


def _matching(archive: Path, pattern: re.Pattern[str]) -> Iterator[tuple[str, IO[bytes]]]:
    if archive.suffix == ".zip":
        with zipfile.ZipFile(archive) as zipped:
            for name in filter(pattern.fullmatch, zipped.namelist()):
                with zipped.open(name) as stream:
                    yield name, stream
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            content = tar.extractfile(member) if member.isreg() and pattern.fullmatch(member.name) else None
            if content is not None:
                yield member.name, content
