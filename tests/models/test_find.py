"""Trained networks by name: packaged, in the source tree, downloaded, and how to get the others."""

from __future__ import annotations

from pathlib import Path

import pytest

import fsnn_lava as fl
from fsnn_lava.models import find as module
from fsnn_lava.models.catalogue import catalogue, catalogue_names

ROOT = Path(__file__).parents[2]


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """As from a wheel: no source tree, nothing downloaded."""
    monkeypatch.setattr(module, "EXAMPLES", tmp_path / "absent")
    monkeypatch.setenv("FSNN_DATA", str(tmp_path / "data"))
    return tmp_path


def test_small_networks_are_inside_the_package(installed):
    for name in ("digits", "mnist"):
        assert fl.find(name).read_bytes() == (ROOT / "examples" / "models" / name / "net.h5").read_bytes()
        assert fl.ChipNetwork.load(fl.find(name)).readout.classes == 10


def test_a_network_that_is_not_here_says_how_to_get_it(installed):
    with pytest.raises(fl.BadFile, match="not on this machine: fsnn get fashion-mnist-if copies it from the folder or URL in FSNN_MODELS"):
        fl.find("fashion-mnist-if")
    with pytest.raises(fl.BadFile, match=r"model\.pt of the shipped network digits is not on this machine"):
        fl.find("digits", file="model.pt")


def test_a_downloaded_network_and_a_file_are_found(installed):
    path = installed / "data" / "models" / "fashion-mnist-if" / "net.h5"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    assert fl.find("fashion-mnist-if") == path == fl.find(path)


def test_a_name_that_does_not_exist_is_answered_with_those_that_do(installed):
    with pytest.raises(fl.BadFile, match=r"no shipped network of that name; did you mean digits\?"):
        fl.find("digit")
    with pytest.raises(fl.BadFile, match=r"no shipped network of that name \(available: .*digits"):
        fl.find("net.h5")


def test_in_the_source_tree_every_network_of_the_catalogue_is_found():
    for name in catalogue_names():
        assert [fl.find(name, file=file.name).stat().st_size for file in catalogue()[name]] == [file.bytes for file in catalogue()[name]]
