"""fsnn-get: trained networks by name, checked by their hash."""

from __future__ import annotations

from pathlib import Path

import fsnn_lava as fl
from fsnn_lava.cli.get import fsnn_get
from fsnn_lava.models import find

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"


def test_a_network_that_was_got_is_found_by_its_name(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FSNN_DATA", str(tmp_path))
    monkeypatch.setenv("FSNN_MODELS", str(EXAMPLES))
    monkeypatch.setattr(find, "EXAMPLES", tmp_path / "absent")
    assert fsnn_get(["fashion-mnist-if"]) == 0
    assert fl.find("fashion-mnist-if", file="model.pt") == tmp_path / "models" / "fashion-mnist-if" / "model.pt"
    assert capsys.readouterr().out.count("size and SHA-256 match this release") == 2
    assert fsnn_get(["--list"]) == 0
    listed = {line.split()[0]: line.partition(" MB  ")[2] for line in capsys.readouterr().out.splitlines()}
    assert listed["fashion-mnist-if"] == "on this machine: net.h5, model.pt"
    assert listed["fashion-mnist-lif"] == "on this machine: net.h5; missing: model.pt"


def test_files_that_are_here_already_are_checked_and_not_downloaded(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("FSNN_DATA", str(tmp_path))
    monkeypatch.delenv("FSNN_MODELS", raising=False)
    assert fsnn_get(["mnist"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said == [f"{EXAMPLES / 'mnist' / name}: size and SHA-256 match this release" for name in ("net.h5", "model.pt")]
    assert not list(tmp_path.iterdir())


def test_no_name_and_a_wrong_one_are_reported(capsys):
    assert fsnn_get([]) == 2
    assert capsys.readouterr().err == "fsnn-get: no network given: add a name (--list shows all of them)\n"
    assert fsnn_get(["imagenet"]) == 2
    assert "there is no shipped network named imagenet" in capsys.readouterr().err
