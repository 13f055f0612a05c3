"""Lock files with hashes that meet setup.cfg, their bills of materials, and an answer to every advisory that applies."""

from __future__ import annotations

import json
import re

import pytest

from deploy.locks import audit, lockfile, make
from fsnn_lava.data.image_folder import FORMATS

PYTHONS = list(lockfile.PYTHONS)


@pytest.mark.parametrize("python", PYTHONS)
def test_every_requirement_of_the_package_is_pinned_with_hashes(python):
    assert lockfile.unmet(python) == []
    assert all(pin.hashes for pin in lockfile.read_lock(lockfile.lock_path(python)).values())


@pytest.mark.parametrize("python", PYTHONS)
def test_lava_is_the_same_file_on_every_python(python):
    (nc,), (dl,) = (lockfile.read_lock(path).values() for path in lockfile.LAVA)
    found = lockfile.read_everything(python)
    assert (str(found["lava-nc"].version), str(found["lava-dl"].version)) == (str(nc.version), str(dl.version)) == ("0.10.0", "0.6.0")
    assert set(nc.hashes) <= set(found["lava-nc"].hashes) and found["lava-dl"].hashes == dl.hashes


@pytest.mark.parametrize("python", PYTHONS)
def test_the_frameworks_of_the_tests_are_pinned_where_they_run(python):
    peers = lockfile.read_lock(lockfile.PEERS)
    assert {"norse", "sinabs", "snntorch", "spikingjelly"} <= set(peers)
    found = set(peers) & set(lockfile.read_everything(python))
    assert found == set(peers) - ({"spikingjelly"} if python == "3.10" else set())


def test_only_on_python_3_10_do_the_old_versions_that_lava_asks_for_come_with_it():
    versions = {python: [str(lockfile.read_everything(python)[name].version) for name in ("numpy", "networkx")] for python in PYTHONS}
    assert versions["3.10"] == ["1.26.4", "2.8.7"]
    assert all(lockfile.Version(numpy) >= lockfile.Version("2") for numpy, _ in list(versions.values())[1:])


@pytest.mark.parametrize("path", sorted(lockfile.FOLDER.glob("*.txt")), ids=lambda path: path.name)
def test_a_lock_names_no_host_and_no_option(path):
    text = path.read_text()
    assert "://" not in text
    assert not re.search(r"^\s*-(?!-hash)", text, flags=re.MULTILINE)


def test_a_requirement_that_the_lock_does_not_meet_is_found(monkeypatch):
    pins = lockfile.read_lock(lockfile.lock_path("3.11"))
    old = {**pins, "torch": lockfile.Pin("torch", lockfile.Version("2.2.0"), ("0" * 64,))}
    del old["h5py"]
    monkeypatch.setattr(lockfile, "read_lock", lambda path: old)
    assert [line.partition(" is required")[0] for line in lockfile.unmet("3.11")] == ["Python 3.11: torch>=2.3", "Python 3.11: h5py>=3.8"]


@pytest.mark.parametrize(
    "line", ["torch", "torch>=2", "torch==2.3.1", "torch @ https://example.org/torch.whl", "--index-url https://example.org"]
)
def test_a_line_that_is_not_a_pin_with_hashes_is_refused(tmp_path, line):
    (tmp_path / "lock.txt").write_text(f"{line}\n")
    with pytest.raises(ValueError, match="not a pinned version with hashes"):
        lockfile.read_lock(tmp_path / "lock.txt")


@pytest.mark.parametrize("python", PYTHONS)
def test_the_bill_of_materials_is_that_of_the_lock(python):
    pins, licences = lockfile.read_everything(python), json.loads(make.LICENCES.read_text())
    written = json.loads((lockfile.FOLDER / make.BILL.format(python)).read_text())
    assert written == make.bill_of_materials(python, pins, licences)


@pytest.mark.parametrize("python", PYTHONS)
def test_every_advisory_that_hits_a_pin_has_an_answer(python):
    assert [hit["ids"] for hit in audit.affected(python) if not hit.get("answer")] == []


def test_an_advisory_without_an_answer_fails_the_audit(monkeypatch, capsys):
    monkeypatch.setattr(audit, "advisories", lambda: ("today", [{"package": "asteval", "ids": ["X-1"], "affected": "<1", "what": "bad"}]))
    monkeypatch.setattr("sys.argv", ["audit", "--offline"])
    assert audit.main() == 1
    said = capsys.readouterr().out
    assert said.count("NO ANSWER") == 1 and "asteval 0.9.33  X-1  bad" in said


def test_what_the_answers_say_is_not_called_is_not_called():
    calls = r"mkldnn_max_pool2d|ctc_loss|jit\.script|torch\.compile|linalg\.lu\b|nan_to_num\(.*\)\.long|rot90"
    calls += r"|distributed\.rpc|\.pt2|\b(import|from) (joblib|cv2|asteval)\b"
    library = {path.name: path.read_text() for path in (lockfile.ROOT / "fsnn_lava").rglob("*.py")}
    assert [name for name, text in library.items() if re.search(calls, text)] == []
    assert [name for name, text in library.items() if re.search(r"\b(import|from) PIL\b", text)] == ["image_folder.py"]
    assert not {"PSD", "FITS"} & set(FORMATS)
