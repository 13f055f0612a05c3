"""The name of the machine-code cache depends on everything that is compiled."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fsnn_lava.compiled import compiler
from fsnn_lava.compiled.compiler import PACKAGE, cache_key, compiled
from fsnn_lava.errors import BackendMissing


@pytest.fixture
def package(tmp_path: Path) -> Path:
    shutil.copytree(PACKAGE / "compiled", tmp_path / "compiled", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE / "limits.py", tmp_path)
    return tmp_path


def test_the_key_is_the_content_not_the_place_or_the_time(package: Path) -> None:
    assert cache_key(package) == cache_key()


def test_a_changed_byte_in_any_file_changes_the_key(package: Path) -> None:
    keys = {cache_key(package)}
    files = [*sorted((package / "compiled").rglob("*.py")), package / "limits.py"]
    for number, path in enumerate(files, start=1):
        content = path.read_bytes()
        path.write_bytes(content[:-1] + b" ")
        keys.add(cache_key(package))
        assert len(keys) == number + 1, path
        path.write_bytes(content)


def test_a_new_and_a_renamed_file_change_the_key(package: Path) -> None:
    before = cache_key(package)
    (package / "compiled" / "new.py").write_text("")
    after = cache_key(package)
    (package / "compiled" / "new.py").rename(package / "compiled" / "newer.py")
    assert len({before, after, cache_key(package)}) == 3


@pytest.mark.parametrize("library", ["numba", "llvmlite"])
def test_another_version_of_the_compiler_changes_the_key(library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = cache_key()
    monkeypatch.setattr(getattr(compiler, library), "__version__", "0.0")
    assert cache_key() != before


def test_without_compilation_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler.numba.config, "DISABLE_JIT", 1)
    with pytest.raises(BackendMissing, match=r"NUMBA_DISABLE_JIT is set, .* unset it"):
        compiled(lambda x: x)


def test_every_compiled_function_is_in_the_folder_that_makes_the_key() -> None:
    """Machine code of a file outside of it could be stale."""
    outside = [path for path in PACKAGE.rglob("*.py") if PACKAGE / "compiled" not in path.parents]
    assert [path.name for path in outside if "@compiled" in path.read_text() or "njit" in path.read_text()] == []
