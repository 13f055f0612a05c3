"""Network files: what is written is read back, damaged files are refused with a message, and slayer's files are read."""

from __future__ import annotations

import json
import os
from pathlib import Path

import h5py
import numpy as np
import pytest

from fsnn_lava.errors import BadFile
from fsnn_lava.formats import netx
from fsnn_lava.formats.standard_group import express_as_standard
from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse
from tests.helpers.chip_networks import conv_network, dense_network, skip_network
from tests.helpers.naive_delta import as_delta

NETWORKS = {
    "dense pixels": dense_network(1),
    "dense events": dense_network(2, kind="events", decay=205),
    "dense current": dense_network(3, kind="current"),
    "dense hard strict": dense_network(4, reset="zero", strict=True),
    "conv pixels": conv_network(5),
    "conv events": conv_network(6, kind="events", reset="zero"),
    "conv current": conv_network(7, kind="current", decay=41),
    "conv per channel": conv_network(8, per_channel=True),
    "a skip and two loops": skip_network(9),
    "a skip, delta encoding": as_delta(skip_network(9)),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "net.h5"


def edit(path: Path, change: object) -> None:
    with h5py.File(path, "r+") as file:
        change(file)


@pytest.mark.parametrize("ending", [".h5", ".net"])
@pytest.mark.parametrize("name", NETWORKS)
def test_a_file_written_is_the_file_read_back(name, ending, tmp_path):
    chip = NETWORKS[name]
    path = tmp_path / f"net{ending}"
    chip.save(path)
    back = ChipNetwork.load(path)
    assert back.digest() == chip.digest()
    assert back.notes == chip.notes
    assert back.class_names == chip.class_names


def test_the_same_network_makes_the_same_bytes(tmp_path):
    for name in ("a.h5", "b.h5"):
        conv_network(5).save(tmp_path / name)
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()


def test_what_was_there_before_stays_when_writing_fails(path):
    dense_network(1).save(path)
    before = path.read_bytes()
    broken = dense_network(2)
    object.__setattr__(broken, "notes", {"not": object()})
    with pytest.raises(TypeError):
        broken.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["net.h5"]


def test_an_unwritable_folder_is_reported(tmp_path):
    with pytest.raises(BadFile, match="cannot write"):
        dense_network(1).save(tmp_path / "missing" / "net.h5")


DAMAGE = {
    "no format": (lambda f: f["fsnn"].attrs.__delitem__("format"), "attribute 'format' is missing"),
    "newer": (
        lambda f: f["fsnn"].attrs.__setitem__("version", 5),
        "it has format version 5, but this release reads 1 to 4: install a newer",
    ),
    "no layers": (lambda f: f["fsnn"].__delitem__("layers"), "'layers' is missing"),
    "a gap": (lambda f: f["fsnn/layers"].move("0", "3"), "must be numbered"),
    "a weight changed": (
        lambda f: f["fsnn/synapses/0/weight"].__setitem__((0, 0), 1 if f["fsnn/synapses/0/weight"][0, 0] != 1 else 2),
        "digest does not match",
    ),
    "steps a text": (lambda f: f["fsnn"].attrs.__setitem__("steps", "many"), "'steps' must be an integer"),
    "unknown synapse": (lambda f: f["fsnn/synapses/0"].attrs.__setitem__("kind", "lstm"), "kind must be one of dense, conv, transposed"),
    "a name with no layer": (lambda f: f["fsnn/synapses/0"].attrs.__setitem__("target", "l9"), "there is no layer 'l9'"),
    "notes no JSON": (lambda f: replace_data(f["fsnn"], "notes", np.frombuffer(b"{", np.uint8)), "'notes' must be JSON"),
    "weights not integers": (
        lambda f: replace_data(f["fsnn/synapses/0"], "weight", np.zeros((5, 7))),
        "must contain integers, got float64",
    ),
    "weights out of range": (lambda f: replace_data(f["fsnn/synapses/0"], "weight", np.full((5, 7), -128)), "must be between -127 and 127"),
    "wrong axes": (lambda f: replace_data(f["fsnn/synapses/0"], "weight", np.zeros((5, 7, 1), np.int8)), "must have 2 axes"),
    "huge": (lambda f: huge(f["fsnn/synapses/0"]), "takes 1099511627776 bytes, too much for a file of"),
    "soft link": (lambda f: relink(f["fsnn/readout"], h5py.SoftLink("/fsnn/layers/0/bias")), "is a link"),
    "external link": (lambda f: relink(f["fsnn/readout"], h5py.ExternalLink("/etc/passwd", "/x")), "is a link"),
    "a group for an array": (lambda f: relink(f["fsnn/readout"], None), "must be an array"),
}


def replace_data(group: h5py.Group, name: str, data: np.ndarray) -> None:
    del group[name]
    group[name] = data


def huge(group: h5py.Group) -> None:
    del group["weight"]
    group.create_dataset("weight", shape=(2**20, 2**20), dtype="i1", chunks=(1024, 1024), compression="gzip")


def relink(group: h5py.Group, link: object) -> None:
    del group["bias"]
    if link is None:
        group.create_group("bias")
    else:
        group["bias"] = link


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_with_a_message(damage, path):
    dense_network(1).save(path)
    change, sentence = DAMAGE[damage]
    edit(path, change)
    with pytest.raises(BadFile, match=sentence) as caught:
        netx.read_netx(path)
    assert "net.h5" in str(caught.value)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.9, 0.999])
