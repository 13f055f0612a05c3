"""Outputs are checked before any work: they must be writable, different from each other, and not replace an input."""

from __future__ import annotations

import os
import shutil
from importlib import import_module

import pytest

import fsnn_lava as fl
from fsnn_lava.cli.outputs import check_outputs
from fsnn_lava.errors import BadArgument
from fsnn_lava.models.find import MODEL

RUN = ("run", "net.h5", "--backend", "emu", "--limit", "3")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a network, a model and the results of a run, in which the commands run."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(fl.find("digits"), "net.h5")
    shutil.copy(fl.find("digits", file=MODEL), "model.pt")
    assert command(*RUN, "--no-compare", "--out", "results.h5") == 0
    return tmp_path


def command(name: str, *arguments: str) -> int:
    module = "importing" if name == "import" else name
    code: int = getattr(import_module(f"fsnn_lava.cli.{module}"), f"fsnn_{name}")(arguments)
    return code


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((*RUN, "--out", "net.h5"), "--out net.h5 would overwrite an input of this command: choose another name"),
        ((*RUN, "--out", "sub/../net.h5"), "--out sub/../net.h5 would overwrite an input"),
        ((*RUN, "--report", "net.h5"), "--report net.h5 would overwrite an input"),
        ((*RUN, "--model", "model.pt", "--report", "model.pt"), "--report model.pt would overwrite an input"),
        ((*RUN, "--out", "r.h5", "--report", "r.h5"), "--out and --report are both r.h5: choose another name for one of them"),
        ((*RUN, "--report", "sub"), "cannot write sub: it is a folder"),
        ((*RUN, "--report", "none/r.html"), "cannot write none/r.html: there is no folder none"),
        ((*RUN, "--package", "new", "--out", "r.h5", "--report", "r.html"), "--package runs nothing: remove --out and --report"),
        ((*RUN, "--accuracy-min", "98"), "--accuracy-min must be between 0 and 1, got 98.0"),
        (("compare", "results.h5", "--report", "results.h5"), "--report results.h5 would overwrite an input"),
        (("compare", "results.h5", "--report", "none/r.html"), "cannot write none/r.html: there is no folder none"),
        (("export", "model.pt", "none/net.h5"), "cannot write none/net.h5: there is no folder none"),
        (("export", "model.pt", "new.h5", "--report", "model.pt"), "--report model.pt would overwrite an input"),
        (("map", "net.h5", "--svg", "net.h5"), "--svg net.h5 would overwrite an input"),
        (("tune", "model.pt", "none/net.h5"), "cannot write none/net.h5: there is no folder none"),
        (("import", "net.h5", "net.h5"), "the output net.h5 would overwrite an input"),
        (("train", "digits", "--curves", "none/c.png", "--out", "new"), "cannot write none/c.png: there is no folder none"),
        (("train", "digits", "--out", "net.h5"), "cannot write into the folder net.h5: it is a file"),
        (("train", "digits", "--resume", "--out", "new"), "new contains no run to resume"),
        (("train", "digits", "--set", "architecture=foo", "--out", "new"), "a layer is written like 400, 64C5 or P2 in 'foo' at column 1"),
        (("run", "sub", "--backend", "emu"), "sub is a folder; name the file net.h5 in it, or a shipped network"),
    ],
)
def test_a_bad_output_is_refused_at_once_and_nothing_is_written(arguments, sentence, folder, capsys):
    (folder / "sub").mkdir()
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    assert command(*arguments) == 2
    said = capsys.readouterr()
    assert said.err == f"fsnn-{arguments[0]}: {said.err.split(': ', 1)[1]}"
    assert sentence in said.err and said.err.count("\n") == 1 and said.out == ""
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert not (folder / "new").exists()


def test_a_folder_without_permission_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    with pytest.raises(BadArgument, match=rf"cannot write {tmp_path}/x: no permission to write to the folder {tmp_path}$"):
        check_outputs({"--out": tmp_path / "x"})


def test_names_that_are_not_files_and_outputs_that_are_not_wanted_are_ignored(tmp_path):
    check_outputs({"--out": tmp_path / "x", "--report": None}, ["digits", None, tmp_path / "y"])
