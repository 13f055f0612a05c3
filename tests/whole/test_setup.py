"""The set-up takes a supported interpreter that really runs, shows its steps, does its work once, and leaves other folders' environments
alone. No package is installed here: a mock of Python records its arguments."""

from __future__ import annotations

import os
import pty
import re
import runpy
import shutil
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.compiled import float_run, integer_run, scatter
from fsnn_lava.compiled.lava_step import lava_synapse_step

ROOT = Path(__file__).parents[2]
TOOLS = (
    *("sh", "dirname", "cat", "cksum", "rm", "mkdir", "cp", "sed", "sort"),
    *("grep", "expr", "chmod", "tr", "date", "du", "readlink", "sleep"),
)
PIP = "-m pip install -qq --no-compile --no-warn-conflicts"
NUMBA = f"{PIP} numba>=0.59 numpy>=1.24.4"
COMPILE = ".ci/compile_kernels.py"
PEERS = f"{PIP} --no-deps --require-hashes -r deploy/locks/peers.txt"
LAVA = f"{PIP} --no-deps --ignore-requires-python --require-hashes -r fsnn_lava/backends/lava/pins"

# Stands in for a Python: answers the set-up's questions, makes "environments" that are copies of itself, and writes down what it was asked.
STAND_IN = """#!/bin/sh
echo "$*" >> "{log}"
case "$*" in
    --version) echo Python {version}.9 ;;
    *version_info*) echo {version} ;;
    *ensurepip*) exit {broken} ;;
    '-m venv '*) mkdir -p "$3/bin" && cp "$0" "$3/bin/python"
        for folder in tests docs; do mkdir -p "$3/lib/python{version}/site-packages/$folder"; done ;;
    '-m pip --version') [ "$0" != "${{0#.venv}}" ] ;;
    '-m pip install'*'{fails}'*) echo "pip: no such thing" >&2; exit 1 ;;
    fail) exit 7 ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    """A clone that can set itself up, with only basic tools on its path."""
    folder = tmp_path / "clone"
    (folder / ".ci").mkdir(parents=True)
    for name in (".ci/with-python", "setup.cfg", "pyproject.toml"):
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "fsnn_lava/backends/lava/pins", folder / "fsnn_lava/backends/lava/pins")
    (folder / "deploy/locks").mkdir(parents=True)
    shutil.copy(ROOT / "deploy/locks/peers.txt", folder / "deploy/locks/peers.txt")
    (folder / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        if found is None:
            pytest.skip(f"the set-up needs the command {tool}, which is not here")
        (folder / "bin" / tool).symlink_to(found)
    return folder


def add_command(clone, name, text):
    path = clone / "bin" / name
    path.write_text(text)
    path.chmod(0o755)
    return path


def add_python(clone, name, version, *, broken=0, fails="nothing of this kind"):
    return add_command(clone, name, STAND_IN.format(log=clone / "log", version=version, broken=broken, fails=fails))


def add_shim(clone, name):
    """A name on the path behind which there is no interpreter, as pyenv leaves them."""
    add_command(clone, name, f"#!/bin/sh\necho 'pyenv: {name}: command not found' >&2\nexit 127\n")


def run(clone, *arguments, **variables):
    environment = {"PATH": str(clone / "bin"), "HOME": str(clone), **variables}
    return subprocess.run([clone / ".ci/with-python", *arguments], env=environment, capture_output=True, text=True, check=False)


def asked(clone):
    """Return the commands that Python was given, in order, without those in the background."""
    return [line for line in (clone / "log").read_text().splitlines() if line != COMPILE]


def installed(clone):
    """Return what pip was asked to install, in order."""
    return [line for line in asked(clone) if line.startswith("-m pip install")]


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def contents(folder):
    """Every path below `folder`, links not followed, with what is in it."""
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


# ---- which Python


def test_the_users_python3_is_taken_whatever_supported_version_it_is(clone):
    add_python(clone, "python3.10", "3.10")
    add_python(clone, "python3", "3.12")
    found = run(clone, "-m", "job")
    assert (found.returncode, asked(clone)[-1]) == (0, "-m job")
    assert f"[1/7] an environment in .venv with Python 3.12.9 from {clone}/bin/python3 " in found.stderr


def test_a_name_that_does_not_run_is_passed_over(clone):
    add_shim(clone, "python3")
    add_python(clone, "python", "3.11")
    assert f"with Python 3.11.9 from {clone}/bin/python " in run(clone, "job").stderr


@pytest.mark.parametrize("unsupported", ["3.9", "3.14"])
def test_where_python3_is_not_supported_another_version_is_looked_for(clone, unsupported):
    add_python(clone, "python3", unsupported)
    add_python(clone, "python3.10", "3.10")
    add_python(clone, "python3.11", "3.11")
    assert f"with Python 3.11.9 from {clone}/bin/python3.11 " in run(clone, "job").stderr


def test_an_existing_environment_keeps_its_python(clone):
    add_python(clone, "python3.10", "3.10")
    run(clone, "first")
    add_python(clone, "python3", "3.13")
    (clone / "setup.cfg").write_text("# changed")
    (clone / "log").unlink()
    assert run(clone, "second").returncode == 0
    assert "version_info" in asked(clone)[0] and not any("venv" in line for line in asked(clone) if line.startswith("-m"))
    assert not list(clone.glob(".venv-*"))


def test_without_a_supported_python_there_is_advice_on_how_to_get_one(clone):
    add_shim(clone, "python3.10")
    add_python(clone, "python3", "3.14")
    found = run(clone, "job")
    assert found.returncode == 2
    assert "no Python 3.10, 3.11, 3.12 or 3.13 runs here" in found.stderr
    assert "uv python install 3.12" in found.stderr
    assert not (clone / ".venv").exists()


def test_a_python_that_cannot_make_environments_is_named(clone):
    add_python(clone, "python3", "3.11", broken=1)
    found = run(clone, "job")
    assert found.returncode == 2
    assert "bin/python3 is a Python 3.11, but it lacks venv, ensurepip, ssl or ctypes" in found.stderr


def test_a_named_python_has_an_environment_of_its_own(clone):
    add_python(clone, "python3", "3.11")
    add_python(clone, "mine", "3.13")
    run(clone, "job", PYTHON="mine")
    assert (clone / ".venv-3.13/bin/python").is_file()
    assert not (clone / ".venv").exists()


@pytest.mark.parametrize(
    ("name", "version", "sentence"),
    [("old", "3.9", "PYTHON=old is a Python 3.9; fsnn-lava needs 3.10"), ("new", "3.14", "is a Python 3.14; fsnn-lava needs")],
)
def test_a_named_python_that_is_not_supported_is_refused(clone, name, version, sentence):
    add_python(clone, name, version)
    found = run(clone, "job", PYTHON=name)
    assert (found.returncode, sentence in found.stderr) == (2, True)


def test_a_named_python_that_does_not_run_is_refused(clone):
    found = run(clone, "job", PYTHON="absent")
    assert (found.returncode, found.stderr) == (2, "fsnn-lava: PYTHON=absent does not run here.\n")


def test_a_python_of_a_series_can_be_asked_for(clone):
    add_python(clone, "python3", "3.11")
    found = run(clone, "--find", "3.11")
    assert (found.returncode, found.stdout) == (0, f"{clone}/bin/python3\n")
    assert run(clone, "--find", "3.10").returncode == 1
    assert not list(clone.glob(".venv*"))


# ---- what is installed


def test_the_tests_get_torch_lava_by_hash_the_tools_lava_dl_and_the_other_frameworks(clone):
    add_python(clone, "python3", "3.11")
    run(clone, "job")
    first = [NUMBA, f"{PIP} torch==2.13.0+cpu", f"{LAVA}/lava-nc.txt"]
    assert installed(clone) == [*first, f"{PIP} -e .[test]", f"{LAVA}/lava-dl.txt", PEERS]


def test_an_index_without_the_other_frameworks_is_reported_and_stops_nothing(clone):
    add_python(clone, "python3", "3.11", fails="peers.txt")
    found = run(clone, "job")
    assert (found.returncode, asked(clone)[-1]) == (0, "job")
    assert "pip: no such thing" in found.stderr and "the tests that need one of these frameworks will be skipped" in found.stderr


def test_the_demo_does_without_the_tools_and_lava_dl_and_the_tests_add_them(clone):
    add_python(clone, "python3", "3.11")
    run(clone, "--demo", "job")
    assert installed(clone) == [NUMBA, f"{PIP} torch==2.13.0+cpu", f"{LAVA}/lava-nc.txt", f"{PIP} -e ."]
    (clone / "log").unlink()
    assert "[2/3] lava-dl==0.6.0" in run(clone, "job").stderr
    assert installed(clone) == [f"{PIP} -e .[test]", f"{LAVA}/lava-dl.txt", PEERS]
    (clone / "log").unlink()
    assert run(clone, "--demo", "job").stderr == ""
    assert installed(clone) == []


def test_the_packages_tests_and_docs_that_others_bring_along_are_removed(clone):
    add_python(clone, "python3", "3.11")
    run(clone, "job")
    assert list((clone / ".venv/lib/python3.11/site-packages").iterdir()) == []


def test_with_a_gpu_the_ordinary_torch_is_installed(clone):
    add_python(clone, "python3", "3.11")
    add_command(clone, "nvidia-smi", "#!/bin/sh\nexit 0\n")
    assert "torch==2.13.0, GPU build" in run(clone, "job").stderr
    assert installed(clone)[1] == f"{PIP} torch==2.13.0"


def test_a_driver_that_does_not_run_is_not_a_gpu(clone):
    add_python(clone, "python3", "3.11")
    add_command(clone, "nvidia-smi", "#!/bin/sh\nexit 9\n")
    run(clone, "job")
    assert installed(clone)[1] == f"{PIP} torch==2.13.0+cpu"


def test_torch_and_where_to_look_for_it_can_be_named(clone):
    add_python(clone, "python3", "3.11")
    run(clone, "job", TORCH="torch==2.5.1", TORCH_INDEX="file:///wheels")
    assert installed(clone)[1] == f"{PIP} --extra-index-url file:///wheels torch==2.5.1+cpu"


def test_without_a_cpu_build_the_ordinary_one_is_taken_and_that_is_reported(clone):
    add_python(clone, "python3", "3.11", fails="+cpu")
    found = run(clone, "job")
    assert found.returncode == 0
    assert "no CPU build of torch==2.13.0 was found" in found.stderr and "TORCH_INDEX=URL" in found.stderr
    assert "[3/7] torch==2.13.0, default build: 0 MB" in found.stderr
    assert installed(clone)[1:3] == [f"{PIP} torch==2.13.0+cpu", f"{PIP} torch==2.13.0"]


@pytest.mark.parametrize(("version", "times"), [("3.12", 1), ("3.10", 0)])
def test_kernels_are_compiled_while_the_rest_is_installed_and_not_after_the_job(clone, version, times):
    """Not on 3.10, where numpy may still be replaced."""
    path = add_python(clone, "python3", version)
    path.write_text(path.read_text().replace("esac", f"    {COMPILE}) echo $$ > '{clone}/compiler'; exec sleep 250 ;;\nesac"))
    job = f"until [ -s '{clone}/compiler' ]; do sleep 0.1; done" if times else ":"
    path.write_text(path.read_text().replace("esac", f"    job) {job} ;;\nesac"))
    assert run(clone, "job").returncode == 0
    assert (clone / "log").read_text().splitlines().count(COMPILE) == times
    if times:
        compiler = int((clone / "compiler").read_text())
        while is_running(compiler):  # it ends as soon as the signal has reached it
            time.sleep(0.05)


def test_what_is_compiled_in_the_background_is_what_a_first_training_and_run_use():
    script = runpy.run_path(str(ROOT / COMPILE))
    script["compile_training"]()
    script["compile_inference"]()
    kernels = (float_run.run_samples, integer_run.run_integer_samples, lava_synapse_step, scatter.scatter)
    before = [list(kernel.signatures) for kernel in kernels]
    net = fl.FSNN("4C3s-6C3s (F4C3u)", input_shape=(1, 8, 8), classes=10, dropout=0.2)
    net(torch.ones(2, 1, 8, 8), steps=3).sum().backward()
    net.eval()
    chip = fl.quantise(net)
    fl.run(chip, np.ones((2, 1, 8, 8), np.uint8), backend="emu")
    assert [list(kernel.signatures) for kernel in kernels] == before


# ---- what is shown


def test_every_step_is_numbered_and_what_it_took_is_printed(clone):
    add_python(clone, "python3", "3.11")
    lines = run(clone, "--demo", "job").stderr.splitlines()
    assert [line.split()[1] for line in lines if "…" in line] == [f"[{number}/5]" for number in range(1, 6)]
    assert sum(" MB, " in line and " s" in line for line in lines) == 5
    assert "set up in " in lines[-2] and " GB on disk" in lines[-2]
    assert " s in total, of which " in lines[-1] and " s for the set-up" in lines[-1]


def test_on_a_terminal_a_step_shows_how_far_it_is(clone):
    path = add_python(clone, "python3", "3.11")
    seen = clone / "seen"  # making the environment takes until its progress was seen
    path.write_text(path.read_text().replace("'-m venv '*) ", f"'-m venv '*) until [ -e '{seen}' ]; do sleep 0.1; done; "))
    environment = {"PATH": str(clone / "bin"), "HOME": str(clone)}
    ours, theirs = pty.openpty()
    with subprocess.Popen([clone / ".ci/with-python", "job"], env=environment, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        shown = ""
        while not re.search(r"\rfsnn-lava: \[1/7\] an environment in \.venv [^\r]* … \d+ MB, \d+ s ", shown):
            shown += os.read(ours, 4096).decode(errors="replace")
        seen.touch()
        while " s in total" not in shown:
            shown += os.read(ours, 4096).decode(errors="replace")
    os.close(ours)
    assert process.returncode == 0


# ---- once, and again where needed


def test_the_second_time_nothing_is_set_up(clone):
    add_python(clone, "python3", "3.11")
    run(clone, "first")
    (clone / "log").unlink()
    found = run(clone, "second")
    assert (found.stderr, asked(clone)) == ("", ["-c ", "second"])


@pytest.mark.parametrize("name", ["setup.cfg", "fsnn_lava/backends/lava/pins/lava-nc.txt", "deploy/locks/peers.txt"])
def test_changed_metadata_is_installed_again(clone, name):
    add_python(clone, "python3", "3.11")
    run(clone, "first")
    (clone / name).write_text("# changed")
    (clone / "log").unlink()
    run(clone, "second")
    assert f"{PIP} -e .[test]" in installed(clone)
    assert not any("venv" in line for line in asked(clone) if line.startswith("-m"))


def test_the_exit_code_of_the_job_is_kept(clone):
    add_python(clone, "python3", "3.11")
    assert run(clone, "fail").returncode == 7


@pytest.mark.parametrize("step", ["pins/lava-nc.txt", "-e .[test]", "pins/lava-dl.txt"])
def test_a_step_that_fails_is_named_and_done_again_the_next_time(clone, step):
    add_python(clone, "python3", "3.11", fails=step)
    found = run(clone, "job")
    assert found.returncode == 2
    assert "pip: no such thing" in found.stderr and "failed (see above). It needs a package index" in found.stderr
    assert "job" not in asked(clone)
    working = add_python(clone, "python3", "3.11")
    shutil.copy(working, clone / ".venv/bin/python")
    assert run(clone, "job").returncode == 0


# ---- environments of other folders


def test_an_environment_that_was_copied_here_is_left_alone(clone, tmp_path):
    add_python(clone, "python3", "3.11")
    run(clone, "first")
    copy = tmp_path / "copy"
    shutil.copytree(clone, copy, symlinks=True)
    before = contents(copy / ".venv")
    found = run(copy, "second")
    assert found.returncode == 0
    assert f".venv belongs to {clone}, not to this folder: it is left alone, and .venv-3.11 is used instead." in found.stderr
    assert contents(copy / ".venv") == before
    assert (copy / ".venv-3.11/.made-in").read_text() == f"{copy}\n"


def test_an_environment_that_is_a_link_is_left_alone(clone, tmp_path):
    add_python(clone, "python3", "3.11")
    (tmp_path / "other").mkdir()
    (clone / ".venv").symlink_to(tmp_path / "other")
    found = run(clone, "job")
    assert f".venv belongs to {tmp_path}/other, not to this folder" in found.stderr
    assert contents(tmp_path / "other") == {}
    assert (clone / ".venv-3.11/bin/python").is_file()


@pytest.mark.parametrize(
    "line", ['VIRTUAL_ENV="/elsewhere/.venv"', "    export VIRTUAL_ENV=/elsewhere/.venv", "VIRTUAL_ENV='/elsewhere/.venv'"]
)
def test_an_environment_that_was_not_made_by_the_set_up_says_itself_where_it_belongs(clone, line):
    add_python(clone, "python3", "3.11")
    (clone / ".venv/bin").mkdir(parents=True)
    (clone / ".venv/bin/activate").write_text(f"VIRTUAL_ENV=$(cygpath '/elsewhere/.venv')\n{line}\nexport VIRTUAL_ENV\n")
    assert ".venv belongs to /elsewhere, not to this folder" in run(clone, "job").stderr
    (clone / ".venv/bin/activate").write_text(f"{line}\n".replace("/elsewhere", str(clone)))
    assert run(clone, "job").stderr.startswith("fsnn-lava: [1/7]")


def test_an_environment_whose_fsnn_lava_is_another_clone_is_left_alone(clone):
    add_python(clone, "python3", "3.11")
    run(clone, "first")
    notes = clone / ".venv/lib/python3.11/site-packages/fsnn_lava-0.1.0.dist-info"
    notes.mkdir()
    (notes / "direct_url.json").write_text('{"dir_info": {"editable": true}, "url": "file:///other/clone"}')
    assert ".venv belongs to /other/clone, not to this folder" in run(clone, "second").stderr
    (notes / "direct_url.json").write_text(f'{{"dir_info": {{"editable": true}}, "url": "file://{clone}"}}')
    assert run(clone, "third").stderr == ""


def test_where_no_other_name_is_left_it_stops_with_what_to_do(clone):
    add_python(clone, "python3", "3.11")
    for name in (".venv", ".venv-3.11"):
        (clone / name).symlink_to("/elsewhere")
    found = run(clone, "job")
    assert found.returncode == 2
    assert ".venv belongs to /elsewhere, not to this folder, and is left alone. Remove or rename it" in found.stderr
