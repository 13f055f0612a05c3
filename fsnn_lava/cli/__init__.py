"""The commands: one file each; they parse, call, and translate errors into sentences and exit codes."""

import os

# Read when torch is loaded. By default its idle threads keep a core busy for milliseconds, which somebody else may be waiting for.
if "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "10000")
