"""The name of a data set with its options, as written in a recipe or a command: `tonic:NMNIST,window=3000,frames=30`, `photos/,size=32`."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from fsnn_lava.errors import BadArgument

FRAMES_MAX = 65535
SIDE_MAX = 4096


@dataclass(frozen=True)
class Source:
    """The name of a data set, and its options as they were written."""

    name: str
    options: Mapping[str, str] = field(default_factory=dict)

    @staticmethod
    def parse(text: str) -> Source:
        """Parse `NAME,key=value,…`; a folder or file whose name contains commas is not split."""
        if "," not in text or Path(text).expanduser().exists():
            return Source(text)
        name, *parts = text.split(",")
        options = {}
        for part in parts:
            key, equals, value = part.partition("=")
            if not (equals and key and value):
                raise BadArgument(f"data {text!r}: options after the name must be written key=value, for example frames=30; got {part!r}")
            options[key.strip()] = value.strip()
        return Source(name, options)

    def check_keys(self, known: tuple[str, ...]) -> None:
        """Raise BadArgument if an option is not one of `known`."""
        for key in self.options:
            if key not in known:
                close = difflib.get_close_matches(key, known, n=1)
                hint = f"did you mean {close[0]!r}?" if close else f"known here: {', '.join(known) or 'none'}"
                raise BadArgument(f"data {self.name}: unknown option {key!r}; {hint}")

    def whole(self, key: str, default: int, *, high: int) -> int:
        """Return the option `key`, a whole number from 1 to `high`, or `default` if it is not given."""
        text = self.options.get(key)
        if text is None:
            return default
        if not text.isascii() or not text.isdigit() or not 1 <= int(text[:20]) <= high:
            raise BadArgument(f"data {self.name}: {key} must be a whole number from 1 to {high}, got {text!r}")
        return int(text)

    def choice(self, key: str, choices: tuple[str, ...]) -> str:
        """Return the option `key`, one of `choices`, or the first of them if it is not given."""
        text = self.options.get(key, choices[0])
        if text not in choices:
            raise BadArgument(f"data {self.name}: {key} must be {' or '.join(choices)}, got {text!r}")
        return text

    def sides(self, key: str) -> tuple[int, int] | None:
        """Return the option `key`, a width and a height written as 34 or 346x260, or None if it is not given."""
        text = self.options.get(key)
        if text is None:
            return None
        parts = text.split("x")
        if len(parts) > 2 or not all(part.isascii() and part.isdigit() and 1 <= int(part[:20]) <= SIDE_MAX for part in parts):
            raise BadArgument(f"data {self.name}: {key} must be SIDE or WIDTHxHEIGHT, 1 to {SIDE_MAX} pixels, got {text!r}")
        return int(parts[0]), int(parts[-1])
