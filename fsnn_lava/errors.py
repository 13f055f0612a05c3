"""The errors that this package raises: they share one base class, and each has an exit code."""

from __future__ import annotations

MESSAGE_CHARACTERS_MAX = 1200


class FsnnError(Exception):
    """Base class of every error that the user can act on. The command line prints its message and exits with `exit_code`.

    Attributes:
        exit_code: 2 for bad input or usage, 1 if something ran and a check failed, 3 if a backend cannot run here.

    Examples:
        >>> try:
        ...     fl.FSNN.load("absent.pt")
        ... except fl.FsnnError as error:
        ...     print(type(error).__name__, error.exit_code)
        BadFile 2
    """

    exit_code = 2

    def __str__(self) -> str:
        """Return the message, shortened in the middle if it quotes something very long from a file."""
        text = super().__str__()
        return text if len(text) <= MESSAGE_CHARACTERS_MAX else f"{text[: MESSAGE_CHARACTERS_MAX - 200]} … {text[-180:]}"


class BadArgument(FsnnError, ValueError):
    """An argument is out of range or of the wrong type."""


class BadArchitecture(BadArgument):
    """The text of an architecture does not describe a network."""


class BadNetwork(FsnnError, ValueError):
    """The parts of a network do not fit together, or exceed the chip's arithmetic."""


class BadFile(FsnnError, ValueError):
    """A file is missing, damaged, or not what it should be."""


class BadData(BadFile):
    """A data set is missing or damaged."""


class Diverged(FsnnError, ArithmeticError):
    """Training or a solver produced numbers that are not finite."""

    exit_code = 1


class CheckFailed(FsnnError):
    """A run finished, but a check of its results failed."""

    exit_code = 1


class Interrupted(KeyboardInterrupt):
    """The user interrupted the run; the message says what was kept and how to continue."""


class BackendMissing(FsnnError, RuntimeError):
    """The backend cannot run here; the message says what is missing."""

    exit_code = 3


class PackageMissing(FsnnError, ImportError):
    """An optional package is not installed; the message says which one, and how to install it."""

    exit_code = 3


class BackendFailed(FsnnError, RuntimeError):
    """A backend started but then died, hung or lost a process."""

    exit_code = 1


class Remark(UserWarning):
    """Something was inferred rather than specified, for example that channels come last. A command prints it as a note."""
