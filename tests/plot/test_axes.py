"""Figures need matplotlib only when they are drawn."""

from __future__ import annotations

import sys

import pytest

import fsnn_lava as fl


def test_without_matplotlib_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(fl.PackageMissing, match=r"figures need matplotlib, .*: pip install matplotlib") as caught:
        fl.plot.confusion([0, 1], [0, 1])
    assert caught.value.exit_code == 3
