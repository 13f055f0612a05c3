"""--data and --data-dir, the same for every command: a data set, and the folder that contains the data sets."""

from __future__ import annotations

import argparse
from pathlib import Path

from fsnn_lava.data.names import NAMES, TONIC

FORMS = f"{', '.join(NAMES)}, {TONIC}NAME, an .npz file, or a folder of images or recordings"


def add_data_options(options: argparse.ArgumentParser, *, default: str, purpose: str = "") -> None:
    """Add the options that select the data set and its folder."""
    options.add_argument("--data", metavar="NAME", help=f"{purpose}{FORMS} (default: {default})")
    options.add_argument("--data-dir", type=Path, metavar="DIR", help="folder that contains the data sets (default: $FSNN_DATA)")
    options.add_argument("--download", action="store_true", help="download the data set if it is missing")