def test_a_truncated_file_is_refused(share, path):
    conv_network(1).save(path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    with pytest.raises(BadFile, match=r"net\.h5"):
        netx.read_netx(path)


def test_flipped_bytes_are_never_read_as_another_network(path):
    chip = dense_network(1)
    chip.save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(content), 60):
        changed = bytearray(content)
        changed[position] ^= 0x55
        path.write_bytes(bytes(changed))
        try:
            assert netx.read_netx(path).digest() == chip.digest()
        except BadFile:
            continue


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda p: None, "does not exist"),
        (lambda p: p.mkdir(), "is not a file"),
        (lambda p: p.write_text("a text"), "not an HDF5 file"),
        (lambda p: h5py.File(p, "w").close(), "not a network"),
    ],
    ids=["missing", "a folder", "a text", "empty HDF5"],
)
def test_a_file_that_is_not_a_network_is_refused(make, sentence, path):
    make(path)
    with pytest.raises(BadFile, match=sentence):
        netx.read_netx(path)


# --- the standard groups ---------------------------------------------------------------------------------------------------


def standard(path: Path, chip: ChipNetwork) -> dict[str, object]:
    chip.save(path)
    with h5py.File(path) as file:
        return dict(file["fsnn/netx"].attrs)


def test_the_file_says_what_stock_netx_gets_of_it(path):
    dense = standard(path, dense_network(1, kind="events", reset="zero"))
    assert dense["complete"]
    assert dense["exact"]
    conv = standard(path, conv_network(1, kind="events"))
    assert not conv["complete"], "NetX has no layer for a transposed convolution back"
    assert not conv["exact"], "NetX resets to zero"
    assert "rate" in str(standard(path, dense_network(1))["input"]), "pixels at 2**-6 beside whole feedback weights do not fit int8"


def test_a_network_graph_has_no_part_for_stock_netx_and_the_file_says_why(path):
    said = standard(path, skip_network(1))
    assert said["input"] == "none: NetX has only chains of layers, without skips and with one forward connection each"
    assert not said["complete"]
    with h5py.File(path) as file:
        assert list(file) == ["fsnn"]
        assert file["fsnn"].attrs["version"] == 3


def test_a_chain_keeps_the_version_that_older_ones_read(path):
    for chip, version in ((conv_network(1), 1), (as_delta(dense_network(1)), 2)):
        chip.save(path)
        with h5py.File(path) as file:
            assert file["fsnn"].attrs["version"] == version


def test_a_dilated_convolution_of_slayer_is_read(path):
    slayer_file(path, layers={1: {"dilation": np.array([1, 2]), "padding": np.array([1, 2])}})
    assert netx.read_netx(path).synapses[0].dilation == (1, 2)


def test_layers_of_the_standard_group_are_those_of_the_chain(path):
    conv_network(1).save(path)
    with h5py.File(path) as file:
        kinds = [file[f"layer/{i}/type"][0].decode() for i in range(len(file["layer"]))]
        assert kinds == ["input", "conv", "conv", "flatten", "dense"]
        assert file["layer/1/bias"].shape == (8, 6, 3), "one bias per neuron stands in (W, H, C) order"
        assert file["layer/2/weight"] == file["fsnn/synapses/1/weight"], "weights that are alike are stored once"
        assert "messageBits" not in file["layer/1/neuron"]


