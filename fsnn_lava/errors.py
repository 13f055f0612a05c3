"""Every error this package raises on purpose: one root, one exit code each."""

from __future__ import annotations

LONGEST = 1200  # letters of a sentence


class FsnnError(Exception):
    """Something the user can act on. The command line prints it as one sentence and exits with `exit_code`."""

    exit_code = 2

    def __str__(self) -> str:
        """One sentence, also where it quotes a file that holds a text without end."""
        text = super().__str__()
        return text if len(text) <= LONGEST else f"{text[: LONGEST - 200]} … {text[-180:]}"


class BadArgument(FsnnError, ValueError):
    """An argument lies outside what it may be."""


class BadArchitecture(BadArgument):
    """The text of an architecture does not say a network."""


class BadNetwork(FsnnError, ValueError):
    """The parts of a network do not fit together, or do not fit the chip's arithmetic."""


class BadFile(FsnnError, ValueError):
    """A file is missing, damaged, or not what it should be."""


class BadData(BadFile):
    """A data set is missing or damaged."""


class Diverged(FsnnError, ArithmeticError):
    """Training or a solver left the finite numbers."""

    exit_code = 1


class CheckFailed(FsnnError):
    """It ran, but what came out is not what was promised."""

    exit_code = 1


class Interrupted(KeyboardInterrupt):
    """The user ended it; the message says what is kept and how to go on."""


class BackendMissing(FsnnError, RuntimeError):
    """That backend cannot run here; the message says what is missing."""

    exit_code = 3


class BackendFailed(FsnnError, RuntimeError):
    """A backend started and then died, hung or lost a process."""

    exit_code = 1
