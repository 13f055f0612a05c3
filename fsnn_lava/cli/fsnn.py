"""The command fsnn, which has every command under one name (`fsnn run …` is `fsnn-run …`), and the entry points of all programs."""

from __future__ import annotations

import importlib
import sys
from argparse import Namespace, RawDescriptionHelpFormatter
from collections.abc import Sequence
from functools import partial

from fsnn_lava.cli.command import UNDER_ONE_NAME, leaving_at_once, run_command
from fsnn_lava.cli.parsers.parser import Parser, did_you_mean

COMMANDS = {
    "train": "train a network from a recipe",
    "export": "convert a trained model to an integer network and check it",
    "run": "run a network on a backend and check the results",
    "compare": "check the results of a finished run",
    "map": "place a network on a board (no board needed)",
    "tune": "find the cheapest network for a board that keeps the accuracy",
    "import": "convert a trained network from another framework and compare it with its source",
    "get": "download a trained network and verify its hash",
    "doctor": "show what is installed and which backends can run here",
}
MODULES = {"import": "importing"}  # for a command whose name cannot be that of a module
SHELLS = ("bash", "zsh", "fish")


def module_of(command: str) -> str:
    """Return the name of a command's module, in fsnn_lava.cli and in fsnn_lava.cli.parsers."""
    return MODULES.get(command, command)


def fsnn_command_parser(command: str) -> Parser:
    """Return the parser of a command of fsnn: `run_parser` for run, and so on."""
    options: Parser = getattr(importlib.import_module(f"fsnn_lava.cli.parsers.{module_of(command)}"), f"{command}_parser")()
    return options


def enter(name: str, argv: Sequence[str] | None = None) -> int:
    """Parse the arguments of the command `name`, import what it needs, and run it; every installed program calls this."""

    def execute(args: Namespace) -> int:
        with leaving_at_once(f"fsnn-{name}"):
            module = importlib.import_module(f"fsnn_lava.cli.{module_of(name)}")
        code: int = getattr(module, f"execute_{name}")(args)
        return code

    return run_command(f"fsnn-{name}", execute, fsnn_command_parser(name).parse_args(argv))


def main(argv: Sequence[str] | None = None) -> int:
    """Run fsnn with these arguments: the first one names the command."""
    given = list(sys.argv[1:] if argv is None else argv)
    if given and given[0] in COMMANDS:
        UNDER_ONE_NAME.set(True)
        return enter(given[0], given[1:])
    if given[:1] == ["help"]:  # fsnn help run
        return main([*given[1:2], "--help"])
    options = _parser()
    if given and not given[0].startswith("-"):
        options.error(f"there is no command named {given[0]}{did_you_mean(given[0], list(COMMANDS))}")
    args = options.parse_args(given)
    if args.completion:
        from fsnn_lava.cli.completion import completion_script

        print(completion_script(args.completion), end="")
    else:
        options.print_help()
    return 0


def _parser() -> Parser:
    width = max(map(len, COMMANDS))
    listed = "\n".join(f"  {name:<{width}}  {what}" for name, what in COMMANDS.items())
    options = Parser(
        prog="fsnn",
        description="Feedback spiking neural networks from PyTorch to Loihi 2.",
        epilog=f"commands:\n{listed}\n\nfsnn COMMAND --help explains a command; fsnn-COMMAND is the same as fsnn COMMAND.",
    )
    options.formatter_class = RawDescriptionHelpFormatter
    options.add_argument("command", nargs="?", metavar="COMMAND", help="one of the commands below")
    options.add_argument("--completion", choices=SHELLS, help='print a shell completion script: eval "$(fsnn --completion bash)"')
    return options


# entry points in setup.cfg: fsnn-train, fsnn-export, …
train, export, run, compare = (partial(enter, name) for name in ("train", "export", "run", "compare"))
map_, tune, import_, get, doctor = (partial(enter, name) for name in ("map", "tune", "import", "get", "doctor"))


if __name__ == "__main__":
    sys.exit(main())
