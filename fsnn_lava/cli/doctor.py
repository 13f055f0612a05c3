"""fsnn-doctor: show what is installed, which backends can run here, and what the others are missing; install Lava on request."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import sys
from collections.abc import Sequence
from typing import Any

import fsnn_lava
from fsnn_lava.backends.availability import BACKENDS, missing_for_backend
from fsnn_lava.backends.lava import install as lava_install
from fsnn_lava.backends.lava import lava_version
from fsnn_lava.cli.command import run_command
from fsnn_lava.cli.parsers.doctor import doctor_parser
from fsnn_lava.errors import BadArgument

PACKAGES = (
    *("torch", "numpy", "numba", "h5py", "scikit-learn", "tonic", "nir", "matplotlib", "tqdm"),
    *("scipy", "networkx", "asteval", "lava-nc", "lava-dl", "lava-loihi"),
)
VARIABLES = ("FSNN_DATA", "OMP_NUM_THREADS", "SLURM", "NOSLURM", "PARTITION", "BOARD", "LOIHI_GEN", "NXSDKHOST", "HOST_BINARY", "NXOPTIONS")


def fsnn_doctor(argv: Sequence[str] | None = None) -> int:
    """Run the command `doctor`: print the state of this machine; always 0. With --install-lava, 0 if Lava works afterwards."""
    return run_command("fsnn-doctor", execute_doctor, doctor_parser().parse_args(argv))


def execute_doctor(args: argparse.Namespace) -> int:
    """Execute fsnn-doctor after parsing: print what is installed and what can run here, or install Lava."""
    if args.install_lava:
        return _install_lava(args)
    if args.yes:
        raise BadArgument("--yes only applies to --install-lava: add that option too")
    found = _examine()
    print(json.dumps(found, indent=2) if args.json else _text(found))
    return 0


def _install_lava(args: argparse.Namespace) -> int:
    if args.json:
        raise BadArgument("--json cannot be combined with --install-lava: remove one of them")
    name, version = lava_version.pinned_lava_version()
    there = lava_version.installed_lava_version()
    print(f"{name} {there} is installed." if there else f"{name} {version} is not installed.")
    lava_install.install_lava(yes=args.yes)
    print("Checking it with a network of two neurons; compiling takes about half a minute the first time …", flush=True)
    print(f"{name} {version} works: {lava_install.verify_lava_install()}. fsnn-run --backend sim can run here.")
    return 0


def _examine() -> dict[str, Any]:
    """Return everything that determines what can run here, as JSON values."""
    return {
        "fsnn-lava": fsnn_lava.__version__,
        "python": {"version": platform.python_version(), "path": sys.executable},
        "platform": platform.platform(),
        "threads": {"cores": _cores(), **_torch()},
        "packages": {name: _version(name) for name in PACKAGES},
        "backends": {name: {"runs": not missing_for_backend(name), "lacks": list(missing_for_backend(name))} for name in BACKENDS},
        "data": _data(),
        "variables": {name: os.environ[name] for name in VARIABLES if name in os.environ},
    }


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _torch() -> dict[str, Any]:
    """Return threads and CUDA devices of torch; a torch that cannot be imported must not stop the doctor."""
    try:
        import torch
    except (ImportError, OSError) as error:
        return {"torch": f"cannot be imported: {error}"}
    return {"torch": torch.get_num_threads(), "cuda": torch.cuda.device_count() if torch.cuda.is_available() else 0}


def _data() -> dict[str, str | None]:
    """Return the folder from which each data set would be read; None if it is not found."""
    try:
        from fsnn_lava.data.search_path import FOLDERS, first_folder
    except ImportError as error:
        return {"any": f"cannot be read: {error}"}
    return {name: str(found) if (found := first_folder(folders, None)) else None for name, folders in FOLDERS.items()}


def _text(found: dict[str, Any]) -> str:
    threads = found["threads"]
    lines = [
        f"fsnn-lava   {found['fsnn-lava']}",
        f"Python      {found['python']['version']}   {found['python']['path']}",
        f"platform    {found['platform']}",
        f"threads     {threads['cores']} cores, torch uses {threads['torch']}; {threads.get('cuda', 0)} CUDA devices",
        "",
        "packages",
        *(f"  {name:<14}{version or '-'}" for name, version in found["packages"].items()),
        "",
        "backends",
        *(line for name, state in found["backends"].items() for line in _backend_lines(name, state)),
        "",
        "data sets",
        f"  {'digits':<14}comes with scikit-learn",
        *(f"  {name:<14}{place or '-'}" for name, place in found["data"].items()),
    ]
    if found["variables"]:
        lines += ["", "environment", *(f"  {name}={value}" for name, value in found["variables"].items())]
    return "\n".join(lines)


def _backend_lines(name: str, state: dict[str, Any]) -> list[str]:
    return [
        f"  {name:<8}{'runs' if state['runs'] else 'cannot run':<12}{BACKENDS[name]}",
        *(f"            lacks {item}" for item in state["lacks"]),
    ]


if __name__ == "__main__":
    sys.exit(fsnn_doctor())
