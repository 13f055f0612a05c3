"""fsnn-tune on a small network: what it writes, prints and refuses; killed and continued it gives the same answer."""

from __future__ import annotations

import json
from math import prod

import pytest
import torch

import fsnn_lava as fl
from fsnn_lava.cli import tune
from fsnn_lava.cli.tune import fsnn_tune
from fsnn_lava.data import load
from fsnn_lava.tuning.bench import Bench


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """A network that has learnt a little of the digits."""
    data = load("digits")
    torch.manual_seed(0)
    net = fl.FSNN("24 (F24)", input_shape=data.shape, classes=10, steps=6, normalisation=data.normalisation).train()
    optimiser = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    images, labels = torch.from_numpy(data.train.batch(range(400))), torch.from_numpy(data.train.labels[:400])
    for _ in range(25):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(net(images), labels).backward()
        optimiser.step()
    net.metrics = {"data": "digits"}
    path = tmp_path_factory.mktemp("tune") / "model.pt"
    net.save(path)
    return path


FEW = ("--samples", "200", "--max-drop", "2", "--bits", "8", "--processes", "1")


def test_the_cheapest_network_that_keeps_the_accuracy_is_written(model, tmp_path, capsys):
    target = tmp_path / "net.h5"
    assert fsnn_tune([str(model), str(target), *FEW, "--json", "--figure", str(tmp_path / "front.svg")]) == 0
    found = json.loads(capsys.readouterr().out)
    chip = fl.ChipNetwork.load(target)
    assert chip.digest() == found["chosen"]["digest"] and chip.steps == found["chosen"]["candidate"]["steps"]
    assert 100 * found["chosen"]["drop"] <= 2 and found["chosen"]["answer"] in ("runs", "runs with loss")
    able = [t for t in found["trials"] if not t["failure"] and 100 * t["drop"] <= 2 and t["answer"].startswith("runs")]
    assert prod(found["chosen"]["energy"]) == min(prod(trial["energy"]) for trial in able)
    assert 0.5 <= found["confidence"] <= 1 and found["samples"] == 200
    assert (tmp_path / "front.svg").exists() and not (tmp_path / "net.h5.tuning").exists()


def test_killed_and_continued_it_gives_the_same_answer(model, tmp_path, capsys, monkeypatch):
    assert fsnn_tune([str(model), str(tmp_path / "whole.h5"), *FEW]) == 0
    whole = capsys.readouterr()
    assert "candidates (0 cannot be built or are clipped) on 200 training samples" in whole.out
    assert "fsnn-tune: 38 of 38 trials" in whole.err
    original, done = Bench.try_out, []

    def stops(self, candidate):
        done.append(candidate)
        if len(done) == 20:
            raise KeyboardInterrupt
        return original(self, candidate)

    with monkeypatch.context() as patch:
        patch.setattr(Bench, "try_out", stops)
        assert fsnn_tune([str(model), str(tmp_path / "parts.h5"), *FEW]) == 130
    assert "finished trials are kept in" in capsys.readouterr().err and not (tmp_path / "parts.h5").exists()
    assert fsnn_tune([str(model), str(tmp_path / "parts.h5"), *FEW]) == 2
    assert "continue it with --resume" in capsys.readouterr().err
    assert fsnn_tune([str(model), str(tmp_path / "parts.h5"), *FEW, "--resume"]) == 0
    assert capsys.readouterr().out == whole.out.replace("whole.h5", "parts.h5")
    assert fl.ChipNetwork.load(tmp_path / "parts.h5").digest() == fl.ChipNetwork.load(tmp_path / "whole.h5").digest()


def test_where_nothing_keeps_the_accuracy_nothing_is_written(model, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(tune, "cheapest", lambda trials, **options: None)
    assert fsnn_tune([str(model), str(tmp_path / "net.h5"), *FEW, "--encodings", "rate"]) == 1
    assert "nothing was written" in capsys.readouterr().out and not (tmp_path / "net.h5").exists()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["net.h5", "--max-drop", "0.01"], "held-out samples cannot resolve a drop of 0.01 percentage points"),
        (["net.h5", "--bits", "9"], "--bits must be between 2 and 8, got 9"),
        (["net.h5", "--samples", "100000"], "--samples must be between 1 and"),
        (["net.h5", "--board", "moon"], "unknown board 'moon'"),
        (["net.h5", "--figure", "front.gif"], "the name of a picture must end in"),
        (["net.h5", "--processes", "0"], "--processes must be at least 1"),
        (["net.nir"], "the file name must end in"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_usage_is_one_sentence(model, options, sentence, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert fsnn_tune([str(model), *options]) == 2
    said = capsys.readouterr().err
    assert sentence in said and said.count("\n") == 1
