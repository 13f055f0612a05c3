"""What every test shares: examples are drawn the same way each time, and no test is judged by the clock."""

from __future__ import annotations

import signal

from hypothesis import settings

settings.register_profile("repeatable", deadline=None, derandomize=True)
settings.load_profile("repeatable")

# Started in the background by a script, a process ignores Ctrl-C, and so do its children: tests that interrupt one would wait for ever.
signal.signal(signal.SIGINT, signal.default_int_handler)
