"""The set-up finds an interpreter that really runs, says what is missing, and does its work once. No package is installed here."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TOOLS = ("sh", "dirname", "cat", "cksum", "rm", "mkdir", "cp", "sed", "sort", "grep", "expr", "chmod", "touch", "tr")

# Stands in for a Python: answers the set-up's questions, makes "environments" that are copies of itself, and writes down what it was asked.
STAND_IN = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
    --version) echo Python {version}.9 ;;
    *version_info*) echo {version} ;;
    *ensurepip*) exit {broken} ;;
    '-m venv '*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python" ;;
    '-m pip --version') [ "$0" != "${{0#.venv}}" ] ;;
    '-m pip install'*) exit {pip} ;;
    fail) exit 7 ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    """A folder that can set itself up, with nothing on its path but basic tools."""
    folder = tmp_path / "clone"
    (folder / ".ci").mkdir(parents=True)
    for name in (".ci/with-python", "setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    (folder / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        if found is None:
            pytest.skip(f"the set-up needs the command {tool}, which is not here")
        (folder / "bin" / tool).symlink_to(found)
    return folder


def add_python(clone, name, version, *, broken=0, pip=0):
    path = clone / "bin" / name
    path.write_text(STAND_IN.format(log=clone / "log", version=version, broken=broken, pip=pip))
    path.chmod(0o755)
    return path


def add_shim(clone, name):
    """A name on the path behind which there is no interpreter, as pyenv leaves them."""
    path = clone / "bin" / name
    path.write_text(f"#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n")
    path.chmod(0o755)


def run(clone, *arguments, **variables):
    environment = {"PATH": str(clone / "bin"), "HOME": str(clone), **variables}
    return subprocess.run([clone / ".ci/with-python", *arguments], env=environment, capture_output=True, text=True, check=False)


def asked(clone):
    return (clone / "log").read_text().splitlines()


def test_a_name_that_does_not_run_is_passed_over(clone):
    add_shim(clone, "python3.10")
    add_python(clone, "python3", "3.10")
    found = run(clone, "-m", "job")
    assert (found.returncode, asked(clone)[-1]) == (0, "-m job")
    assert f"setting up .venv with Python 3.10.9 from {clone}/bin/python3" in found.stderr


def test_the_second_time_nothing_is_set_up(clone):
    add_python(clone, "python3.10", "3.10")
    run(clone, "first")
    (clone / "log").unlink()
    found = run(clone, "second")
    assert (found.stderr, asked(clone)) == ("", ["-c ", "second"])


def test_changed_metadata_is_installed_again(clone):
    add_python(clone, "python3.10", "3.10")
    run(clone, "first")
    (clone / "setup.cfg").write_text("# changed")
    (clone / "log").unlink()
    run(clone, "second")
    assert "-m pip install -qq --no-compile -e .[test]" in asked(clone)
    assert not any("venv" in line for line in asked(clone) if line.startswith("-m"))


def test_the_exit_code_of_the_job_is_kept(clone):
    add_python(clone, "python3.10", "3.10")
    assert run(clone, "fail").returncode == 7


def test_an_interrupted_installation_is_done_again(clone):
    add_python(clone, "python3.10", "3.10", pip=1)
    found = run(clone, "job")
    assert found.returncode == 2
    assert "installing failed (above)" in found.stderr
    shutil.rmtree(clone / ".venv")
    add_python(clone, "python3.10", "3.10")
    assert run(clone, "job").returncode == 0


def test_without_a_python_3_10_it_is_said_how_to_get_one(clone):
    add_shim(clone, "python3.10")
    add_python(clone, "python3", "3.12")
    found = run(clone, "job")
    assert found.returncode == 2
    assert "no Python 3.10 runs here" in found.stderr
    assert "uv python install 3.10" in found.stderr
    assert "make test PYTHON=python3.11" in found.stderr


def test_the_demo_takes_a_newer_python_and_says_so_first_and_last(clone):
    add_python(clone, "python3", "3.14")
    lines = run(clone, "--any", "job").stderr.splitlines()
    assert "the Lava part is left out" in lines[0]
    assert lines[0] == lines[-1]
    assert (clone / ".venv-3.14/.installed").is_file()
    assert "-m pip install -qq --no-compile torch==2.13.0" in asked(clone)


def test_a_python_that_cannot_make_environments_is_named(clone):
    add_python(clone, "python3.10", "3.10", broken=1)
    found = run(clone, "job")
    assert found.returncode == 2
    assert "bin/python3.10 is a Python 3.10, but it lacks venv, ensurepip, ssl or ctypes" in found.stderr


def test_a_named_python_has_an_environment_of_its_own(clone):
    add_python(clone, "python3.10", "3.10")
    add_python(clone, "mine", "3.13")
    run(clone, "job", PYTHON="mine")
    assert (clone / ".venv-3.13/bin/python").is_file()
    assert not (clone / ".venv").exists()
    assert run(clone, "job", PYTHON="absent").returncode == 2


def test_an_old_python_is_refused(clone):
    add_python(clone, "python2", "")
    found = run(clone, "job", PYTHON="python2")
    assert found.returncode == 2
    assert "PYTHON=python2 does not run, is older than 3.10, or lacks venv" in found.stderr
