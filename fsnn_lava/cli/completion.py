"""Shell completion of commands, options, their values and the shipped names, generated from the parsers."""

from __future__ import annotations

import argparse
import shlex

from fsnn_lava.cli.fsnn import COMMANDS, fsnn_command_parser
from fsnn_lava.data.names import NAMES, TONIC, TONIC_SETS
from fsnn_lava.models.catalogue import catalogue_names
from fsnn_lava.placement.board import board_names
from fsnn_lava.training.shipped_recipes import shipped_recipes

FILES = "FILES"  # marks an option that takes a path
Words = dict[str, dict[str, tuple[str, ...]]]  # command -> option -> what may follow it


def completion_words() -> Words:
    """Return every option of every command, and what may follow it: choices, FILES, or nothing for a flag."""
    found: Words = {}
    for name in COMMANDS:
        parser = fsnn_command_parser(name)
        found[name] = {option: _values(action) for action in parser._actions for option in action.option_strings if option != "-h"}
    return found


def completion_names(command: str) -> tuple[str, ...]:
    """The recipes or networks that the first argument of a command may name."""
    if command == "train":
        return tuple(shipped_recipes())
    return catalogue_names() if command in ("export", "run", "map", "tune", "get") else ()


def _values(action: argparse.Action) -> tuple[str, ...]:
    if action.nargs == 0:
        return ()
    if action.dest == "data":
        return (*NAMES, *(TONIC + name for name in TONIC_SETS), FILES)
    if action.dest == "board":
        return (*board_names(), FILES)
    if action.choices:
        return tuple(map(str, action.choices))
    return (FILES,)


def completion_script(shell: str) -> str:
    """Return the completion script that a shell evaluates."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell]()


def _bash() -> str:
    """Return one function for `fsnn` and every `fsnn-COMMAND`, and a helper that offers words and files.

    bash splits the line at ":" and "=", so tonic:NAME and --option=value are joined or split again here; zsh leaves them in one piece.
    """
    lines = [
        "_fsnn_offer() {  # words, files or nothing, what comes before them in this word",
        "    local IFS=$' \\t\\n' found",
        '    found=$(compgen -W "$1" -- "$cur")',
        '    [ -n "$2" ] && found=$found$\'\\n\'$(compgen -f -- "$cur")',
        "    IFS=$'\\n'",
        "    COMPREPLY=($(printf '%s\\n' \"$found\" | while IFS= read -r word; do",
        '        [ -n "$word" ] && printf \'%s\\n\' "$before${word#"$colon"}"',
        "    done))",
        "}",
        "_fsnn() {",
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" cmd="${COMP_WORDS[0]##*/}"',
        "    local options names colon before",
        '    if [ "$COMP_CWORD" -ge 3 ] && [ "$prev" = : ]; then',
        '        colon="${COMP_WORDS[COMP_CWORD-2]}:" cur="${COMP_WORDS[COMP_CWORD-2]}:$cur" prev="${COMP_WORDS[COMP_CWORD-3]}"',
        '    elif [ "$COMP_CWORD" -ge 2 ] && [ "$cur" = : ]; then',
        '        colon="$prev:" cur="$prev:" prev="${COMP_WORDS[COMP_CWORD-2]}"',
        '    elif [ "$cur" = "=" ]; then cur=""',
        '    elif [ "$COMP_CWORD" -ge 2 ] && [ "$prev" = "=" ]; then prev="${COMP_WORDS[COMP_CWORD-2]}"',
        '    elif [ "${cur#--*=}" != "$cur" ]; then prev="${cur%%=*}" before="${cur%%=*}=" cur="${cur#*=}"',
        "    fi",
        '    if [ "$cmd" = fsnn ]; then',
        '        if [ "$COMP_CWORD" = 1 ]; then',
        f'            _fsnn_offer "{" ".join(COMMANDS)} --help --version --completion"; return',
        "        fi",
        '        cmd="fsnn-${COMP_WORDS[1]}"',
        "    fi",
        '    case "$cmd" in',
    ]
    for name, options in completion_words().items():
        lines.append(f"    fsnn-{name})")
        lines.append('        case "$prev" in')
        for option, values in options.items():
            if values:
                plain = [value for value in values if value != FILES]
                lines.append(
                    f"        {option}) _fsnn_offer {shlex.quote(' '.join(plain))}{' files' if FILES in values else ''}; return ;;"
                )
        lines.append("        esac")
        lines.append(f"        options={shlex.quote(' '.join(options))} names={shlex.quote(' '.join(completion_names(name)))} ;;")
    lines += [
        "    esac",
        '    if [ "${cur#-}" != "$cur" ]; then _fsnn_offer "$options"',
        '    else _fsnn_offer "$names" files; fi',
        "}",
        f"complete -o filenames -F _fsnn fsnn {' '.join(f'fsnn-{name}' for name in COMMANDS)}",
    ]
    return "\n".join(lines) + "\n"


def _zsh() -> str:
    """Return the bash functions, which zsh can run."""
    return "autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n" + _bash()


def _fish() -> str:
    lines = [f"complete -c fsnn -n __fish_use_subcommand -f -a {name} -d {shlex.quote(what)}" for name, what in COMMANDS.items()]
    for name, options in completion_words().items():
        if names := " ".join(completion_names(name)):
            lines.append(f"complete -c fsnn -n '__fish_seen_subcommand_from {name}' -a {shlex.quote(names)}")
            lines.append(f"complete -c fsnn-{name} -a {shlex.quote(names)}")
        for option, values in options.items():
            plain = " ".join(value for value in values if value != FILES)
            takes = f" -r{'F' if FILES in values else 'f'}" + (f" -a {shlex.quote(plain)}" if plain else "") if values else ""
            lines.append(f"complete -c fsnn -n '__fish_seen_subcommand_from {name}' -l {option.removeprefix('--')}{takes}")
            lines.append(f"complete -c fsnn-{name} -l {option.removeprefix('--')}{takes}")
    return "\n".join(lines) + "\n"
