"""Wrong arguments: one line, exit code 2, for every command."""

import importlib

import pytest


@pytest.mark.parametrize(
    ("command", "arguments", "sentence"),
    [
        ("export", ["model.pt"], "the following arguments are required: network"),
        ("run", ["--steps", "nine"], "argument --steps: invalid int value: 'nine'"),
        ("run", ["--backend", "gpu"], "argument --backend: invalid choice: 'gpu'"),
        ("compare", [], "the following arguments are required: results"),
        ("map", ["net.h5", "--bored", "x"], "unknown argument --bored; did you mean --board?"),
        ("doctor", ["--nothing"], "unknown argument --nothing"),
    ],
)
def test_a_wrong_argument_is_one_line_and_exit_code_2(command, arguments, sentence, capsys):
    with pytest.raises(SystemExit) as ended:
        getattr(importlib.import_module(f"fsnn_lava.cli.{command}"), f"fsnn_{command}")(arguments)
    assert ended.value.code == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"fsnn-{command}: {sentence}")
    assert said.err.endswith(f"(see fsnn-{command} --help)\n")
    assert said.err.count("\n") == 1
