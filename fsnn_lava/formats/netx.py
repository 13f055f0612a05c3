"""NetX files of networks: one HDF5 file that stock NetX loads (group /layer) and that contains the exact ChipNetwork (group /fsnn).

Reading a file back gives the same network: `read_netx(path).digest() == chip.digest()`. Files without /fsnn, as exported by
lava-dl's slayer, can be read too (reset to zero, no feedback except dense_rec). The name may end in .h5 or .net.
"""

from __future__ import annotations

from pathlib import Path

import h5py

from fsnn_lava.files.hdf5 import open_file, write_file
from fsnn_lava.formats import exact_group, slayer_group, standard_group
from fsnn_lava.ir.network import ChipNetwork


def write_netx(chip: ChipNetwork, path: str | Path) -> None:
    """Write `chip` to a NetX file atomically; on failure (BadFile) an existing file is left unchanged."""

    def fill(file: h5py.File) -> None:
        exact_group.write_exact(file, chip)
        file[exact_group.GROUP].create_group("netx").attrs.update(standard_group.write_standard(file, chip))

    write_file(path, fill)


def read_netx(path: str | Path) -> ChipNetwork:
    """Read the network in a NetX file; BadFile if it is missing, damaged, not a network, or of a newer format."""
    with open_file(path) as root:
        if root.has(exact_group.GROUP):
            return exact_group.read_exact(root.group(exact_group.GROUP))
        if root.has(standard_group.GROUP):
            return slayer_group.read_slayer(root)
        raise root.fail("it is an HDF5 file, but not a network: it has neither a group 'fsnn' nor a group 'layer'")
    raise AssertionError("unreachable")
