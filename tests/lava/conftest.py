"""After every test no process is left running, and nothing lies in /dev/shm."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator

import pytest


def _shared_memory() -> set[str]:
    return {name for name in os.listdir("/dev/shm") if name.startswith("psm_")} if os.path.isdir("/dev/shm") else set()


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    before, children = _shared_memory(), set(multiprocessing.active_children())
    yield
    left = [child for child in multiprocessing.active_children() if child not in children]
    for child in left:
        child.kill()
    assert not left
    assert _shared_memory() <= before
