"""After every test no process is left running; no test, nor any process it forks, may make named shared memory."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator

import pytest


def _refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


@pytest.fixture(autouse=True)
def nothing_is_left_behind(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr("_posixshmem.shm_open", _refuse)  # /dev/shm is full: channels must not care
    children = set(multiprocessing.active_children())
    yield
    left = [child for child in multiprocessing.active_children() if child not in children]
    for child in left:
        child.kill()
    assert not left
