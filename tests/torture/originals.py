"""One honest, small file for every reader, and the call that reads it."""

from __future__ import annotations

import importlib.util
import pickle
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import nir as nir_package
import numpy as np
import torch
from PIL import Image

from fsnn_lava.backends.emulator.delta import DeltaEmulator
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.data import event_files, load
from fsnn_lava.data.cifar import LAYOUT, _read_binary, _read_python
from fsnn_lava.data.event_files import read_event_file
from fsnn_lava.data.idx import read_idx
from fsnn_lava.data.image_folder import read_image
from fsnn_lava.data.nmnist import read_nmnist_events
from fsnn_lava.errors import Remark
from fsnn_lava.formats import model, netx, nir, results
from fsnn_lava.importing.from_nir import from_nir
from fsnn_lava.importing.ide_fsnn import from_ide_fsnn
from fsnn_lava.limits import DECAY_UNIT
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.graph import Connection, Graph, Neurons
from fsnn_lava.nn.neurons import SigmaDelta
from fsnn_lava.placement.board import FOLDER, load_board
from fsnn_lava.training.recipe import load_recipe
from fsnn_lava.tuning.candidate import Candidate
from fsnn_lava.tuning.journal import TuningJournal
from fsnn_lava.tuning.trial import Trial
from tests.helpers.chip_networks import conv_network, dense_network, skip_network
from tests.helpers.data_files import event_bytes, idx_bytes, random_images, write_idx
from tests.helpers.event_data import random_events
from tests.helpers.ide_checkpoint import random_state, write_checkpoint
from tests.helpers.naive_delta import as_delta
from tests.helpers.nir_files import nir_chain, numbers
from tests.torture import kept_run

EVENT_ENDINGS = event_files.ENDINGS if importlib.util.find_spec("faery") else ()
ROOT = Path(__file__).parent.parent.parent


@dataclass(frozen=True)
class Original:
    """A file that is read without complaint: its kind decides which structural damage it gets beside flipped bytes."""

    name: str
    path: Path
    read: Callable[[Path], Any]
    kind: str  # "hdf5", "part", "torch", "npz", "toml", "json" or "bytes"


def originals(folder: Path) -> list[Original]:
    """Every reader once, with its file in `folder`."""
    makers: list[tuple[str, str, Callable[[Path], Any], str, Callable[[Path], Any]]] = [
        ("network", "net.h5", lambda path: netx.write_netx(conv_network(1), path), "hdf5", netx.read_netx),
        (
            "host drive",
            "current.h5",
            lambda path: netx.write_netx(dense_network(2, kind="current", decay=100), path),
            "hdf5",
            netx.read_netx,
        ),
        ("network graph", "graph.h5", lambda path: netx.write_netx(skip_network(3), path), "hdf5", netx.read_netx),
        ("delta network", "delta.h5", lambda path: netx.write_netx(as_delta(dense_network(2)), path), "hdf5", netx.read_netx),
        ("delta results", "delta-results.h5", _delta_results, "hdf5", results.read_results),
        ("slayer", "slayer.net", _slayer, "hdf5", netx.read_netx),
        ("nir", "net.nir", lambda path: nir.write_nir(dense_network(3), path), "hdf5", nir.read_nir),
        ("nir of others", "other.nir", _other_nir, "hdf5", lambda path: from_nir(path, dt=1.0, reset="subtract")),
        ("ide-fsnn", "best.pth.tar", _checkpoint, "torch", lambda path: from_ide_fsnn(path, leak=0.9, input_shape=(3, 6, 6))),
        ("results", "results.h5", _results, "hdf5", results.read_results),
        ("model", "model.pt", _model, "torch", model.read_model),
        ("model of a graph", "graph.pt", _graph_model, "torch", model.read_model),
        ("model that sends changes", "changes.pt", _delta_model, "torch", model.read_model),
        ("npz", "samples.npz", _npz, "npz", load),
        ("recipe", "recipe.toml", lambda path: path.write_bytes((ROOT / "train/digits.toml").read_bytes()), "toml", load_recipe),
        ("board", "board.toml", lambda path: path.write_bytes((FOLDER / "oheo-gulch.toml").read_bytes()), "toml", load_board),
        ("idx", "images-idx3-ubyte", lambda path: path.write_bytes(idx_bytes(random_images(3, 28, 28))), "bytes", _read_images),
        ("idx.gz", "images-idx3-ubyte.gz", lambda path: write_idx(path, random_images(3, 28, 28)), "bytes", _read_images),
        (
            "cifar binary",
            "batch.bin",
            lambda path: path.write_bytes(bytes(2 * 3073)),
            "bytes",
            _read_cifar_binary,
        ),
        ("cifar python", "batch", _cifar, "bytes", lambda path: _read_python(path, LAYOUT["cifar10"])),
        (
            "n-mnist",
            "events.bin",
            lambda path: path.write_bytes(event_bytes([(3, 4, 70000, 1), (33, 0, 5, 0)])),
            "bytes",
            read_nmnist_events,
        ),
        ("own labels", "names.npz", _names, "npz", _load_quietly),
        ("image", "image.png", _image, "bytes", lambda path: read_image(path, mode="RGB", size=(6, 5))),
        *((f"event file {ending}", f"events{ending}", _event_file, "bytes", read_event_file) for ending in EVENT_ENDINGS),
        ("state of a training", "training/state.pt", kept_run.train, "torch", kept_run.resume_training),
        ("part of a run", f"1.h5.part/{kept_run.PART}", kept_run.keep, "part", kept_run.resume),
        ("note of a run", "2.h5.part/run.json", kept_run.keep, "json", kept_run.resume),
        ("note of a process", "3.h5.part/error.1", kept_run.keep, "json", kept_run.listen),
        ("journal of a search", "net.h5.tuning", _journal, "bytes", lambda path: TuningJournal(path, {}).open(resume=True)),
        ("lock", "4.h5.part/lock.0", kept_run.hold, "bytes", kept_run.meet),
    ]
    made = []
    for name, file, write, kind, read in makers:
        write(folder / file)
        made.append(Original(name, folder / file, read, kind))
    return made


