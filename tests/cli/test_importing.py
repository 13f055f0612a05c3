"""fsnn-import: every kind of source, what it writes and prints, and one sentence where it cannot."""

from __future__ import annotations

import json
import sys

import nir
import numpy as np
import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.cli.importing import fsnn_import
from fsnn_lava.cli.parsers.importing import WRITERS
from fsnn_lava.importing import nir_neurons
from tests.helpers.ide_checkpoint import random_state, write_checkpoint
from tests.helpers.nir_files import nir_chain
from tests.torture.originals import _slayer

MODULE = """
import torch
from torch import nn

def trained():
    torch.manual_seed(0)
    return nn.Sequential(nn.Flatten(), nn.Linear(64, 12), nn.ReLU(), nn.Linear(12, 10))

def broken():
    raise RuntimeError("no weights here")

def number():
    return 3
"""


@pytest.fixture
def user_folder(tmp_path, monkeypatch):
    (tmp_path / "my_networks.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("my_networks", None)


def test_a_function_of_the_user_is_called_and_its_network_converted(user_folder, capsys):
    arguments = ["my_networks:trained", "model.pt", "--data", "digits", "--samples", "40", "--steps", "8", "--divisor", "16"]
    assert fsnn_import(arguments) == 0
    said, written = capsys.readouterr().out.splitlines()
    assert said.startswith(f"my_networks:trained, a torch module: torch {torch.__version__}: ReLU activations as rates")
    assert "40 calibration samples" in said and written.endswith("; read back, it is the same network")
    net = fl.FSNN.load("model.pt")
    assert net.steps == 8 and net.normalisation == fl.Normalisation(divisor=16.0)
    assert net.metrics["imported"] in said


def test_a_checkpoint_of_the_authors_becomes_a_model(tmp_path, capsys):
    write_checkpoint(tmp_path / "best.pth.tar", random_state("fc"))
    assert fsnn_import([str(tmp_path / "best.pth.tar"), str(tmp_path / "model.pt"), "--leak", "0.95", "--steps", "5", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["kind"] == "a checkpoint of IDE-FSNN" and "leak 0.95" in said["imported"]
    assert fl.FSNN.load(tmp_path / "model.pt").steps == 5


def test_an_nir_graph_becomes_a_model(tmp_path, capsys):
    nir.write(tmp_path / "net.nir", nir_chain())
    assert fsnn_import([str(tmp_path / "net.nir"), str(tmp_path / "model.pt"), "--dt", "1", "--reset", "subtract"]) == 0
    assert "an NIR graph: NIR graph net.nir, with dt = 1: " in capsys.readouterr().out
    assert fl.FSNN.load(tmp_path / "model.pt").architecture.classes == 3


def test_a_network_of_lava_dl_becomes_integers(tmp_path, capsys):
    _slayer(tmp_path / "slayer.net")
    assert fsnn_import([str(tmp_path / "slayer.net"), str(tmp_path / "net.h5")]) == 0
    assert "a network of lava-dl: lava-dl network slayer.net: layer1, layer2 resets to zero" in capsys.readouterr().out
    assert fl.ChipNetwork.load(tmp_path / "net.h5").digest() == fl.ChipNetwork.load(tmp_path / "slayer.net").digest()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["my_networks:trained", "model.pt"], "a torch module is calibrated and compared on training samples: add --data"),
        (["my_networks:broken", "model.pt"], "my_networks:broken raised RuntimeError: no weights here"),
        (["my_networks:absent", "model.pt"], "my_networks:absent raised AttributeError"),
        (["no_networks:trained", "model.pt"], "no_networks:trained raised ModuleNotFoundError"),
        (["my_networks:number", "model.pt", "--data", "digits"], "the network must be an nn.Module, got int"),
        (["absent.nir", "model.pt"], "absent.nir is neither a file nor MODULE:FUNCTION"),
        (["my_networks.py", "model.pt"], "is neither an HDF5 file (NIR, lava-dl) nor a file written by torch.save (IDE-FSNN)"),
        (["best.tar", "model.pt", "--dt", "1"], "--dt is an option for an NIR graph, but best.tar is a checkpoint of IDE-FSNN"),
        (["best.tar", "model.pt"], "does not contain its leak: add --leak"),
        (["best.tar", "model.h5", "--leak", "1"], "a checkpoint of IDE-FSNN must be written to a file that ends in .pt"),
        (["best.tar", "absent/model.pt", "--leak", "1"], "cannot write absent/model.pt"),
        (["net.nir", "model.pt", "--dt", "1"], "it resets to zero, which loses charge with every spike"),
        (["best.tar", "model.pt", "--samples", "0"], "--samples must be at least 1"),
        (["own.h5", "model.pt"], "it is already an fsnn-lava network"),
        (["numbers.h5", "model.pt"], "contains neither an NIR graph ('node') nor a network of lava-dl ('layer')"),
    ],
)
def test_what_cannot_be_imported_is_one_sentence_and_no_file(arguments, sentence, user_folder, capsys):
    import h5py

    from tests.helpers.chip_networks import dense_network

    write_checkpoint(user_folder / "best.tar", random_state("fc"))
    nir.write(user_folder / "net.nir", nir_chain())
    dense_network(1).save(user_folder / "own.h5")
    with h5py.File(user_folder / "numbers.h5", "w") as file:
        file["x"] = np.arange(3)
    before = set(user_folder.iterdir())
    assert fsnn_import(arguments) == 2
    said = capsys.readouterr().err
    assert said.startswith("fsnn-import: ") and said.count("\n") == 1
    assert sentence in said
    assert {path for path in user_folder.iterdir() if path.name != "__pycache__"} == before


def test_the_parser_knows_every_framework_that_writes_nir():
    assert set(WRITERS) == set(nir_neurons.WRITERS)
