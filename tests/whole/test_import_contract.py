"""The import contract in setup.cfg holds, and it fails for an import against the order of the folders."""

from __future__ import annotations

import configparser
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("importlinter", reason="import-linter is not installed")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def copy(tmp_path):
    """Copy the library's source and the contract; none of it is executed."""
    for source in (ROOT / "fsnn_lava").rglob("*.py"):
        target = tmp_path / source.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)
    shutil.copy(ROOT / "setup.cfg", tmp_path)
    return tmp_path


def lint(folder):
    command = [sys.executable, str(ROOT / ".ci" / "check_imports.py")]
    return subprocess.run(command, cwd=folder, env={"PYTHONPATH": str(folder)}, capture_output=True, text=True, timeout=120, check=False)


def test_every_folder_imports_only_folders_before_it(copy):
    done = lint(copy)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 kept, 0 broken" in done.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("solvers/damped.py", "import fsnn_lava.nn.fsnn\n"),
        ("nn/neurons.py", "def save():\n    from fsnn_lava.formats import model\n\n    return model\n"),  # lazy imports count
    ],
)
def test_an_import_of_a_later_folder_breaks_the_contract(copy, module, line):
    path = copy / "fsnn_lava" / module
    path.write_text(path.read_text() + "\n\n" + line)
    done = lint(copy)
    assert done.returncode == 1
    assert "0 kept, 1 broken" in done.stdout
    assert "fsnn_lava." + module.removesuffix(".py").replace("/", ".") in done.stdout


def test_the_contract_names_every_folder_and_file_of_the_library():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    named = {layer.partition(".")[2] for layer in config["importlinter:contract:pipeline"]["layers"].split()}
    found = {path.stem for path in (ROOT / "fsnn_lava").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert named == found - {"__init__"}


def test_the_picture_of_the_imports_is_up_to_date():
    script = runpy.run_path(str(ROOT / "docs" / "make_imports.py"))
    assert script["draw"](script["folders"](), script["counts"]()) == script["PICTURE"].read_text(encoding="utf-8")
