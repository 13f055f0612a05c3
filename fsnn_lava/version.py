"""The version, in its own file so that every folder can import it."""

__version__ = "0.1.0"
