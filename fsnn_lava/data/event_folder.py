"""Folders of event camera recordings, one per class, converted to frames when a batch needs them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fsnn_lava.data.class_folders import LabelledFiles, class_folder_labels
from fsnn_lava.data.dataset import Dataset
from fsnn_lava.data.event_files import ENDINGS as EVENT_ENDINGS
from fsnn_lava.data.event_files import read_event_file
from fsnn_lava.data.event_frames import OPTIONS, Framing
from fsnn_lava.data.frame_cache import FOLDER, FrameCache
from fsnn_lava.data.recordings import RecordingSplit
from fsnn_lava.data.search_path import default_root
from fsnn_lava.data.source import Source
from fsnn_lava.errors import BadArgument, BadData
from fsnn_lava.nn.normalisation import Normalisation

ENDINGS = frozenset(EVENT_ENDINGS)


def load_event_folder(source: Source, folder: Path, files: LabelledFiles) -> Dataset:
    """Load event recordings as frames (see `Framing`); files that do not state the size of their sensor need the option `sensor`."""
    source.check_keys(OPTIONS)
    given = source.sides("sensor")
    sensor = given or _sensor(source, files.every[0])
    framing = Framing.of(source, (*sensor, 2))
    cached = source.choice("cache", ("yes", "no")) == "yes"
    cache = FrameCache(default_root() / FOLDER / folder.name, framing.shape) if cached else None
    train, test = (_split(part, framing, cache, None if given else sensor) for part in (files.train, files.test))
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


def _sensor(source: Source, first: Path) -> tuple[int, int]:
    known = read_event_file(first)[1]
    if known is None:
        raise BadArgument(
            f"{first.name} does not contain the size of its sensor: specify it, for example --data {source.name},sensor=640x480"
        )
    return known


def _split(
    files: tuple[tuple[Path, int], ...], framing: Framing, cache: FrameCache | None, sensor: tuple[int, int] | None
) -> RecordingSplit:
    paths = tuple(path for path, _ in files)
    return RecordingSplit(lambda index: _events(paths[index], sensor), tuple(map(str, paths)), class_folder_labels(files), framing, cache)


def _events(path: Path, sensor: tuple[int, int] | None) -> np.ndarray:
    """Return the events of a file; BadData if the size of its sensor differs from that in the first file."""
    events, own = read_event_file(path)
    if sensor is not None and own not in (None, sensor):
        sizes = [f"{width} x {height}" for width, height in (own or sensor, sensor)]
        raise BadData(f"{path}: its sensor has {sizes[0]} pixels, but that of the first recording has {sizes[1]}; all must be equal")
    return events
