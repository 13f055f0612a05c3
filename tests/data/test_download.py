"""Downloads from a local server: complete, checked and unpacked, with nothing left behind after a failure."""

from __future__ import annotations

import functools
import hashlib
import http.server
import tarfile
import threading
import zipfile

import numpy as np
import pytest

from fsnn_lava.data import load
from fsnn_lava.data.addresses import RESOURCES, Resource
from fsnn_lava.data.download import download
from fsnn_lava.errors import BadData
from tests.helpers.data_files import write_cifar10, write_mnist, write_recording


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def server(tmp_path):
    """A folder, and the address under which it is served."""
    folder = tmp_path / "served"
    folder.mkdir()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=folder)) as serving:
        thread = threading.Thread(target=serving.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        thread.start()
        yield folder, f"http://127.0.0.1:{serving.server_port}/"
        serving.shutdown()
        thread.join()


def resource(path, address, *, folder=".", members="", md5=None):
    checksum = md5 or hashlib.md5(path.read_bytes()).hexdigest()
    return Resource((f"{address}absent/{path.name}", f"{address}{path.name}"), checksum, folder, path.name, members)


def serve_mnist(server, monkeypatch):
    folder, address = server
    written = write_mnist(folder, folder=".", suffix=".gz")
    found = tuple(resource(path, address, folder="MNIST/raw") for path in sorted(folder.glob("*.gz")))
    monkeypatch.setitem(RESOURCES, "mnist", found)
    return written


def test_a_missing_set_is_fetched_from_the_address_that_answers(tmp_path, server, monkeypatch):
    written = serve_mnist(server, monkeypatch)
    data = load("mnist", tmp_path / "root", download=True)
    np.testing.assert_array_equal(data.train.batch(slice(None))[:, 0], written["train-images-idx3-ubyte"])
    assert sorted(path.name for path in (tmp_path / "root/MNIST/raw").iterdir()) == sorted(f"{name}.gz" for name in written)


def test_a_damaged_file_is_fetched_again(tmp_path, server, monkeypatch):
    serve_mnist(server, monkeypatch)
    load("mnist", tmp_path / "root", download=True)
    damaged = tmp_path / "root/MNIST/raw/t10k-labels-idx1-ubyte.gz"
    damaged.write_bytes(b"rubbish")
    with pytest.raises(BadData, match="cannot be unpacked"):
        load("mnist", tmp_path / "root")
    assert len(load("mnist", tmp_path / "root", download=True).test) == 5


def test_without_being_asked_nothing_is_fetched(tmp_path, server, monkeypatch):
    serve_mnist(server, monkeypatch)
    with pytest.raises(BadData, match="was not found"):
        load("mnist", tmp_path / "root")
    assert not (tmp_path / "root").exists()


def test_a_wrong_checksum_leaves_no_file(tmp_path, server):
    folder, address = server
    (folder / "a.gz").write_bytes(b"something else")
    with pytest.raises(BadData, match=r"cannot download a\.gz \(.*absent/a\.gz: .*a\.gz: the MD5 sum must be 0000.*got [0-9a-f]{32}"):
        download((resource(folder / "a.gz", address, md5="0" * 32),), tmp_path / "root")
    assert list((tmp_path / "root").iterdir()) == []


def test_an_address_where_nobody_listens_is_named(tmp_path):
    with pytest.raises(BadData, match=r"cannot download a\.gz \(http://127\.0\.0\.1:9/a\.gz: .*refused"):
        download((Resource(("http://127.0.0.1:9/a.gz",), "0" * 32, ".", "a.gz"),), tmp_path)


def test_of_an_archive_only_the_files_of_the_set_are_unpacked(tmp_path, server, monkeypatch):
    folder, address = server
    write_cifar10(tmp_path / "made")
    stray = tmp_path / "stray.bin"
    stray.write_bytes(b"stray")
    with tarfile.open(folder / "cifar-10-binary.tar.gz", "w:gz") as tar:
        tar.add(tmp_path / "made/cifar-10-batches-bin", "cifar-10-batches-bin")
        for name in ("../stray.bin", "cifar-10-batches-bin/../../stray.bin", "elsewhere/data_batch_1.bin"):
            tar.add(stray, name)
        link = tarfile.TarInfo("cifar-10-batches-bin/link.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        tar.addfile(link)
    members = RESOURCES["cifar10"][0].members
    monkeypatch.setitem(RESOURCES, "cifar10", (resource(folder / "cifar-10-binary.tar.gz", address, members=members),))
    assert len(load("cifar10", tmp_path / "root", download=True).train) == 20
    assert [path.name for path in (tmp_path / "root").iterdir()] == ["cifar-10-batches-bin"]
    assert not any(path.is_symlink() or "stray" in path.name for path in (tmp_path / "root").rglob("*"))


def test_recordings_come_in_zip_files_and_join_those_that_are_there(tmp_path, server, monkeypatch):
    folder, address = server
    found = []
    for name, original in zip(("train.zip", "test.zip"), RESOURCES["nmnist"]):
        part = original.members[: original.members.index("/")]
        write_recording(tmp_path / part / "7/00001.bin", [(1, 2, 3, 1)])
        with zipfile.ZipFile(folder / name, "w") as archive:
            archive.write(tmp_path / part / "7/00001.bin", f"{part}/7/00001.bin")
            archive.writestr(f"{part}/7/notes.txt", "no recording")
        found.append(resource(folder / name, address, folder="NMNIST", members=original.members))
    monkeypatch.setitem(RESOURCES, "nmnist", tuple(found))
    write_recording(tmp_path / "root/NMNIST/Train/2/00002.bin", [(5, 5, 5, 0)])
    data = load("nmnist", tmp_path / "root", download=True)
    assert (data.train.labels.tolist(), data.test.labels.tolist()) == ([2, 7], [7])


def test_an_archive_without_the_set_is_refused(tmp_path, server):
    folder, address = server
    with zipfile.ZipFile(folder / "train.zip", "w") as archive:
        archive.writestr("readme.txt", "nothing here")
    with pytest.raises(BadData, match=r"train\.zip contains no file that matches Train"):
        download((resource(folder / "train.zip", address, members=r"Train/\d/\d+\.bin"),), tmp_path / "root")
    assert list((tmp_path / "root").iterdir()) == []
