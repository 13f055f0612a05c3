"""A folder as the documents assume it, and a shell that runs their commands there, in this process if possible to save time."""

from __future__ import annotations

import importlib
import importlib.util
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from fsnn_lava.cli.fsnn import module_of
from fsnn_lava.data import load
from tests.helpers.data_files import write_cifar10, write_mnist
from tests.helpers.event_data import write_nmnist

ROOT = Path(__file__).parents[2]
LAVA = importlib.util.find_spec("lava") is not None
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`((?:fsnn-\w+|fsnn|python|make|pytest) [^`]+)`")
SMALL = ["--set", "epochs=1", "--set", "train_samples=40", "--set", "test_samples=8", "--set", "validation=0"]

# What is not run here, and why; it must still name things that exist.
ELSEWHERE = {
    r"(FSNN_GRAPHS=\d+ )?make \w+": "it sets up an environment; tests/whole/test_demo.py and tests/whole/test_setup.py run its parts",
    r"git clone": "the address is the reader's",
    r"\. \S+/activate": "the environment is the one that the tests run in",
    r"python3\.1\d -m venv|(env/bin/)?pip install|scp ": "makes another environment, or needs the machine with the board",
    r"(PARTITION=\w+ )?sh job/run\.sh": "needs a board; tests/running/test_bundle.py runs it without one",
    r"fsnn-doctor --install-lava": "changes the environment; tests/backends/lava/test_install.py runs it with a stand-in for pip",
    r"torchrun|srun|export MASTER": "several processes; tests/training/test_distributed.py starts them",
    r"python (bench/|examples/models/|-m )": "takes minutes to hours",
    r"python docs/": "writes into the repository; other tests check that what it writes is up to date",
    r"pytest ": "make test runs it",
    r"fsnn-import ": "the network is the reader's; tests/cli/test_importing.py imports one of every kind",
}
TUNED = ["--samples", "40", "--max-drop", "20", "--bits", "6", "--processes", "1"]  # a short search
FRAGMENTS = ("fsnn-run --out", "fsnn-run --package")  # options that the text is about, not commands


@dataclass(frozen=True)
class Block:
    kind: str  # of its fence: sh, python, text, toml
    body: str


def blocks(page: Path) -> list[Block]:
    return [Block(kind, body) for kind, body in BLOCK.findall(page.read_text(encoding="utf-8"))]


def lines(block: Block) -> Iterator[str]:
    """The commands of a shell block, without comments."""
    for line in block.body.replace("\\\n", " ").splitlines():
        words = re.sub(r"(^|\s)#.*", "", line).strip()
        if words:
            yield words


def inline(page: Path) -> list[str]:
    """Commands inside sentences."""
    return INLINE.findall(BLOCK.sub("", page.read_text(encoding="utf-8")))


def elsewhere(command: str) -> str | None:
    """Why a command is not run here."""
    if "…" in command or "NAME" in command or "COMMAND" in command:
        return "a part of it is the reader's"
    return next((reason for pattern, reason in ELSEWHERE.items() if re.match(pattern, command)), None)


def furnish(folder: Path) -> None:
    """The clone's own folders, data sets small enough to be made up, and model.pt, net.h5, results.h5, mine.npz of the digits."""
    for name in ("train", "examples", "bench"):
        (folder / name).symlink_to(ROOT / name)
    digits = ROOT / "examples" / "models" / "digits"
    for name in ("model.pt", "net.h5"):
        shutil.copy(digits / name, folder / name)
    test = load("digits").test
    np.savez(folder / "mine.npz", x=test.batch(slice(0, 20)), y=test.labels[:20])
    write_mnist(folder / "data")
    write_mnist(folder / "data", folder="FashionMNIST/raw")
    write_cifar10(folder / "data")
    write_nmnist(folder / "data")


class Shell:
    """Runs commands in `folder`; `printed` is what the last one wrote to standard output."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
        self.folder, self._patch, self._capfd = folder, monkeypatch, capfd
        self.printed = ""
        monkeypatch.chdir(folder)
        monkeypatch.setenv("FSNN_DATA", str(folder / "data"))
        monkeypatch.delenv("NXSDKHOST", raising=False)

    def run(self, command: str, *, training: list[str] | None = None) -> None:
        """Run one command, a training shortened; afterwards it has ended as the documents say, or the test has failed."""
        name, *arguments = shlex.split(command)
        if name == "fsnn" and not arguments[0].startswith("-"):
            name = f"fsnn-{arguments.pop(0)}"
        if name == "fsnn-train" and "--init" not in arguments:
            arguments += SMALL if training is None else training
        if name == "fsnn-run" and "sim" in arguments and "--limit" not in arguments:
            arguments += ["--limit", "24"]
        if name == "fsnn-tune":
            arguments += TUNED
        if name == "python" and arguments[0].endswith("convergence.py"):
            arguments += ["--steps", "40"]
        self._capfd.readouterr()
        code = self._ended(name, arguments)
        captured = self._capfd.readouterr()
        self.printed = captured.out
        wanted = 3 if ("loihi2" in arguments and "--target" not in arguments) or ("sim" in arguments and not LAVA) else 0
        assert code == wanted, f"{command}: exit code {code}\n{captured.out}\n{captured.err}"

    def _ended(self, name: str, arguments: list[str]) -> int:
        self._patch.setattr(sys, "argv", [name, *arguments])
        try:
            if name == "fsnn":
                return int(importlib.import_module("fsnn_lava.cli.fsnn").main(arguments))
            if name.startswith("fsnn-"):
                command = name.removeprefix("fsnn-")
                program = getattr(importlib.import_module(f"fsnn_lava.cli.{module_of(command)}"), f"fsnn_{command}")
                return int(program(arguments))
            if name == "python":
                self._patch.setattr(sys, "argv", arguments)
                runpy.run_path(str(self.folder / arguments[0]), run_name="__main__")
                return 0
            return subprocess.run([name, *arguments], cwd=self.folder, check=False).returncode
        except SystemExit as ended:
            return int(ended.code or 0)


def check_names(command: str) -> None:
    """A command that is not run names targets, scripts, recipes and options that exist."""
    words = [word for word in shlex.split(command) if word != "&&"]
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE), command
    for word in words:
        if re.match(r"(train|bench|examples|deploy|docs|tests|hw_tests)/", word):
            assert (ROOT / word).exists(), command
    script = next((ROOT / word for word in words if word.endswith(".py") and "/" in word), None)
    if words[0] == "python" and script is not None:
        for option in (word for word in words if word.startswith("--")):
            assert f'"{option}"' in script.read_text(), command
    if "-m" in words:
        assert importlib.util.find_spec(words[words.index("-m") + 1]), command
    if words[0] == "fsnn-import":
        from fsnn_lava.cli.parsers.importing import import_parser

        import_parser().parse_args(words[1:])
    if "fsnn_lava.cli.train" in words:
        from fsnn_lava.cli.parsers.train import train_parser

        train_parser().parse_args(words[words.index("fsnn_lava.cli.train") + 1 :])
