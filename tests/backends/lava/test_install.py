"""fsnn-doctor --install-lava shows the command, asks, installs by version and hash, and checks; pip is a mock here."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import io
import re
import subprocess
import sys

import pytest

from fsnn_lava.backends import availability as backends
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.backends.lava import install as lava_install
from fsnn_lava.backends.lava import lava_version, self_check
from fsnn_lava.backends.lava.requirement import LAVA, LAVA_IMPORTS
from fsnn_lava.cli.doctor import fsnn_doctor
from fsnn_lava.errors import CheckFailed
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.running.run import run


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def machine(monkeypatch):
    """A supported machine without Lava: what was run is kept in `ran`, and pip ends with `code`."""
    state = type("Machine", (), {"ran": [], "code": 0, "found": None, "check": (0, "two neurons ran\n", "")})()

    def pip(command, check):
        state.ran.append(command)
        state.found = "0.10.0" if state.code == 0 else state.found
        return subprocess.CompletedProcess(command, state.code)

    monkeypatch.setattr(lava_version, "installed_lava_version", lambda: state.found)
    monkeypatch.setattr(lava_install, "_run_check", lambda: state.check)
    monkeypatch.setattr(lava_install.subprocess, "run", pip)
    monkeypatch.setattr(lava_install.sys, "platform", "linux")
    monkeypatch.setattr(lava_install.sys, "version_info", (3, 12, 1))
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: object() if name in LAVA_IMPORTS else find(name, *rest))
    return state


def test_the_command_is_shown_run_and_checked(machine, capsys):
    assert fsnn_doctor(["--install-lava", "--yes"]) == 0
    options = ["--no-deps", "--ignore-requires-python", "--require-hashes", "-r", str(lava_version.PINS)]
    assert machine.ran == [[sys.executable, "-m", "pip", "install", *options]]
    said = capsys.readouterr().out
    assert f"--require-hashes -r {lava_version.PINS}" in said
    assert "lava-nc 0.10.0 works: two neurons ran. fsnn-run --backend sim can run here." in said


def test_what_is_pinned_has_a_hash_and_is_the_lava_of_the_backends():
    assert f"{' '.join(lava_version.pinned_lava_version())}" == LAVA
    assert re.search(r"^lava-nc==0\.10\.0 --hash=sha256:[0-9a-f]{64}$", lava_version.PINS.read_text(), re.MULTILINE)


@pytest.mark.parametrize(("answer", "code", "runs"), [("y\n", 0, 1), ("yes\n", 0, 1), ("n\n", 3, 0), ("\n", 3, 0), ("", 3, 0)])
def test_on_a_terminal_it_asks_first(machine, capsys, monkeypatch, answer, code, runs):
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    assert fsnn_doctor(["--install-lava"]) == code
    assert len(machine.ran) == runs
    captured = capsys.readouterr()
    assert "Run it? [y/N]" in captured.out
    assert ("nothing was installed" in captured.err) == (runs == 0)


def test_without_a_terminal_the_yes_option_is_required(machine, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    assert fsnn_doctor(["--install-lava"]) == 2
    assert machine.ran == []
    assert capsys.readouterr().err == "fsnn-doctor: cannot ask for confirmation because standard input is not a terminal: add --yes\n"


def test_an_installed_lava_is_only_checked(machine, capsys):
    machine.found = "0.10.0"
    assert fsnn_doctor(["--install-lava"]) == 0
    assert machine.ran == []
    assert capsys.readouterr().out.startswith("lava-nc 0.10.0 is installed.\nChecking it")


def test_another_version_of_lava_is_replaced(machine, capsys):
    machine.found = "0.9.0"
    assert fsnn_doctor(["--install-lava", "--yes"]) == 0
    assert len(machine.ran) == 1
    assert capsys.readouterr().out.startswith("lava-nc 0.9.0 is installed.\nThese commands install what is missing:")


def test_what_lava_imports_is_installed_where_it_is_missing(machine, monkeypatch):
    machine.found = "0.10.0"
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "asteval" else find(name, *rest))
    assert fsnn_doctor(["--install-lava", "--yes"]) == 0
    assert machine.ran == [[sys.executable, "-m", "pip", "install", "asteval"]]


def test_pip_that_fails_is_reported_in_one_sentence_and_exit_code_3(machine, capsys):
    machine.code = 1
    assert fsnn_doctor(["--install-lava", "--yes"]) == 3
    assert re.fullmatch(r"fsnn-doctor: pip failed \(see above\)\. pip needs a package index; .*\n", capsys.readouterr().err)


def test_without_pip_there_is_advice_on_how_to_get_it(machine, capsys, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *rest: None if name == "pip" else find(name, *rest))
    assert fsnn_doctor(["--install-lava", "--yes"]) == 3
    assert "has no pip, which is needed to install Lava: run" in capsys.readouterr().err
    assert machine.ran == []


@pytest.mark.parametrize("version", [(3, 9, 1), (3, 14, 0)])
def test_an_unsupported_python_is_refused(machine, capsys, monkeypatch, version):
    monkeypatch.setattr(lava_install.sys, "version_info", version)
    assert fsnn_doctor(["--install-lava", "--yes"]) == 3
    assert f"Lava cannot run here; it needs Python 3.10 to 3.13 (Lava was not tested on 3.{version[1]})" in capsys.readouterr().err
    assert machine.ran == []


def test_a_system_without_fork_is_refused(machine, capsys, monkeypatch):
    monkeypatch.setattr(lava_install.sys, "platform", "win32")
    assert fsnn_doctor(["--install-lava", "--yes"]) == 3
    assert "Lava cannot run here; it needs Linux (Lava forks its processes; this is win32)" in capsys.readouterr().err


@pytest.mark.parametrize("code", [1, 3])
def test_a_check_that_fails_is_reported_with_its_reason_and_exit_code(machine, capsys, code):
    machine.check = (code, "", "Traceback\nthe last line\n")
    assert fsnn_doctor(["--install-lava", "--yes"]) == code
    assert capsys.readouterr().err == "fsnn-doctor: Lava is installed, but a test network of two neurons failed to run: the last line\n"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [(["--yes"], "--yes only applies to --install-lava"), (["--install-lava", "--json"], "--json cannot be combined with --install-lava")],
)
def test_options_that_do_not_go_together_are_refused(capsys, arguments, sentence):
    assert fsnn_doctor(arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_check_that_hangs_is_ended(monkeypatch, tmp_path):
    monkeypatch.setattr(lava_install, "CHECK_SECONDS", 0.2)
    sleeper = tmp_path / "sleeper"  # its child holds the pipe: waiting for the end of the output would take for ever
    sleeper.write_text("#!/bin/sh\nsleep 1000 &\nsleep 1000\n")
    sleeper.chmod(0o755)
    monkeypatch.setattr(lava_install.sys, "executable", str(sleeper))
    with pytest.raises(CheckFailed, match=r"a test network of two neurons did not finish within 0\.2 s"):
        lava_install.verify_lava_install()


def test_two_neurons_that_compute_something_else_fail_the_check(monkeypatch):
    def wrong(chip, graph):
        found = Emulator(chip).run(self_check.VALUES)
        found.potentials[0][0, 0] += 1
        return found

    monkeypatch.setattr(self_check, "_run_on_lava", wrong)
    with pytest.raises(CheckFailed, match=r"Lava ran, but two neurons \(batched graph\)"):
        self_check.run_self_check()


def test_two_neurons_both_spike_and_neither_is_the_other():
    chip = self_check.self_check_network()
    assert isinstance(chip, ChipNetwork)
    counts = run(chip, self_check.VALUES, backend="emu").counts[0]
    assert (counts > 0).all() and len({*counts.flatten().tolist()}) == counts.size


@pytest.mark.skipif(bool(backends.missing_for_backend("sim")), reason="Lava is not installed here")
def test_lava_as_it_is_installed_here_passes_the_check():
    assert importlib.metadata.version("lava-nc") == lava_version.pinned_lava_version()[1]
    assert lava_install.verify_lava_install().endswith("identical to the emulator")
