"""Shared settings: examples are drawn in the same way every time, and no test depends on the clock."""

from __future__ import annotations

import os
import signal

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

if "PYTEST_XDIST_WORKER" in os.environ:  # as many processes as cores: threads of theirs would wait for each other
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Started in the background by a script, a process ignores Ctrl-C, and so do its children: tests that interrupt one would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
