"""fsnn-get NAME: download a trained network and verify its hash."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from fsnn_lava.cli.command import run_command
from fsnn_lava.cli.parsers.get import get_parser
from fsnn_lava.errors import BadArgument
from fsnn_lava.models.catalogue import catalogue, download_from_catalogue
from fsnn_lava.models.find import MODEL, NETWORK, find_downloads_folder, shipped_models


def fsnn_get(argv: Sequence[str] | None = None) -> int:
    """Run the `get` command with these arguments."""
    return run_command("fsnn-get", execute_get, get_parser().parse_args(argv))


def execute_get(args: argparse.Namespace) -> int:
    """Execute fsnn-get after parsing: download a network, or list all of them."""
    if args.list:
        width = max(map(len, catalogue()))
        for name, listed in catalogue().items():
            present = {file.name: name in shipped_models(file.name) for file in listed}
            found, missing = (", ".join(file for file, is_here in present.items() if is_here == wanted) for wanted in (True, False))
            size = sum(file.bytes for file in listed) / 1e6
            print(f"{name:<{width}}{size:6.1f} MB  on this machine: {found or 'nothing'}" + (f"; missing: {missing}" if missing else ""))
        return 0
    if args.network is None:
        raise BadArgument("no network given: add a name (--list shows all of them)")
    files = {file: shipped_models(file) for file in (NETWORK, MODEL)}
    here = {file: paths[args.network] for file, paths in files.items() if args.network in paths}
    for path in download_from_catalogue(args.network, find_downloads_folder(), here=here):
        print(f"{path}: size and SHA-256 match this release")
    return 0


if __name__ == "__main__":
    sys.exit(fsnn_get())
