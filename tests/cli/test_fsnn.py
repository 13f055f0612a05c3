"""fsnn COMMAND is fsnn-COMMAND, its help is quick, and a misspelt word is answered with a suggestion."""

from __future__ import annotations

import configparser
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fsnn_lava.cli.command import UNDER_ONE_NAME
from fsnn_lava.cli.fsnn import COMMANDS, enter, main
from fsnn_lava.version import __version__

ROOT = Path(__file__).parents[2]
SLOW = {"torch", "numba", "numpy", "h5py", "matplotlib", "tonic", "scipy", "tqdm"}


@pytest.fixture(autouse=True)
def _own_name():
    token = UNDER_ONE_NAME.set(False)
    yield
    UNDER_ONE_NAME.reset(token)


def test_every_command_has_its_own_program_and_stands_in_the_list():
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg")
    programs = dict(line.split(" = ") for line in config["options.entry_points"]["console_scripts"].split("\n") if line)
    assert set(programs) == {"fsnn", *(f"fsnn-{name}" for name in COMMANDS)}
    for name in COMMANDS:
        assert programs[f"fsnn-{name}"].removeprefix("fsnn_lava.cli.fsnn:").rstrip("_") == name


def test_help_of_every_command_imports_nothing_slow():
    script = (
        "import sys, io, contextlib\n"
        "from fsnn_lava.cli.fsnn import COMMANDS, main\n"
        "for arguments in ([], ['--version'], *([name, '--help'] for name in COMMANDS)):\n"
        "    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        "        main(arguments)\n"
        f"print(sorted({SLOW} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_explains_itself_and_says_its_version_under_both_names(name, capsys):
    for call, usage in (
        (lambda option: enter(name, [option]), f"usage: fsnn-{name} "),
        (lambda option: main([name, option]), f"usage: fsnn {name} "),
    ):
        for option, expected in (("--help", usage), ("--version", f"fsnn-lava {__version__}\n")):
            with pytest.raises(SystemExit) as ended:
                call(option)
            assert ended.value.code == 0
            assert capsys.readouterr().out.startswith(expected)


def test_without_a_command_the_commands_are_listed(capsys):
    assert main([]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name:<7}  {what}\n" in said for name, what in COMMANDS.items())


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["rum"], "fsnn: there is no command named rum; did you mean run? (see fsnn --help)\n"),
        (["xyzzy"], "fsnn: there is no command named xyzzy (see fsnn --help)\n"),
        (["run", "--stepz", "3"], "fsnn run: unknown argument --stepz; did you mean --steps? (see fsnn run --help)\n"),
        (["export", "a.pt", "b.h5", "--reset=substract"], "did you mean subtract? (see fsnn export --help)\n"),
    ],
)
def test_a_misspelt_word_is_answered_with_the_right_one(arguments, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said.endswith(sentence) and said.count("\n") == 1


def test_the_package_is_a_program_too():
    done = subprocess.run([sys.executable, "-m", "fsnn_lava", "--version"], cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout) == (0, f"fsnn-lava {__version__}\n")


def test_fsnn_help_is_the_help_of_a_command(capsys):
    for asked, said in ((["help"], "Feedback spiking neural networks"), (["help", "run"], "usage: fsnn run")):
        with pytest.raises(SystemExit, match=r"^0$"):
            main(asked)
        assert said in capsys.readouterr().out


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_while_libraries_are_loaded_is_one_sentence(number, tmp_path):
    """Loading torch takes seconds: a Ctrl-C in them must not show the inside of an import."""
    (tmp_path / "torch.py").write_text("import sys, time\nprint('loading', flush=True)\ntime.sleep(60)\n")
    command = [sys.executable, "-m", "fsnn_lava", "export", "model.pt", "net.h5"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=tmp_path) as process:
        assert process.stdout is not None and process.stdout.readline() == "loading\n"
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "fsnn export: interrupted\n")
