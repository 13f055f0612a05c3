"""The names of `import fsnn_lava as fl`: visible to type checkers, loaded on first use, and typed without a gap."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fsnn_lava as fl
from fsnn_lava import errors
from tests import typed_client

ROOT = Path(__file__).parents[2]
CLIENT = ROOT / "tests" / "typed_client.py"


def static_imports() -> dict[str, str]:
    """Name -> module of the imports that only a type checker sees."""
    tree = ast.parse((ROOT / "fsnn_lava" / "__init__.py").read_text(encoding="utf-8"))
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    found = {}
    for line in guarded.body:
        assert isinstance(line, ast.ImportFrom) and line.module is not None
        for alias in line.names:
            assert alias.asname == alias.name, f"{alias.name} must be imported as itself, or it is private to a type checker"
            found[alias.name] = line.module.removeprefix("fsnn_lava.")
    return found


def test_type_checkers_see_the_names_that_are_loaded():
    assert static_imports() == {**fl._MODULES, **dict.fromkeys(fl._FOLDERS, "fsnn_lava")}


def test_a_public_name_is_loaded_from_the_module_that_defines_it():
    for name, module in fl._MODULES.items():
        assert getattr(fl, name).__module__ == f"fsnn_lava.{module}"
    assert set(dir(fl)) == set(fl.__all__)
    with pytest.raises(AttributeError, match="module 'fsnn_lava' has no attribute 'quantize'"):
        fl.quantize  # noqa: B018


def test_every_error_is_public():
    own = {name for name, value in vars(errors).items() if inspect.isclass(value) and value.__module__ == errors.__name__}
    assert own <= set(fl.__all__)


def test_the_import_loads_neither_torch_nor_numpy():
    heavy = "{'torch', 'numpy', 'h5py', 'numba', 'lava', 'matplotlib'}"
    script = f"import sys, fsnn_lava; print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


def test_the_typed_client_runs_and_uses_every_public_name(tmp_path):
    assert typed_client.main(tmp_path).passed
    used = set(re.findall(r"\bfl\.(\w+)", CLIENT.read_text(encoding="utf-8")))
    assert used == set(fl.__all__)


def strict(path: Path) -> tuple[int, str]:
    """Run mypy --strict on one file and what it sees of the library. The cache is kept, because reading torch takes long."""
    options = ["--strict", "--follow-imports=silent", "--config-file=", "--ignore-missing-imports", "--cache-dir=.mypy_cache/typed_client"]
    done = subprocess.run([sys.executable, "-m", "mypy", *options, str(path)], cwd=ROOT, capture_output=True, text=True, timeout=800)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.timeout(900)
def test_mypy_strict_accepts_the_typed_client_and_notices_mistakes(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")
    assert strict(CLIENT) == (0, "Success: no issues found in 1 source file\n")
    wrong = tmp_path / "wrong_client.py"
    wrong.write_text(
        "import fsnn_lava as fl\n"
        "chip = fl.ChipNetwork.load(3)\n"  # line 2: not a path
        "fl.run(chip, chip)\n"  # line 3: not an array
        "fl.quantise(chip)\n"  # line 4: not a float network
        "fl.quantize\n"  # line 5: no such name
        "fl.Thresholds(0.1)\n"  # line 6: keyword-only
    )
    code, said = strict(wrong)
    assert code == 1
    assert sorted(set(re.findall(r"wrong_client\.py:(\d+): error", said))) == ["2", "3", "4", "5", "6"], said