def test_expressing_is_exact_where_it_fits_and_rounds_where_it_does_not():
    small = express_as_standard(np.array([[3.0, -1.5]]), None, np.array(100.0), np.array([-2.25]))
    assert small.exact
    assert small.factor == 4.0
    assert small.weight.tolist() == [[12, -6]]
    assert (int(small.threshold), small.bias.tolist()) == (400, [-9])
    large = express_as_standard(np.array([[100.0, 0.015625]]), None, np.array(100.0), np.array([0.0]))
    assert not large.exact
    assert large.weight.tolist() == [[127, 0]]
    assert int(large.threshold) == 127


# --- files of slayer -------------------------------------------------------------------------------------------------------


def slayer_file(path: Path, **changes: object) -> None:
    """As slayer writes it: float32 weights that are even numbers, S10 types, scalars of int64."""
    rng = np.random.default_rng(0)
    neuron = {
        "type": "CUBA",
        "iDecay": 4096,
        "vDecay": 100,
        "vThMant": 70,
        "refDelay": 1,
        "gradedSpike": False,
        **changes.pop("neuron", {}),
    }
    layers = [
        {"type": "input", "shape": np.array([2, 5, 6])},
        {
            "type": "conv",
            "shape": np.array([3, 5, 3]),
            "weight": (2 * rng.integers(-100, 101, (3, 2, 3, 3, 1))).astype(np.float32),
            "stride": np.array([1, 2]),
            "padding": np.array([1, 1]),
            "dilation": np.array([1, 1]),
            "groups": 1,
        },
        {"type": "flatten", "shape": np.array([45])},
        {
            "type": "dense",
            "shape": np.array([4, 1, 1]),
            "weight": (2 * rng.integers(-100, 101, (4, 45))).astype(np.float32),
            "bias": rng.integers(-5, 6, 4),
        },
    ]
    for place, update in changes.pop("layers", {}).items():
        layers[place].update(update)
    with h5py.File(path, "w") as file:
        for i, layer in enumerate(layers):
            group = file.create_group(f"layer/{i}")
            for key, value in layer.items():
                group.create_dataset(key, data=np.array([value.encode()], dtype="S10") if key == "type" else value)
            if layer["type"] in ("conv", "dense", "dense_rec"):
                for key, value in neuron.items():
                    group.create_dataset(f"neuron/{key}", data=value)


def test_a_file_of_slayer_is_read(path):
    slayer_file(path)
    chip = netx.read_netx(path)
    assert chip.input.kind == "events"
    assert [type(s) for s in chip.synapses] == [ConvSynapse, DenseSynapse]
    assert chip.synapses[0].exponent == 1, "even weights up to 254 are halved"
    assert chip.synapses[0].stride == (1, 2)
    assert chip.decay == 100
    assert all(layer.reset == "zero" and layer.strict for layer in chip.layers)
    with h5py.File(path) as file:
        np.testing.assert_array_equal(2 * chip.synapses[0].weight.astype(int), file["layer/1/weight"][..., 0])
        np.testing.assert_array_equal(chip.layers[1].bias, file["layer/3/bias"])
    assert chip.readout.classes == 4


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"layers": {1: {"type": "convT"}}}, "layers of type 'convT' are not supported"),
        ({"layers": {1: {"dilation": np.array([0, 1])}}}, "stride and dilation must be positive"),
        ({"layers": {1: {"delay": np.array([1.0])}}}, "delays are not supported"),
        ({"layers": {3: {"weight": np.full((4, 45), 0.5, np.float32)}}}, "must contain integers"),
        ({"layers": {3: {"weight": np.full((4, 45), 129, np.float32)}}}, r"must be between -127 and 127, got 129"),
        ({"layers": {3: {"bias": np.zeros(3)}}}, "'bias' must have one entry per channel"),
        ({"neuron": {"type": "SDNN"}}, "neurons of type 'SDNN' are not supported"),
        ({"neuron": {"iDecay": 1024}}, "current_decay = 1"),
        ({"layers": {0: {"type": "dense"}}}, "the first layer must be an input"),
    ],
)
def test_what_cannot_be_read_of_slayer_is_reported(changes, sentence, path):
    slayer_file(path, **changes)
    with pytest.raises(BadFile, match=sentence):
        netx.read_netx(path)


def test_class_names_that_are_not_text_are_refused(path):
    dense_network(1).save(path)
    edit(path, lambda f: replace_data(f["fsnn"], "class_names", np.frombuffer(json.dumps([1, 2, 3]).encode(), np.uint8)))
    with pytest.raises(BadFile, match="list of strings"):
        netx.read_netx(path)
