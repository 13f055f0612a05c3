"""Injected faults: damaged files, killed processes, full disks, limited machines, long runs. `make torture` runs all of it."""

from __future__ import annotations

import os

OFTEN = os.environ.get("FSNN_TORTURE") == "1"  # set by `make torture`; `make test` runs a part
