from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from fsnn_lava.backends.availability import missing_for_backend
from fsnn_lava.backends.lava import requirement
from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.errors import BackendMissing


def test_a_missing_lava_is_reported_with_what_to_install(monkeypatch):
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    sentence = r"needs lava-nc 0\.10\.0, which cannot be imported here \(No module named .*\); run fsnn-doctor --install-lava, or .*'emu'"
    with pytest.raises(BackendMissing, match=sentence) as caught:
        require_lava()
    assert caught.value.exit_code == 3


@pytest.mark.parametrize("version", [(3, 10, 13), (3, 11, 7), (3, 12, 1), (3, 13, 0)])
def test_every_supported_python_gets_the_one_command_that_installs_lava(monkeypatch, capsys, version):
    monkeypatch.setattr(sys, "version_info", version)
    monkeypatch.setattr(requirement, "has_required_lava_part", lambda name: False)
    assert fsnn_run(["--backend", "sim"]) == 3
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "backend 'sim' cannot run here; missing: lava-nc 0.10.0 (fsnn-doctor --install-lava installs it)." in said


def test_lava_without_what_it_imports_gets_the_same_command(monkeypatch):
    monkeypatch.setattr(requirement, "has_required_lava_part", lambda name: True)
    monkeypatch.setattr(requirement.importlib.util, "find_spec", lambda name: None if name == "asteval" else name)
    assert "the package asteval, which Lava imports (fsnn-doctor --install-lava installs what it needs)" in missing_for_backend("sim")


def test_a_python_that_lava_was_not_tested_on_is_named(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 14, 0))
    assert "Python 3.10 to 3.13 (Lava was not tested on 3.14)" in missing_for_backend("sim")


def test_another_system_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BackendMissing, match=r"missing: Linux \(Lava forks its processes; this is darwin\)"):
        require_lava()


def test_the_package_itself_imports_no_lava():
    modules = "fsnn_lava, fsnn_lava.running.run, fsnn_lava.backends.lava, fsnn_lava.ir.stock_network"
    code = f"import sys, {modules}; sys.exit(any(name.split('.')[0] == 'lava' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
