"""Files of torch.save are read as data: every number of every tensor is returned, and none that is not in the file."""

from __future__ import annotations

import errno
import re
import struct
import subprocess
import sys
import zipfile
from collections import OrderedDict
from pathlib import Path

import pytest
import torch

from fsnn_lava.errors import BadFile
from fsnn_lava.files import torch_archive
from fsnn_lava.files.torch_archive import unpack_torch_archive, write_torch_archive
from fsnn_lava.nn.fsnn import FSNN


def read(path: Path):
    return unpack_torch_archive(path, what="a test file")


def saved(path: Path, content) -> Path:
    torch.save(content, path)
    return path


def repickled(path: Path, change) -> Path:
    """The same archive with another pickle in it, and checksums that fit."""
    with zipfile.ZipFile(path) as archive:
        members = {info.filename: archive.read(info) for info in archive.infolist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name, body in members.items():
            archive.writestr(name, change(body) if name.endswith("data.pkl") else body)
    return path


def refused(path: Path, sentence: str) -> None:
    with pytest.raises(BadFile, match=sentence):
        read(path)


DTYPES = [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_tensors_come_out_as_torch_reads_them(tmp_path, dtype):
    whole = torch.arange(24).reshape(2, 3, 4).to(dtype)
    views = {"whole": whole, "turned": whole.permute(2, 0, 1), "part": whole[1, 1:], "one": whole[0, 0, 3], "none": whole[:0]}
    path = saved(tmp_path / "views.pt", views)
    found, expected = read(path), torch.load(path, weights_only=True)
    for name, tensor in expected.items():
        assert (found[name].dtype, found[name].stride()) == (dtype, tensor.stride())
        torch.testing.assert_close(found[name], tensor, rtol=0, atol=0)


def test_plain_values_ordered_tables_and_shared_tensors_come_out(tmp_path):
    weight = torch.tensor([1.0, -2.0])
    content = {
        "state": OrderedDict(a=weight, b=weight),
        "table": {0: {"step": 3, "exp_avg": -weight}, 1: None},
        "list": [1, -1.5, "ü", (True, 2**40)],
    }
    found = read(saved(tmp_path / "state.pt", content))
    assert found["state"]["a"].data_ptr() == found["state"]["b"].data_ptr()
    assert torch.equal(found["table"][0].pop("exp_avg"), -weight)
    assert found["table"] == {0: {"step": 3}, 1: None} and found["list"] == content["list"]


def test_the_state_of_an_optimiser_and_its_network_come_out(tmp_path):
    layer = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    optimiser = torch.optim.Adam(layer.parameters())
    layer(torch.randn(4, 3)).square().sum().backward()
    optimiser.step()
    found = read(saved(tmp_path / "both.pt", {"network": layer.state_dict(), "optimiser": optimiser.state_dict()}))
    other = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.BatchNorm1d(2))
    other.load_state_dict(found["network"])
    torch.optim.Adam(other.parameters()).load_state_dict(found["optimiser"])
    assert all(torch.equal(mine, theirs) for mine, theirs in zip(other.state_dict().values(), layer.state_dict().values()))


def test_numbers_beyond_the_file_are_not_read(tmp_path):
    """4 numbers that claim to be 60000: torch before 2.10 returns the memory behind them."""
    path = repickled(saved(tmp_path / "x.pt", torch.arange(4.0)), lambda pkl: pkl.replace(b"K\x04", b"M" + struct.pack("<H", 60000)))
    refused(path, "60000 numbers of torch.float32, but has 16 bytes")


@pytest.mark.parametrize("shape", [b"K\x05\x85", b"K\x04K\x02\x86", b"M\xff\xff\x85", b"K\x04X\x01\x00\x00\x00x\x86", b"]\x85"])
def test_a_view_that_ends_outside_its_storage_is_refused(tmp_path, shape):
    path = saved(tmp_path / "x.pt", torch.arange(4.0))
    refused(repickled(path, lambda pkl: re.sub(rb"(?<=QK\x00)K\x04\x85", lambda _: shape, pkl)), "is damaged: a tensor has")


def test_a_view_that_begins_outside_its_storage_is_refused(tmp_path):
    path = saved(tmp_path / "x.pt", torch.arange(4.0))
    refused(repickled(path, lambda pkl: pkl.replace(b"QK\x00", b"QK\x01")), r"shape \(4,\), but its storage in the file holds 4 numbers")


def test_items_are_set_on_dictionaries_only(tmp_path):
    """SETITEM on a tensor, which torch before 2.10 executes."""
    path = saved(tmp_path / "x.pt", torch.arange(4.0))
    refused(repickled(path, lambda pkl: pkl[:-1] + b"K\x00K\x01s."), "a dict is missing")


@pytest.mark.parametrize(
    "value", [torch.zeros(3).to_sparse(), torch.device("cpu"), torch.float32, torch.nn.Linear(2, 2), torch.empty(2, device="meta")]
)
def test_more_than_tensors_and_plain_values_is_refused(tmp_path, value):
    refused(saved(tmp_path / "x.pt", {"value": value}), "contains more than tensors and plain values")


def test_lists_that_contain_each_other_exceed_the_limit_of_values(tmp_path, monkeypatch):
    knot = [0]
    for _ in range(60):
        knot = [knot, knot]
    monkeypatch.setattr(torch_archive, "VALUES_MAX", 1000)
    refused(saved(tmp_path / "x.pt", knot), "more than 1000 values")
    knot = []
    knot.append(knot)
    refused(saved(tmp_path / "x.pt", knot), "RecursionError|more than 1000 values")


def test_a_pickle_of_many_bytes_is_refused_before_it_is_followed(tmp_path, monkeypatch):
    monkeypatch.setattr(torch_archive, "PICKLE_MAX", 1000)
    refused(saved(tmp_path / "x.pt", ["x" * 2000]), "more than 1000")


def test_numbers_that_many_tensors_share_are_counted_once(tmp_path):
    """Otherwise a small file could claim a large network and get its memory before it is refused."""
    net = FSNN("6 (F6)", input_shape=(4,), classes=2)
    net.save(tmp_path / "model.pt")
    content = torch.load(tmp_path / "model.pt", weights_only=True)
    shared = torch.zeros(1000)
    content["state"] = {f"x{i}": shared for i in range(5000)}
    content["config"]["architecture"] = "2000 (F2000)"
    with pytest.raises(BadFile, match="the file holds 1000 numbers"):
        FSNN.load(saved(tmp_path / "model.pt", content))


def test_the_library_never_calls_torch_load():
    """Whatever flaw is found in torch.load next, untrusted files never reach it."""
    folder = Path(torch_archive.__file__).parent.parent
    calls = [
        path.name for path in folder.rglob("*.py") if re.search(r"torch\.load\(|torch\.jit\.load\(|pickle\.loads?\(", path.read_text())
    ]
    assert calls == []


def test_a_full_disk_is_reported_by_the_name_of_the_file_and_the_old_one_stays(tmp_path, monkeypatch):
    """torch itself ends a full disk with a RuntimeError about positions."""
    path = tmp_path / "model.pt"
    write_torch_archive(path, {"a": torch.arange(3)})
    before = path.read_bytes()
    write_torch_archive(path, {"a": torch.arange(3)})
    assert path.read_bytes() == before  # no name of a temporary file in it

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BadFile, match=rf"^cannot write {path}: No space left on device$"):
        write_torch_archive(path, {"a": torch.arange(4)})
    assert path.read_bytes() == before and [one.name for one in tmp_path.iterdir()] == ["model.pt"]


FULL_DISK = """
import gc, pathlib, sys, warnings
from fsnn_lava.errors import BadFile
from fsnn_lava.files.torch_archive import write_torch_archive

def full(path, data):
    view = memoryview(data)
    raise OSError(28, "No space left on device")

pathlib.Path.write_bytes = full
try:
    write_torch_archive(sys.argv[1], {"a": 1})
except BadFile as error:
    kept = [error]
    kept.append(kept)  # the traceback, and everything in it, is left to the garbage collector
del kept
gc.collect()
print("done")
"""


def test_what_a_full_disk_leaves_in_memory_is_collected_without_a_word(tmp_path):
    done = subprocess.run([sys.executable, "-c", FULL_DISK, str(tmp_path / "a.pt")], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
