"""Damaged files, every reader: the remaining content or one message; never a traceback, crash, hang or 1 GiB of extra memory."""

from __future__ import annotations

import io
import math
import zipfile

import h5py
import numpy as np
import pytest
import torch

from fsnn_lava.errors import BadFile
from fsnn_lava.files.plain_pickle import NotPlain, read_plain_pickle
from fsnn_lava.formats import model, netx
from tests.helpers.chip_networks import dense_network
from tests.torture import kept_run
from tests.torture.fuzz import fuzz
from tests.torture.originals import EVENT_ENDINGS, _slayer

CASES = 1000


@pytest.mark.timeout(1200)  # a busy machine is not a hang: each file has its own limit
def test_a_damaged_file_gives_its_content_or_a_message():
    tally = fuzz(0, CASES)
    assert not tally.failures
    assert tally.counts["refused"] > CASES // 2  # the damage does hit
    assert sum(tally.counts.values()) == CASES
    assert len(tally.readers) == 29 + len(EVENT_ENDINGS)


def test_a_text_heap_that_would_loop_forever_is_refused(tmp_path):
    path = tmp_path / "net.h5"
    dense_network(1).save(path)
    content = bytearray(path.read_bytes())
    first = content.index(b"GCOL") + 16
    content[first : first + 16] = bytes(16)  # an object of no length: libhdf5 never gets past it
    path.write_bytes(content)
    with pytest.raises(BadFile, match="an object in a global heap extends past the end"):
        netx.read_netx(path)


def test_a_link_out_of_the_file_is_not_followed(tmp_path):
    path, other = tmp_path / "net.h5", tmp_path / "other.h5"
    dense_network(1).save(path)
    dense_network(1).save(other)
    with h5py.File(path, "r+") as file:
        del file["fsnn/readout"]
        file["fsnn/readout"] = h5py.ExternalLink(str(other), "/fsnn/readout")
    with pytest.raises(BadFile, match="links are not followed"):
        netx.read_netx(path)


def test_a_piece_of_2_gib_behind_8_numbers_is_not_unpacked(tmp_path):
    path = tmp_path / "net.h5"
    dense_network(1).save(path)
    with h5py.File(path, "r+") as file:
        del file["fsnn/notes"]
        file.create_dataset("fsnn/notes", shape=(8,), maxshape=(None,), dtype="u1", chunks=(2**31,), compression="gzip")
    with pytest.raises(BadFile, match="in chunks of 2147483648 bytes"):
        netx.read_netx(path)


def test_a_torchscript_program_is_not_a_model(tmp_path):
    path = tmp_path / "model.pt"
    torch.jit.save(torch.jit.script(torch.nn.Linear(2, 2)), path)
    with pytest.raises(BadFile, match="refused"):
        model.read_model(path)


def test_one_number_spread_over_a_terabyte_is_not_a_weight(tmp_path):
    path = tmp_path / "model.pt"
    config = {"architecture": "1000000", "input_shape": (1000000,), "classes": 10}
    state = {"weight": torch.zeros(1).expand(2**20, 2**20)}
    torch.save({"format": model.FORMAT, "version": 1, "config": config, "state": state}, path)
    with pytest.raises(BadFile, match="the file holds 1 numbers"):
        model.read_model(path)


def test_a_compressed_model_is_refused(tmp_path):
    memory, path = io.BytesIO(), tmp_path / "model.pt"
    torch.save({"zeros": torch.zeros(2**20)}, memory)
    with zipfile.ZipFile(memory) as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            new.writestr(info.filename, old.read(info))
    with pytest.raises(BadFile, match="torch does not write compressed files"):
        model.read_model(path)


def test_keys_that_take_forever_to_hash_are_refused():
    """t = (t, t), forty times: 2**40 leaves."""
    nested = b"".join(b"q" + bytes((i,)) + b"h" + bytes((i,)) + b"\x86" for i in range(40))
    with pytest.raises(NotPlain, match="neither a string nor a number"):
        read_plain_pickle(b"\x80\x02}K\x01" + nested + b"Ns.")


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("epoch", 2, "is damaged or not a training state"),
        ("best_epoch", True, "is damaged or not a training state"),
        ("history", [{}], "is damaged or not a training state"),
        ("best_accuracy", math.nan, "is damaged or not a training state"),
        ("network", torch.zeros(3), "is damaged or not a training state"),
        ("network", {"readout.weight": torch.full((3, 3), math.inf)}, "a parameter is not finite"),
        ("network", {"readout.weight": torch.zeros(3, 4)}, "does not match the network in its recipe: Error"),
        ("optimiser", {}, "does not match the network in its recipe"),
    ],
)
def test_a_training_state_of_something_else_is_refused(name, value, sentence, tmp_path):
    path = tmp_path / "training/state.pt"
    kept_run.train(path)
    torch.save({**torch.load(path, weights_only=True), name: value}, path)
    with pytest.raises(BadFile, match=f"{sentence}.*; last.pt and best.pt in the same folder may still be usable"):
        kept_run.resume_training(path)


@pytest.mark.parametrize("momentum", [0.5, torch.zeros(2)])
def test_what_an_optimiser_remembers_fits_its_network(momentum, tmp_path):
    path = tmp_path / "training/state.pt"
    kept_run.train(path)
    state = torch.load(path, weights_only=True)
    kept_run.resume_training(path)
    state["optimiser"]["state"][0]["momentum_buffer"] = momentum
    torch.save(state, path)
    with pytest.raises(BadFile, match="the optimiser's momentum does not fit the parameters"):
        kept_run.resume_training(path)
    state["optimiser"]["param_groups"][0]["momentum"] = 0.1
    torch.save(state, path)
    with pytest.raises(BadFile, match="its optimiser has different settings"):
        kept_run.resume_training(path)


def test_an_honest_file_is_far_from_every_limit(tmp_path):
    path = tmp_path / "net.h5"
    chip = dense_network(1, inputs=3000, size=500)
    chip.save(path)
    np.testing.assert_array_equal(netx.read_netx(path).synapses[0].weight, chip.synapses[0].weight)


def test_a_shape_of_millions_of_sides_is_refused_at_once(tmp_path):
    path = tmp_path / "slayer.net"
    _slayer(path)
    with h5py.File(path, "r+") as file:
        del file["layer/0/shape"]
        file.create_dataset("layer/0/shape", data=np.zeros(2**20, "i1"), compression="gzip")
    with pytest.raises(BadFile, match=r"'shape' must hold 1 … 8 numbers, got 1048576"):
        netx.read_netx(path)


def test_a_sentence_stays_one_also_when_it_quotes_a_text_without_end(tmp_path):
    path = tmp_path / "slayer.net"
    _slayer(path)
    with h5py.File(path, "r+") as file:
        del file["layer/1/type"]
        file["layer/1/type"] = np.array([b"x" * 70000])
    with pytest.raises(BadFile, match=r"layers of type 'xxx.* … .*x' are not supported, only dense") as found:
        netx.read_netx(path)
    assert len(str(found.value)) <= 1200
