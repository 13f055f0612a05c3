"""Folders of event camera recordings, one per class, converted to frames when a batch needs them."""

from __future__ import annotations

from pathlib import Path

from fsnn_lava.data.class_folders import LabelledFiles, class_folder_labels
from fsnn_lava.data.dataset import Dataset
from fsnn_lava.data.event_files import ENDINGS as EVENT_ENDINGS
from fsnn_lava.data.event_files import read_event_file
from fsnn_lava.data.event_frames import OPTIONS, Framing
from fsnn_lava.data.frame_cache import FOLDER, FrameCache
from fsnn_lava.data.recordings import RecordingSplit
from fsnn_lava.data.search_path import default_root
from fsnn_lava.data.source import Source
from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.normalisation import Normalisation

ENDINGS = frozenset(EVENT_ENDINGS)


def load_event_folder(source: Source, folder: Path, files: LabelledFiles) -> Dataset:
    """The recordings of `files` as frames (see `Framing`); files that do not contain the size of their sensor need the option `sensor`."""
    source.check_keys(OPTIONS)
    framing = Framing.of(source, (*_sensor(source, files), 2))
    cached = source.choice("cache", ("yes", "no")) == "yes"
    cache = FrameCache(default_root() / FOLDER / folder.name, framing.shape) if cached else None
    train, test = (_split(part, framing, cache) for part in (files.train, files.test))
    return Dataset(
        name=folder.name,
        train=train,
        test=test,
        normalisation=Normalisation(1.0),
        class_names=files.class_names,
        kind="events",
        source=folder,
        remarks=files.remarks,
    )


def _sensor(source: Source, files: LabelledFiles) -> tuple[int, int]:
    given = source.sides("sensor")
    if given is not None:
        return given
    known = read_event_file(files.every[0])[1]
    if known is None:
        name = files.every[0].name
        raise BadArgument(f"{name} does not contain the size of its sensor: specify it, for example --data {source.name},sensor=640x480")
    return known


def _split(files: tuple[tuple[Path, int], ...], framing: Framing, cache: FrameCache | None) -> RecordingSplit:
    paths = tuple(path for path, _ in files)
    return RecordingSplit(
        lambda index: read_event_file(paths[index])[0], tuple(map(str, paths)), class_folder_labels(files), framing, cache
    )
