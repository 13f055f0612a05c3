"""After a kill, on a full disk or without permission to write, either the old or the new file is there, and a message says why."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from fsnn_lava.formats import model, netx
from fsnn_lava.nn.fsnn import FSNN
from tests.helpers.chip_networks import dense_network
from tests.torture.originals import ROOT

WRITES, COMMANDS = 12, 3


@pytest.mark.timeout(1200)
def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one():
    command = [sys.executable, "-m", "tests.torture.kill_cases", str(WRITES), str(COMMANDS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert {name: found["kills"] for name, found in counts.items()} == {
        **dict.fromkeys(("write net.h5", "write model.pt"), WRITES),
        **dict.fromkeys(("fsnn-export", "fsnn-run", "fsnn-train"), COMMANDS),
    }
    assert all(found["during a write"] >= found["held"] for found in counts.values())
    assert sum(found["held"] for found in counts.values()) > WRITES  # two thirds of 2 * WRITES are held


def command(*arguments: str, limit: int | None = None) -> subprocess.CompletedProcess[str]:
    """A command of the package in a process of its own; `limit` is the largest file it may write."""

    def before() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    name, *rest = arguments
    return subprocess.run(
        [sys.executable, "-m", f"fsnn_lava.cli.{name}", *rest], cwd=ROOT, capture_output=True, text=True, preexec_fn=before
    )


def assert_one_sentence(done: subprocess.CompletedProcess[str]) -> None:
    lines = [line for line in done.stderr.splitlines() if " samples" not in line]
    assert done.returncode == 2, done.stderr
    assert len(lines) == 1 and "Traceback" not in done.stderr and "cannot write" in lines[0], done.stderr


@pytest.fixture
def trained(tmp_path: Path) -> Path:
    torch.manual_seed(0)
    net = FSNN("6C3s (F6C3)", input_shape=(1, 8, 8), classes=10, steps=10).eval()
    net.metrics = {"data": "digits"}
    model.write_model(net, tmp_path / "model.pt")
    return tmp_path / "model.pt"


def mounted(folder: Path, options: str) -> None:
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 64 KiB with an old network on it, and nearly no room beside."""
    folder = tmp_path / "small disk"
    folder.mkdir()
    mounted(folder, "size=64k")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def old_network(folder: Path) -> bytes:
    netx.write_netx(dense_network(1), folder / "net.h5")
    return (folder / "net.h5").read_bytes()


def test_export_onto_a_full_disk_keeps_the_old_file(trained, small_disk):
    before = old_network(small_disk)
    assert_one_sentence(command("export", str(trained), str(small_disk / "net.h5"), "--limit", "10"))
    assert (small_disk / "net.h5").read_bytes() == before
    assert [path.name for path in small_disk.iterdir()] == ["net.h5"]


def test_results_onto_a_full_disk_keep_the_old_file(small_disk):
    (small_disk / "results.h5").write_bytes(b"old")
    run = command("run", "digits", "--backend", "emu", "--no-compare", "--limit", "40", "--out", str(small_disk / "results.h5"))
    assert_one_sentence(run)
    assert (small_disk / "results.h5").read_bytes() == b"old"
    assert [path.name for path in small_disk.iterdir()] == ["results.h5"]


def test_a_read_only_folder_is_reported(tmp_path, trained):
    folder = tmp_path / "read only"
    folder.mkdir()
    mounted(folder, "ro")
    try:
        assert os.statvfs(folder).f_flag & os.ST_RDONLY
        assert_one_sentence(command("export", str(trained), str(folder / "net.h5"), "--limit", "10"))
    finally:
        subprocess.run(["umount", str(folder)], check=True)
