"""The version, apart from the public names, so that every folder may read it."""

__version__ = "0.1.0"
