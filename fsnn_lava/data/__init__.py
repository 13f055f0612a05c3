"""Data sets: real images and recordings, raw, as uint8."""

from __future__ import annotations

from fsnn_lava.data.dataset import ArraySplit, Dataset, Split
from fsnn_lava.data.load import NAMES, load_data

load = load_data  # its former name

__all__ = ["NAMES", "ArraySplit", "Dataset", "Split", "load", "load_data"]
