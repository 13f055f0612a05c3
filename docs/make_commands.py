"""Write docs/commands.md from the parsers themselves; `--check` only says whether it is up to date."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path

from fsnn_lava.cli.main import COMMANDS

PAGE = Path(__file__).parent / "commands.md"
HEAD = """# Commands

Made by `docs/make_commands.py` from the commands' own parsers.

`fsnn COMMAND …`, `fsnn-COMMAND …` and `python -m fsnn_lava COMMAND …` are the same. Every command knows `--help` and `--version`.
`eval "$(fsnn --completion bash)"` in `~/.bashrc` completes commands, options and values; `--completion` also knows zsh and fish.

Exit codes: 0 done and verified · 1 ran, but is not faithful or misses a threshold · 2 bad input or usage, one line on stderr ·
3 that backend cannot run here · 130 interrupted, nothing left running.
"""


def page() -> str:
    parts = [HEAD]
    for name in COMMANDS:
        parser = importlib.import_module(f"fsnn_lava.cli.parsers.{name}").parser()
        rows = [
            f"| `{', '.join(action.option_strings) or action.dest}{_metavar(action)}` | {_help(action)} |"
            for action in parser._actions
            if action.help != "==SUPPRESS==" and action.dest not in ("help", "version")
        ]
        parts.append(f"## {parser.prog}\n\n{parser.description}\n\n| argument | meaning |\n|---|---|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


def _help(action) -> str:  # type: ignore[no-untyped-def]
    return (action.help or "").replace("%(default)s", str(action.default)).replace("|", "/").replace("<", "&lt;")


def _metavar(action) -> str:  # type: ignore[no-untyped-def]
    if not action.option_strings or action.nargs == 0:
        return ""
    if action.choices:
        return " " + "/".join(map(str, action.choices))
    return f" {action.metavar or action.dest.upper()}"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(0 if PAGE.exists() and PAGE.read_text() == page() else "docs/commands.md is out of date: python docs/make_commands.py")
    PAGE.write_text(page())
