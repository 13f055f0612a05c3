"""A file of torch.save from a stranger: tensors and plain values only, no larger in memory than on the disk."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import torch

from fsnn_lava.errors import BadFile, FsnnError

_MAGIC = b"PK\x03\x04"
_SCRIPT = "constants.pkl"  # marks a TorchScript archive, which torch 2.3 hands to torch.jit.load whatever weights_only says


def unpack(path: Path, *, what: str) -> Any:
    """The content of the file; BadFile says why it is not one (`what`: "a model of fsnn-lava")."""
    try:
        _check_archive(path, what)
        return torch.load(path, map_location="cpu", weights_only=True)
    except OSError as error:
        raise BadFile(f"cannot read {path}: {error.strerror or error}") from error
    except pickle.UnpicklingError as error:
        raise BadFile(f"{path} holds more than tensors and plain values, and loading it could execute code; refused") from error
    except FsnnError:
        raise
    except Exception as error:  # torch raises whatever its archive reader met
        raise BadFile(f"{path} is damaged: it cannot be unpacked ({type(error).__name__})") from error


def _check_archive(path: Path, what: str) -> None:
    """An archive as torch writes it: nothing compressed, so nothing in it can be larger than the file."""
    with path.open("rb") as stream:
        begins = stream.read(4) == _MAGIC
    if not begins or not zipfile.is_zipfile(path):
        raise BadFile(f"{path} is not {what}, or it is cut short")
    with zipfile.ZipFile(path) as archive:
        entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    if unpacked > path.stat().st_size or any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
        raise BadFile(f"{path} would unpack to {unpacked} bytes; torch does not compress, so it did not write this: refused")
    if any(Path(entry.filename).name == _SCRIPT for entry in entries):
        raise BadFile(f"{path} is a TorchScript program, not {what}: refused")


def stored_numbers(tensor: torch.Tensor) -> int:
    """How many numbers of a tensor really lie in the file; 0 for one that is not plain (sparse, quantised, without content)."""
    if tensor.layout != torch.strided or tensor.device.type != "cpu" or tensor.is_quantized:
        return 0
    return min(tensor.numel(), tensor.untyped_storage().nbytes() // tensor.element_size())
