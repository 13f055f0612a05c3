"""Tell from its contents which program wrote a network file; the file's name does not matter."""

from __future__ import annotations

from enum import Enum
from pathlib import Path

from fsnn_lava.errors import BadFile
from fsnn_lava.files.hdf5 import open_file

_HDF5, _ZIP = b"\x89HDF\r\n\x1a\n", b"PK\x03\x04"


class FileKind(Enum):
    """A kind of file that can be imported, and its name in messages."""

    NIR = "an NIR graph"
    LAVA_DL = "a network of lava-dl"
    IDE_FSNN = "a checkpoint of IDE-FSNN"


def kind_of_file(path: Path) -> FileKind:
    """Return the kind of a network file; raise BadFile if it is none of these, or already an fsnn-lava network."""
    if not path.is_file():
        raise BadFile(f"{path} is neither a file nor MODULE:FUNCTION")
    with path.open("rb") as stream:
        begins = stream.read(len(_HDF5))
    if begins.startswith(_ZIP):
        return FileKind.IDE_FSNN
    if begins != _HDF5:
        raise BadFile(f"{path} is neither an HDF5 file (NIR, lava-dl) nor a file written by torch.save (IDE-FSNN)")
    with open_file(path) as root:
        if root.has("fsnn"):
            raise root.fail("it is already an fsnn-lava network: use it directly with fsnn-run, fsnn-map and fsnn-compare")
        for member, kind in (("node", FileKind.NIR), ("layer", FileKind.LAVA_DL)):
            if root.has(member):
                return kind
        raise root.fail("it is an HDF5 file, but contains neither an NIR graph ('node') nor a network of lava-dl ('layer')")
    raise AssertionError("unreachable")
