from __future__ import annotations

import importlib
import subprocess
import sys

import pytest

from fsnn_lava.backends.lava.requirement import require_lava
from fsnn_lava.errors import BackendMissing


def test_a_missing_lava_is_a_sentence_with_what_to_install(monkeypatch):
    def missing(name: str) -> None:
        raise ImportError(f"No module named {name!r}")

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(
        BackendMissing, match=r"needs lava-nc 0.10 on Python 3.10.*No module named.*install fsnn-lava\[lava\].*'emu'"
    ) as caught:
        require_lava()
    assert caught.value.exit_code == 3


def test_another_system_is_refused(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(BackendMissing, match=r"need Linux \(fork\), this is darwin"):
        require_lava()


def test_the_package_itself_imports_no_lava():
    modules = "fsnn_lava, fsnn_lava.running.run, fsnn_lava.backends.lava, fsnn_lava.ir.stock_network"
    code = f"import sys, {modules}; sys.exit(any(name.split('.')[0] == 'lava' for name in sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
