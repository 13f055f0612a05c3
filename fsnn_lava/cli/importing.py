"""fsnn-import SOURCE model.pt: probe and convert a trained network from another framework, and compare it with its source."""

from __future__ import annotations

import argparse
import importlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from math import prod
from pathlib import Path
from typing import Any

import torch

from fsnn_lava.cli.command import run_command
from fsnn_lava.cli.outputs import check_outputs
from fsnn_lava.cli.parsers.importing import import_parser
from fsnn_lava.data import load_data
from fsnn_lava.errors import BadArgument, CheckFailed
from fsnn_lava.formats.netx import read_netx, write_netx
from fsnn_lava.importing.from_nir import from_nir
from fsnn_lava.importing.from_torch import from_torch
from fsnn_lava.importing.ide_fsnn import from_ide_fsnn
from fsnn_lava.importing.lava_dl import from_lava_dl
from fsnn_lava.importing.network_file import FileKind, kind_of_file
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.nn.normalisation import Normalisation

_FUNCTION = re.compile(r"(?P<module>[A-Za-z_]\w*(\.\w+)*):(?P<function>[A-Za-z_]\w*)")
TORCH = "a torch module"
ONLY = {  # options that apply to one kind of source
    "data": TORCH,
    "leak": FileKind.IDE_FSNN.value,
    "vth": FileKind.IDE_FSNN.value,
    "written_by": FileKind.NIR.value,
    "dt": FileKind.NIR.value,
    "reset": FileKind.NIR.value,
}
ENDINGS = {FSNN: (".pt",), ChipNetwork: (".h5", ".hdf5", ".net")}


def fsnn_import(argv: Sequence[str] | None = None) -> int:
    """Run the `import` command with these arguments."""
    return run_command("fsnn-import", execute_import, import_parser().parse_args(argv))


def execute_import(args: argparse.Namespace) -> int:
    """Execute fsnn-import after parsing: read or build the source, convert it, write the result and read it back."""
    if args.samples < 1:
        raise BadArgument(f"--samples must be at least 1, got {args.samples}")
    check_outputs({"the output": args.output}, [args.source])
    net, kind = _imported(args)
    endings = ENDINGS[type(net)]
    if args.output.suffix not in endings:
        raise BadArgument(f"{args.output}: {kind} must be written to a file that ends in {' or '.join(endings)}")
    said = _written(net, args.output)
    if args.json:
        print(json.dumps({"source": args.source, "kind": kind, "output": str(args.output), **said}, indent=2, ensure_ascii=False))
    else:
        print(f"{args.source}, {kind}: {said['imported']}")
        print(f"{args.output}: {said['network']}; read back, it is the same network")
    return 0


def _imported(args: argparse.Namespace) -> tuple[FSNN | ChipNetwork, str]:
    """Import the network, and return it with the kind of its source."""
    path = Path(args.source)
    named = _FUNCTION.fullmatch(args.source)
    if named is not None and not path.exists():
        _check_options(args, TORCH)
        return _from_function(args, _called(named["module"], named["function"])), TORCH
    readers: dict[FileKind, Callable[[argparse.Namespace, Path], FSNN | ChipNetwork]] = {
        FileKind.NIR: _from_nir,
        FileKind.LAVA_DL: lambda _args, file: from_lava_dl(file),
        FileKind.IDE_FSNN: _from_checkpoint,
    }
    kind = kind_of_file(path)
    _check_options(args, kind.value)
    return readers[kind](args, path), kind.value


def _check_options(args: argparse.Namespace, kind: str) -> None:
    """Raise BadArgument for an option that this kind of source would ignore."""
    for name, only in ONLY.items():
        if getattr(args, name) is not None and kind != only:
            raise BadArgument(f"--{name.replace('_', '-')} is an option for {only}, but {args.source} is {kind}")


def _called(module: str, function: str) -> Any:
    """Call the user's own function and return its result; any error in it becomes one sentence."""
    folder = str(Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        return getattr(importlib.import_module(module), function)()
    except Exception as error:
        raise BadArgument(f"{module}:{function} raised {type(error).__name__}: {error}") from error


def _from_function(args: argparse.Namespace, module: Any) -> FSNN:
    if args.data is None:
        raise BadArgument("a torch module is calibrated and compared on training samples: add --data")
    dataset = load_data(args.data, args.data_dir, download=args.download, shape=args.input_shape)
    split = dataset.train if len(dataset.train) else dataset.test
    pixels = torch.from_numpy(split.batch(range(min(args.samples, len(split)))))
    sequences = len(split.shape) in (2, 4)  # [T, *shape]
    shape = tuple(args.input_shape or split.shape[sequences:])
    return from_torch(
        module,
        input_shape=shape,
        calibration=pixels if sequences or pixels[0].numel() != prod(shape) else pixels.reshape(len(pixels), *shape),
        steps=args.steps,
        normalisation=_normalisation(args),
        class_names=dataset.class_names,
    )


def _from_nir(args: argparse.Namespace, path: Path) -> FSNN:
    return from_nir(
        path,
        written_by=args.written_by,
        dt=args.dt,
        reset=args.reset,
        input_shape=args.input_shape,
        steps=args.steps,
        normalisation=_normalisation(args),
    )


def _from_checkpoint(args: argparse.Namespace, path: Path) -> FSNN:
    if args.leak is None:
        raise BadArgument(
            "a checkpoint of IDE-FSNN does not contain its leak: add --leak with the value of --leaky in training, or --leak 1 for IF"
        )
    return from_ide_fsnn(
        path,
        leak=args.leak,
        input_shape=args.input_shape,
        vth=2.0 if args.vth is None else args.vth,
        steps=args.steps,
        normalisation=_normalisation(args),
    )


def _normalisation(args: argparse.Namespace) -> Normalisation:
    return Normalisation(args.divisor, tuple(args.mean), tuple(args.std))


def _written(net: FSNN | ChipNetwork, path: Path) -> dict[str, Any]:
    """Write the network, read it back, and describe it."""
    if isinstance(net, ChipNetwork):
        write_netx(net, path)
        if read_netx(path).digest() != net.digest():
            raise CheckFailed(f"{path} does not contain the network that was written; the disk may be failing")
        return {"imported": net.notes["imported"], "network": f"{len(net.layers)} layers of integers, T = {net.steps}"}
    net.save(path)
    kept = FSNN.load(path).state_dict()
    if any(not torch.equal(value, kept[name]) for name, value in net.state_dict().items()):
        raise CheckFailed(f"{path} does not contain the network that was written; the disk may be failing")
    return {"imported": net.metrics["imported"], "network": repr(net)}


if __name__ == "__main__":
    sys.exit(fsnn_import())
