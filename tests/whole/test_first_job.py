"""The transcript of a first job in deploy/README.md is what the commands print on a machine without a board."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers.document_shell import LAVA, blocks

ROOT = Path(__file__).parents[2]
CODES = [0, 0, 3, 3]  # as the guide says


def transcript() -> list[tuple[str, list[str]]]:
    """Every command of the guide's first transcript, and the lines that follow it."""
    (body,) = (block.body for block in blocks(ROOT / "deploy" / "README.md") if block.body.startswith("$ fsnn-map digits"))
    found: list[tuple[str, list[str]]] = []
    for line in body.strip().splitlines():
        if line.startswith("$ "):
            found.append((line.removeprefix("$ "), []))
        else:
            found[-1][1].append(line)
    return found


def pattern(lines: list[str]) -> str:
    """… stands for anything, and every Python is the same."""
    text = re.sub(r"3\.\d+\.\d+", "PYTHON", "\n".join(lines).strip())
    return re.escape(text).replace("…", ".*")


@pytest.mark.skipif(not LAVA, reason="without Lava more is missing than the guide shows")
def test_a_first_job_prints_what_the_guide_shows(tmp_path):
    """As on a new machine: the commands are programs, and a board is neither on this machine nor in a queue."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("map", "run"):
        (programs / f"fsnn-{name}").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m fsnn_lava.cli.{name} "$@"\n')
        (programs / f"fsnn-{name}").chmod(0o755)
    clean = {name: value for name, value in os.environ.items() if name not in ("NXSDKHOST", "BOARD", "PARTITION")}
    environment = {**clean, "PATH": f"{programs}:/usr/bin:/bin", "PYTHON": sys.executable, "PYTHONPATH": str(ROOT), "NOSLURM": "1"}
    for (command, lines), code in zip(transcript(), CODES, strict=True):
        done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=280)
        assert done.returncode == code, done.stderr
        printed = re.sub(r"3\.\d+\.\d+", "PYTHON", done.stdout + done.stderr).strip()
        assert re.fullmatch(pattern(lines), printed, re.DOTALL), f"{command}\n{printed}"
