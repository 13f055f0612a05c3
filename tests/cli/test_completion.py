"""Completion: the shell itself completes commands, options and their values."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from fsnn_lava.cli.completion import completion_script, completion_words
from fsnn_lava.cli.fsnn import COMMANDS, main


def completed(line: str, folder: Path | None = None) -> set[str]:
    """Return what bash suggests at the end of the line, whose words are split as bash splits them: at spaces, ":" and "="."""
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("there is no bash on this machine")
    parts = [part for word in line.split(" ") for part in re.findall(r"[:=]|[^:=]+", word) or [""]]
    ask = f'COMP_WORDS=({" ".join(repr(part) for part in parts)}); COMP_CWORD={len(parts) - 1}; _fsnn; printf "%s\\n" "${{COMPREPLY[@]}}"'
    done = subprocess.run([bash, "-c", completion_script("bash") + ask], capture_output=True, text=True, timeout=60, cwd=folder)
    assert done.stderr == ""
    return set(filter(None, done.stdout.split("\n")))


def test_bash_completes_commands_options_and_values():
    assert completed("fsnn ") >= set(COMMANDS)
    assert completed("fsnn co") == {"compare"}
    assert completed("fsnn run --back") == completed("fsnn-run --back") == {"--backend"}
    assert completed("fsnn run --backend ") == {"emu", "sim", "loihi2"}
    assert completed("fsnn-train --data fash") == {"fashion-mnist"}
    assert completed("fsnn-export --reset s") == {"subtract"}


def test_shipped_networks_recipes_and_boards_are_completed_by_name():
    assert completed("fsnn run dig") == completed("fsnn-map dig") == completed("fsnn get dig") == {"digits"}
    assert completed("fsnn train digits-") == {"digits-deep"}
    assert completed("fsnn-map digits --board oh") == {"oheo-gulch"}
    assert "complete -c fsnn-get -a 'cifar10 " in completion_script("fish")


def test_names_with_a_colon_values_after_an_equals_sign_and_paths_with_a_space_are_completed(tmp_path):
    (tmp_path / "my nets").mkdir()
    assert completed("fsnn run --data tonic:NM") == {"NMNIST"}  # what follows the colon, since bash replaces only that
    assert completed("fsnn run --data tonic:") >= {"NMNIST", "SHD"}
    assert completed("fsnn run --backend=s") == {"sim"}
    assert completed("fsnn run --backend=") == {"emu", "sim", "loihi2"}
    assert completed("fsnn run --out my", tmp_path) == completed("fsnn run my", tmp_path) == {"my nets"}


def test_every_option_is_known_to_the_scripts():
    assert completion_words()["run"]["--backend"] == ("emu", "sim", "loihi2")
    assert completion_words()["run"]["--json"] == ()
    fish = completion_script("fish")
    assert "complete -c fsnn-run -l backend -rf -a 'emu sim loihi2'" in fish
    assert completion_script("zsh").endswith(completion_script("bash"))


def test_the_command_prints_the_script(capsys):
    assert main(["--completion", "bash"]) == 0
    assert capsys.readouterr().out == completion_script("bash")


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_accept_their_script(shell, tmp_path):
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"there is no {shell} on this machine")
    path = tmp_path / "completion"
    path.write_text(completion_script(shell))
    assert subprocess.run([program, "-n", str(path)], capture_output=True, timeout=60).returncode == 0
