"""fsnn-doctor says what runs here and what the other backends need, and never fails itself."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from fsnn_lava.backends import availability as backends
from fsnn_lava.backends.lava import requirement
from fsnn_lava.cli.doctor import fsnn_doctor
from fsnn_lava.errors import BackendMissing, BadArgument


def test_the_emulator_runs_everywhere_and_the_chip_is_asked_for_by_what_it_lacks(capsys, monkeypatch):
    monkeypatch.delenv("NXSDKHOST", raising=False)
    monkeypatch.setenv("NOSLURM", "1")
    assert fsnn_doctor(["--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["backends"]["emu"] == {"runs": True, "lacks": []}
    assert found["backends"]["loihi2"]["runs"] is False
    assert any("NXSDKHOST" in item for item in found["backends"]["loihi2"]["lacks"])
    assert found["packages"]["numpy"]
    assert found["variables"]["NOSLURM"] == "1"
    assert set(found["data"]) == {"mnist", "fashion-mnist", "cifar10", "cifar100", "nmnist"}


def test_the_text_names_every_backend_and_what_is_missing(capsys, monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 14, 1))
    assert fsnn_doctor([]) == 0
    out = capsys.readouterr().out
    assert "  emu     runs        the emulator" in out
    assert "  sim     cannot run  Lava processes on the CPU" in out
    assert "            lacks Python 3.10 to 3.13 (Lava was not tested on 3.14)" in out


@pytest.fixture
def lava_folder(tmp_path, monkeypatch):
    """A folder in which lava is found first, and whose code must never run."""
    folder = tmp_path / "lava"
    (folder / "magma").mkdir(parents=True)
    (folder / "__init__.py").write_text("raise RuntimeError('lava was imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "lava", raising=False)
    monkeypatch.setattr(sys, "version_info", (3, 13, 0))
    monkeypatch.setattr(requirement, "LAVA_IMPORTS", ())
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(backends.os, "access", lambda *_: True)
    return folder


def test_lava_is_found_without_being_imported(lava_folder):
    assert backends.missing_for_backend("sim") == ()
    (lava_folder / "magma").rmdir()
    assert backends.missing_for_backend("sim") == ("lava-nc 0.10.0 (fsnn-doctor --install-lava installs it)",)


def test_the_chip_needs_the_extension_and_a_way_to_a_board(lava_folder, monkeypatch):
    monkeypatch.setattr(backends.shutil, "which", lambda name: None)
    monkeypatch.delenv("NXSDKHOST", raising=False)
    assert [item.split(" (")[0] for item in backends.missing_for_backend("loihi2")] == ["lava-loihi", "a board"]
    (lava_folder / "utils").mkdir()
    (lava_folder / "utils/loihi2_profiler.py").write_text("")
    assert [item.split(" (")[0] for item in backends.missing_for_backend("loihi2")] == ["a board"]
    monkeypatch.setenv("NXSDKHOST", "board.example")
    assert backends.missing_for_backend("loihi2") == ()


def test_a_queue_that_is_switched_off_does_not_lead_to_a_board(lava_folder, monkeypatch):
    (lava_folder / "utils").mkdir()
    (lava_folder / "utils/loihi2_profiler.py").write_text("")
    monkeypatch.setattr(backends.shutil, "which", lambda name: "/usr/bin/sinfo")
    monkeypatch.delenv("NXSDKHOST", raising=False)
    monkeypatch.delenv("NOSLURM", raising=False)
    assert backends.missing_for_backend("loihi2") == ()
    monkeypatch.setenv("NOSLURM", "1")
    assert len(backends.missing_for_backend("loihi2")) == 1


def test_what_is_required_and_missing_is_reported_in_one_sentence(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    with pytest.raises(BackendMissing, match=r"'sim' cannot run here; missing: Python 3\.10 to 3\.13 .*Run fsnn-doctor") as caught:
        backends.require_backend("sim")
    assert caught.value.exit_code == 3
    backends.require_backend("emu")
    with pytest.raises(BadArgument, match="backend must be one of emu, sim, loihi2, got 'gpu'"):
        backends.require_backend("gpu")


def test_a_wrong_argument_is_refused_without_a_traceback():
    run = subprocess.run([sys.executable, "-m", "fsnn_lava.cli.doctor", "--jsno"], capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "unknown argument --jsno; did you mean --json?" in run.stderr
    assert "Traceback" not in run.stderr
