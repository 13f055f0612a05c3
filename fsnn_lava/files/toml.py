"""Read untrusted TOML files: their size is limited, and every error becomes one sentence."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from fsnn_lava.errors import BadFile

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

BYTES_MAX = 2**16  # several times the size of any real file; limited because parsing time grows faster than linearly


def read_toml(path: Path, *, what: str) -> dict[str, Any]:
    """Read the document in a TOML file; error messages call it `what` ("recipe", "board file")."""
    try:
        with path.open("rb") as stream:
            content = stream.read(BYTES_MAX + 1)
        text = content.decode("utf-8")
    except OSError as error:
        raise BadFile(f"cannot read the {what} {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise BadFile(f"{path} is not a {what}: not a text file ({error.reason} at byte {error.start})") from error
    if len(content) > BYTES_MAX:
        raise BadFile(f"{path} is not a {what}: it must have at most {BYTES_MAX} bytes")
    return parse_toml(text, where=str(path))


def parse_toml(text: str, *, where: str) -> dict[str, Any]:
    """Parse TOML text; error messages call it `where`."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # also raised for numbers with thousands of digits and for deeply nested brackets
        raise BadFile(f"{where} is not a TOML file: {str(error)[:200]}") from error
