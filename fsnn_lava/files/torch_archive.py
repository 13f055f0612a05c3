"""Write a torch.save file atomically, and read an untrusted one: only tensors and plain values, no larger in memory than on disk.

torch.load is not used: some versions still in use execute code or read memory outside the file, even with weights_only.
"""

from __future__ import annotations

import io
import math
import zipfile
from pathlib import Path
from typing import Any

import torch

from fsnn_lava.errors import BadFile
from fsnn_lava.files.atomic import atomic_path
from fsnn_lava.files.plain_pickle import Call, Elsewhere, Name, NotPlain, read_plain_pickle

PICKLE_MAX = 2**24  # bytes of everything except tensor data; our own files have about ten thousand
VALUES_MAX = 2**20  # since lists may contain each other, a few bytes can describe unlimited contents
AXES_MAX = 32
_MAGIC = b"PK\x03\x04"
_PICKLE = "data.pkl"
_SCRIPT = "constants.pkl"  # marks a TorchScript archive
_TENSOR = "torch._utils _rebuild_tensor_v2"
_DTYPES = {
    "torch FloatStorage": torch.float32,
    "torch DoubleStorage": torch.float64,
    "torch HalfStorage": torch.float16,
    "torch BFloat16Storage": torch.bfloat16,
    "torch LongStorage": torch.int64,
    "torch IntStorage": torch.int32,
    "torch ShortStorage": torch.int16,
    "torch CharStorage": torch.int8,
    "torch ByteStorage": torch.uint8,
}


def write_torch_archive(path: str | Path, content: object) -> None:
    """Write a file atomically with torch.save; it is made in memory first, because torch ends a full disk with an error of its own."""
    buffer = io.BytesIO()
    torch.save(content, buffer)
    with atomic_path(path) as temporary:
        temporary.write_bytes(buffer.getvalue())  # a view that is part of an error's traceback can crash Python 3.12.1 (gh-111049)


def unpack_torch_archive(path: Path, *, what: str) -> Any:
    """Return what torch.save wrote to a file, tensors on the CPU; BadFile if it is not `what` (such as "a model of fsnn-lava")."""
    try:
        with path.open("rb") as stream:
            begins = stream.read(4) == _MAGIC
        if not begins or not zipfile.is_zipfile(path):
            raise BadFile(f"{path} is not {what}, or it is truncated")
        with zipfile.ZipFile(path) as archive:
            return _Archive(path, archive, what).content()
    except OSError as error:
        raise BadFile(f"cannot read {path}: {error.strerror or error}") from error
    except NotPlain as error:
        raise BadFile(
            f"{path} contains more than tensors and plain values; it is not loaded, because that could execute code ({error})"
        ) from error
    except (zipfile.BadZipFile, RecursionError, RuntimeError, ValueError, TypeError, LookupError, EOFError, ArithmeticError) as error:
        if isinstance(error, BadFile):
            raise
        raise BadFile(f"{path} is damaged: it cannot be unpacked ({type(error).__name__})") from error


class _Archive:
    def __init__(self, path: Path, archive: zipfile.ZipFile, what: str) -> None:
        """Accept only archives as torch writes them: uncompressed, so that no entry is larger than the file."""
        self.path, self.archive = path, archive
        self.storages: dict[str, torch.Tensor] = {}
        self.values_left = VALUES_MAX
        entries = archive.infolist()
        unpacked = sum(entry.file_size for entry in entries)
        if unpacked > path.stat().st_size or any(entry.compress_type != zipfile.ZIP_STORED for entry in entries):
            raise BadFile(f"{path} would unpack to {unpacked} bytes; torch does not write compressed files, so it is refused")
        if any(entry.compress_size != entry.file_size for entry in entries):  # both sizes decide how much is read
            raise BadFile(f"{path} is damaged: the two sizes of an entry differ, but torch does not compress")
        names = [entry.filename for entry in entries]
        if any(Path(name).name == _SCRIPT for name in names):
            raise BadFile(f"{path} is a TorchScript program, not {what}: refused")
        pickles = [entry for entry in entries if entry.filename.endswith(f"/{_PICKLE}")]
        if len(pickles) != 1:
            raise BadFile(f"{path} is not {what}: it must contain {_PICKLE} exactly once, got {len(pickles)}")
        if pickles[0].file_size > PICKLE_MAX:
            raise BadFile(f"{path} is damaged: its {_PICKLE} has {pickles[0].file_size} bytes, more than {PICKLE_MAX}")
        self.folder = pickles[0].filename.removesuffix(_PICKLE)
        if f"{self.folder}byteorder" in names and archive.read(f"{self.folder}byteorder") != b"little":
            raise BadFile(f"{path} was written on a big-endian machine: save it again on a little-endian one")

    def content(self) -> Any:
        return self._value(read_plain_pickle(self.archive.read(self.folder + _PICKLE)))

    def _value(self, value: Any) -> Any:
        """Return a copy of the value with its tensors. Shared values are copied each time, so cycles exceed VALUES_MAX."""
        self.values_left -= 1
        if self.values_left < 0:
            raise BadFile(f"{self.path} is damaged: it contains more than {VALUES_MAX} values")
        if isinstance(value, dict):
            return {key: self._value(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return type(value)(self._value(item) for item in value)
        if isinstance(value, Call):
            return self._tensor(value)
        if isinstance(value, (Name, Elsewhere)):
            raise NotPlain(f"it names {value.path if isinstance(value, Name) else 'a storage outside a tensor'}")
        return value

    def _tensor(self, call: Call) -> torch.Tensor:
        """Return the tensor that a call describes; all its numbers must be in the file."""
        if call.function.path != _TENSOR or len(call.arguments) not in (6, 7):
            raise NotPlain(f"it calls {call.function.path}")
        stored, offset, size, stride = call.arguments[:4]
        numbers = self._storage(stored)
        if not (_sides(size) and _sides(stride) and _sides((offset,)) and len(size) == len(stride)):
            raise BadFile(f"{self.path} is damaged: a tensor has an invalid shape")
        needed = math.prod(size)
        last = offset + sum((side - 1) * step for side, step in zip(size, stride)) if needed else offset - 1
        if needed > numbers.numel() or last >= numbers.numel():
            raise BadFile(f"{self.path} is damaged: a tensor has shape {size}, but its storage in the file holds {numbers.numel()} numbers")
        return numbers.as_strided(size, stride, offset)

    def _storage(self, stored: Any) -> torch.Tensor:
        """Return all numbers of a storage, [N]; the pickle must state the same length."""
        kind, dtype, key, _, count = stored.label if isinstance(stored, Elsewhere) else (None,) * 5
        if kind != "storage" or not isinstance(dtype, Name) or dtype.path not in _DTYPES or not isinstance(key, str):
            raise NotPlain("it contains a tensor of an unknown type")
        kept = _DTYPES[dtype.path]
        if key not in self.storages:
            read = bytearray(self.archive.read(f"{self.folder}data/{key}"))
            self.storages[key] = torch.frombuffer(read, dtype=torch.uint8) if read else torch.empty(0, dtype=torch.uint8)
        content = self.storages[key]
        if type(count) is not int or count * torch.empty(0, dtype=kept).element_size() != content.numel():
            said = count if type(count) is int else "no"
            raise BadFile(f"{self.path} is damaged: a storage declares {said} numbers of {kept}, but has {content.numel()} bytes")
        return content.view(kept)


def _sides(value: Any) -> bool:
    return isinstance(value, tuple) and len(value) <= AXES_MAX and all(type(side) is int and 0 <= side < 2**62 for side in value)
