"""Find trained networks by name: inside the package, in examples/models of the source tree, or downloaded by `fsnn get`."""

from __future__ import annotations

import difflib
from pathlib import Path

from fsnn_lava.data.search_path import default_root
from fsnn_lava.errors import BadFile
from fsnn_lava.models.catalogue import VARIABLE, catalogue_names

PACKAGED = Path(__file__).parent
EXAMPLES = Path(__file__).parents[2] / "examples" / "models"
NETWORK, MODEL = "net.h5", "model.pt"
DOWNLOADED = "models"  # subfolder of the data folder


def shipped_models(file: str = NETWORK) -> dict[str, Path]:
    """Find the files of trained networks on this machine, by name."""
    found = {path.parent.name: path for folder in (find_downloads_folder(), EXAMPLES) for path in sorted(folder.glob(f"*/{file}"))}
    inside = {path.stem: path for path in sorted(PACKAGED.glob(f"*{Path(file).suffix}"))}
    return {**inside, **found}


def find_downloads_folder() -> Path:
    """Return the folder that `fsnn get` writes to."""
    return default_root() / DOWNLOADED


def find(name_or_path: str | Path, *, file: str = NETWORK) -> Path:
    """Find the file of a trained network by its name.

    Args:
        name_or_path: the name of a shipped network, such as "digits"; a path is returned unchanged. The package contains net.h5 of all
            shipped networks, and model.pt of digits.
        file: "net.h5" for the integer network, "model.pt" for the float network from which it was made.

    Returns:
        The path, for `ChipNetwork.load` or `FSNN.load`.

    Raises:
        BadFile: there is no such file or name on this machine; the message says how to get it, or lists the names.

    Examples:
        >>> chip = fl.ChipNetwork.load(fl.find("digits"))
    """
    path, name = Path(name_or_path), str(name_or_path)
    if path.is_file():
        return path
    here = shipped_models(file)
    if name in here:
        return here[name]
    if name in catalogue_names():
        remedy = f"fsnn get {name} copies it from the folder or URL in {VARIABLE}"
        raise BadFile(f"{file} of the shipped network {name} is not on this machine: {remedy}")
    if path.is_dir():
        raise BadFile(f"{path} is a folder; name the file {file} in it, or a shipped network")
    close = difflib.get_close_matches(name, catalogue_names(), n=1)
    hint = f"; did you mean {close[0]}?" if close else f" (available: {', '.join(catalogue_names())})"
    raise BadFile(f"there is no file {path} and no shipped network of that name{hint}")


find_model = find  # name used inside the library
