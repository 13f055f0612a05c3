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


def test_every_network_is_inside_the_package(installed):
    for name in catalogue_names():
        assert fl.find(name).read_bytes() == (ROOT / "examples" / "models" / name / "net.h5").read_bytes()
    assert fl.ChipNetwork.load(fl.find("cifar10")).readout.classes == 10
    assert fl.FSNN.load(fl.find("digits", file="model.pt")).architecture.classes == 10


def test_a_network_that_is_not_here_says_how_to_get_it(installed):
    sentence = (
        r"model\.pt of the shipped network mnist is not on this machine: fsnn get mnist copies it from the folder or URL in FSNN_MODELS"
    )
    with pytest.raises(fl.BadFile, match=sentence):
        fl.find("mnist", file="model.pt")


def test_a_downloaded_network_and_a_file_are_found(installed):
    path = installed / "data" / "models" / "fashion-mnist-if" / "model.pt"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"")
    assert fl.find("fashion-mnist-if", file="model.pt") == path == fl.find(path)


def test_a_name_that_does_not_exist_is_answered_with_those_that_do(installed):
    with pytest.raises(fl.BadFile, match=r"no shipped network of that name; did you mean digits\?"):
        fl.find("digit")
    with pytest.raises(fl.BadFile, match=r"no shipped network of that name \(available: .*digits"):
        fl.find("net.h5")


def test_in_the_source_tree_every_network_of_the_catalogue_is_found():
    for name in catalogue_names():
        assert [fl.find(name, file=file.name).stat().st_size for file in catalogue()[name]] == [file.bytes for file in catalogue()[name]]
