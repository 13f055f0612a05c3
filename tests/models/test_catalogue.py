"""The catalogue of trained networks is up to date, and only its files are kept."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.models.catalogue import CATALOGUE, download_from_catalogue

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"


def test_the_catalogue_is_up_to_date():
    assert runpy.run_path(str(EXAMPLES / "make_catalogue.py"))["catalogue"]() == CATALOGUE.read_text(encoding="utf-8")


@pytest.mark.parametrize("address", [str(EXAMPLES), EXAMPLES.as_uri()])
def test_files_are_downloaded_from_a_folder_or_an_address_and_checked(tmp_path, monkeypatch, address):
    monkeypatch.setenv("FSNN_MODELS", address)
    written = download_from_catalogue("digits", tmp_path)
    assert [path.relative_to(tmp_path).as_posix() for path in written] == ["digits/net.h5", "digits/model.pt"]
    assert all(path.read_bytes() == (EXAMPLES / "digits" / path.name).read_bytes() for path in written)
    monkeypatch.setenv("FSNN_MODELS", "/nowhere")
    assert download_from_catalogue("digits", tmp_path) == written  # nothing is missing


def test_a_file_of_another_release_is_not_kept(tmp_path, monkeypatch):
    served = tmp_path / "served"
    shutil.copytree(EXAMPLES / "digits", served / "digits")
    content = bytearray((served / "digits" / "net.h5").read_bytes())
    content[-1] ^= 1
    (served / "digits" / "net.h5").write_bytes(content)
    monkeypatch.setenv("FSNN_MODELS", str(served))
    with pytest.raises(BadFile, match=r"net\.h5 is not the file of this release: its SHA-256 must be [0-9a-f]{64}, got"):
        download_from_catalogue("digits", tmp_path / "kept")
    assert not list((tmp_path / "kept").rglob("*.h5"))


def test_what_cannot_be_downloaded_is_reported(tmp_path, monkeypatch):
    monkeypatch.delenv("FSNN_MODELS", raising=False)
    with pytest.raises(
        BadFile, match=r"of every network and model\.pt of digits, and the other files have no public address yet; set FSNN_MODELS"
    ):
        download_from_catalogue("digits", tmp_path)
    monkeypatch.setenv("FSNN_MODELS", str(tmp_path / "absent"))
    with pytest.raises(BadFile, match=r"cannot download .*absent/digits/net\.h5: No such file"):
        download_from_catalogue("digits", tmp_path)
    with pytest.raises(BadFile, match=r"there is no shipped network named mnits; did you mean mnist\?"):
        download_from_catalogue("mnits", tmp_path)
    with pytest.raises(BadFile, match=r"there is no shipped network named imagenet \(available: cifar10"):
        download_from_catalogue("imagenet", tmp_path)