def _other_nir(path: Path) -> None:
    """A chain with a recurrent layer, as the package nir writes it."""
    edges = [("input", "in"), ("in", "lif"), ("lif", "loop"), ("loop", "lif"), ("lif", "out"), ("out", "output")]
    nir_package.write(path, nir_chain(loop=nir_package.Linear(weight=0.1 * numbers(5, 6, 6)), edges=edges))


def _checkpoint(path: Path) -> None:
    write_checkpoint(path, random_state("conv", inputs=3, hidden=2, kernel=3))


def _journal(path: Path) -> None:
    journal = TuningJournal(path, {})
    journal.open(resume=False)
    for steps in (4, 8):
        candidate = Candidate(encoding="delta", bits=8, per_channel=False, steps=steps, dead_band=0.1)
        journal.add(Trial(candidate=candidate, samples=10, right=9, lost=1, answer="runs", cores=2, energy=(1e-6, 2e-6), digest="ab"))


def _read_images(path: Path) -> np.ndarray:
    return read_idx(path, axes=3)


def _read_cifar_binary(path: Path) -> Any:
    return _read_binary(path, LAYOUT["cifar10"])


def _model(path: Path) -> None:
    torch.manual_seed(0)
    FSNN("3C3s (F3C3)", input_shape=(1, 6, 6), classes=4, steps=5).save(path)


def _delta_model(path: Path) -> None:
    torch.manual_seed(0)
    FSNN("6 (F6)", input_shape=(4,), classes=3, steps=5, neuron=SigmaDelta(dead_band=0.1, activation="relu")).save(path)


def _graph_model(path: Path) -> None:
    torch.manual_seed(0)
    graph = Graph(
        (1, 6, 6),
        [Neurons("stem", (2, 3, 3), 1.5), Neurons("head", (2, 3, 3))],
        [
            Connection(source="input", target="stem", kind="conv", kernel=3, stride=2),
            Connection(source="stem", target="head", kind="conv", kernel=3),
            Connection(source="stem", target="head", kind="identity"),
            Connection(source="head", target="stem", kind="conv", kernel=3),
            Connection(source="head", target="head", kind="conv", kernel=1, limit=0.5),
        ],
    )
    FSNN(graph, classes=4, steps=5).save(path)


def _results(path: Path) -> None:
    chip = dense_network(4, decay=50)
    values = np.random.default_rng(0).integers(0, 256, (3, 7), np.uint8)
    results.write_results(path, Emulator(chip).run(values, steps=6, spikes=True), chip, values, labels=np.array([2, 0, 1]))


def _delta_results(path: Path) -> None:
    chip = as_delta(dense_network(4))
    values = np.random.default_rng(0).integers(0, 256, (3, 7), np.uint8)
    results.write_results(path, DeltaEmulator(chip).run(values, steps=6, spikes=True), chip, values, labels=np.array([2, 0, 1]))


def _npz(path: Path) -> None:
    np.savez_compressed(path, x=random_images(5, 1, 4, 4), y=np.arange(5))


def _names(path: Path) -> None:
    np.savez_compressed(path, x=random_images(5, 8, 9, 3), y=np.array(["owl", "cat", "dog", "cat", "owl"]), layout="BHWC")


def _load_quietly(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Remark)
        return load(path)


def _image(path: Path) -> None:
    Image.fromarray(random_images(1, 5, 6, 3)[0]).save(path)


def _event_file(path: Path) -> None:
    """A recording as faery writes it."""
    import faery

    events = np.zeros(60, faery.EVENTS_DTYPE)
    for name, column in zip(("x", "y", "t", "on"), zip(*random_events(1, side=32, count=60))):
        events[name] = column
    faery.events_stream_from_array(events, (32, 32)).to_file(str(path))


def _cifar(path: Path) -> None:
    content = {b"data": random_images(2, 3072), b"labels": [3, 9], b"batch_label": b"training batch"}
    path.write_bytes(pickle.dumps(content, protocol=2))


def _slayer(path: Path) -> None:
    """Input, convolution, dense with feedback, as lava-dl's slayer writes them."""
    rng = np.random.default_rng(5)
    with h5py.File(path, "w") as file:
        root = file.create_group("layer")
        _layer(root, "input", shape=[1, 6, 6])
        pairs = {"stride": [2, 2], "padding": [1, 1], "dilation": [1, 1], "groups": 1}
        _neuron(_layer(root, "conv", weight=rng.integers(-60, 60, (2, 1, 3, 3)), bias=rng.integers(-9, 9, 2), **pairs))
        _layer(root, "flatten")
        weights = {"weight": rng.integers(-60, 60, (4, 18)), "weight_rec": rng.integers(-60, 60, (4, 4))}
        _neuron(_layer(root, "dense_rec", **weights))


def _layer(root: h5py.Group, kind: str, **arrays: Any) -> h5py.Group:
    group = root.create_group(str(len(root)))
    group["type"] = np.array([kind.encode()], dtype="S10")
    for name, value in arrays.items():
        group[name] = np.asarray(value)
    return group


def _neuron(group: h5py.Group) -> None:
    neuron = group.create_group("neuron")
    neuron["type"] = "CUBA"
    for name, value in (("iDecay", DECAY_UNIT), ("vDecay", 128), ("vThMant", 80)):
        neuron[name] = value
