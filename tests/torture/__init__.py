"""Faults on purpose: damaged files, killed processes, full disks, poor machines, long runs. `make torture` runs all of it, often."""

from __future__ import annotations

import os

OFTEN = os.environ.get("FSNN_TORTURE") == "1"  # set by `make torture`; `make test` runs a part
