"""Ways to damage a file, drawn by a seed: bytes for every file, structure for those that have one."""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile
from collections.abc import Callable
from random import Random
from typing import Any

import h5py
import numpy as np
import torch

from tests.torture.damage_json import found, json_text, json_tree

HUGE = (0, -1, 1, 255, 2**15, 2**31 - 1, 2**31, 2**32, 2**40, 2**62, 2**63 - 1, -(2**63))


def damaged(kind: str, content: bytes, random: Random) -> bytes:
    """The file with one to four faults of its kind in it."""
    ways = random.choices(_WAYS[kind] + _BYTES, k=random.choice((1, 1, 1, 2, 4)))
    for way in sorted(ways, key=_BYTES.count):  # structure first: what the libraries do with damaged bytes is what we are to find out
        content = way(content, random)
    return content


def flip(content: bytes, random: Random) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice((1, 1, 3, 20))):
        if changed:
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def overwrite(content: bytes, random: Random) -> bytes:
    """A run of bytes becomes zeros, ones, noise or a number at the edge of its type."""
    at = random.randrange(len(content) + 1)
    edge = struct.pack(random.choice("<>") + "q", random.choice(HUGE))
    new = random.choice((bytes(8), b"\xff" * random.choice((1, 2, 4, 8)), random.randbytes(random.randrange(1, 40)), edge, edge[:4]))
    return content[:at] + new + content[at + len(new) :]


def cut(content: bytes, random: Random) -> bytes:
    return content[: random.randrange(len(content) + 1)]


def splice(content: bytes, random: Random) -> bytes:
    """A piece is left out, doubled or moved."""
    start, end = sorted((random.randrange(len(content) + 1), random.randrange(len(content) + 1)))
    piece = content[start : min(end, start + 2000)]
    return random.choice((content[:start] + content[start + len(piece) :], content[:end] + piece + content[end:], content + piece))


# --- HDF5


def hdf5(content: bytes, random: Random) -> bytes:
    """One attribute, array or group is replaced by something it should not be."""
    memory = io.BytesIO(content)
    try:
        with h5py.File(memory, "r+") as file:
            names: list[str] = []
            file.visit(names.append)
            if names:
                _replace(file, random.choice(names), random)
    except (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError):
        return content  # an earlier fault made it unreadable already
    return memory.getvalue()


def _replace(file: h5py.File, name: str, random: Random) -> None:
    item = file[name]
    attributes = [(file, key) for key in file.attrs] + [(item, key) for key in item.attrs]
    if attributes and random.random() < 0.5:
        owner, key = random.choice(attributes)
        owner.attrs[key] = random.choice(_ATTRIBUTES)(owner.attrs[key], random)
        return
    parent, last = (file[name.rpartition("/")[0]] if "/" in name else file), name.rpartition("/")[2]
    old = item[()] if isinstance(item, h5py.Dataset) and (item.size or 0) < 2**20 else None  # it may be huge already
    del parent[last]
    random.choice(_MEMBERS)(parent, last, old, random)


_ATTRIBUTES: list[Callable[[Any, Random], Any]] = [
    lambda old, random: random.choice(HUGE[:-1]),
    lambda old, random: np.array([random.choice(HUGE) for _ in range(random.randrange(5))], np.int64),
    lambda old, random: random.choice((math.nan, math.inf, -0.0, 1e308)),
    lambda old, random: np.array([math.nan, -math.inf]),
    lambda old, random: "x" * random.choice((0, 1, 300, 60000)),
    lambda old, random: b"\xff\xfe",
    lambda old, random: np.array(["a" * 9000] * 4000, dtype=object),
    lambda old, random: h5py.Empty("f8"),
    lambda old, random: np.zeros((2, 2), complex),
    lambda old, random: -old if isinstance(old, (int, float, np.integer, np.floating)) else random.choice(HUGE[:-1]),
]


def _gone(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    """Nothing in its place."""


def _group(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    parent.create_group(name)


def _soft(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    parent[name] = h5py.SoftLink(random.choice(("/", ".", name, "/nowhere", "/fsnn")))


def _external(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    parent[name] = h5py.ExternalLink(random.choice(("/etc/passwd", "missing.h5", "/dev/zero")), "/")


def _cycle(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    parent[name] = parent


def _elsewhere(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    parent.create_dataset(name, shape=(64,), dtype="u1", external=[("/etc/passwd", 0, 64)])


def _huge(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    shape = random.choice(((2**40,), (2**31, 2**20), (30000, 30000), (2**13, 2**13, 3, 3), (2**29,)))
    parent.create_dataset(name, shape=shape, dtype=random.choice(("i1", "u1", "i4", "f8")), chunks=tuple(min(64, n) for n in shape))


def _chunk(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    """A small array in one piece of 2 GiB that packs to nothing."""
    parent.create_dataset(name, shape=(8,), maxshape=(None,), dtype="u1", chunks=(2**31,), compression="gzip")


def _bomb(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    parent.create_dataset(name, data=np.zeros((2 ** random.choice((20, 24)),), "i1"), compression="gzip", compression_opts=9)


def _other(parent: h5py.Group, name: str, old: Any, random: Random) -> None:
    """The same numbers in another type or shape, or numbers out of range."""
    array = np.asarray(0 if old is None else old)
    changes: list[Callable[[], Any]] = [
        lambda: array.astype("f4") if array.dtype.kind in "iuf" else 0,
        lambda: np.full(array.shape, random.choice((math.nan, math.inf, 1e300))),
        lambda: np.full(array.shape, random.choice(HUGE), np.int64),
        lambda: array.reshape(-1),
        lambda: array[None],
        lambda: array[..., None, None],
        lambda: np.zeros((0, *array.shape[1:]), "i4"),
        lambda: array.T,
        lambda: np.zeros(array.shape, [("a", "i4"), ("b", "f8")]),
        lambda: np.zeros(array.shape, "c16"),
        lambda: "text",
        lambda: np.array([b"x" * 70000]),
        lambda: h5py.Empty("i4"),
    ]
    parent[name] = random.choice(changes)()


_MEMBERS = [_gone, _group, _soft, _external, _cycle, _elsewhere, _huge, _chunk, _bomb, _other, _other, _other, _other]


# --- zip archives: model.pt and .npz


def repack(content: bytes, random: Random) -> bytes:
    """One member is damaged, left out, doubled or blown up, and the checksums fit again."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # an earlier fault made it unreadable already
        return content
    if not members:
        return content
    at = random.randrange(len(members))
    name, body = members[at]
    choice = random.randrange(6)
    if choice == 0:
        del members[at]
    elif choice == 1:
        members.append((name, body))
    elif choice == 2:
        members[at] = (name, body + bytes(2**24))
    elif choice == 3:
        members.append((name.rpartition("/")[0] + "/constants.pkl", body))
    else:
        members[at] = (name, random.choice((flip, overwrite, cut, splice))(body, random))
    memory = io.BytesIO()
    with zipfile.ZipFile(
        memory, "w", random.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)) if choice != 2 else zipfile.ZIP_DEFLATED
    ) as new:
        for name, body in members:
            new.writestr(name, body)
    return memory.getvalue()


def torch_tree(content: bytes, random: Random) -> bytes:
    """One value of the saved dictionary becomes another one."""
    try:
        tree = torch.load(io.BytesIO(content), weights_only=True)
    except Exception:  # an earlier fault made it unreadable already
        return content
    if not isinstance(tree, dict):
        return content
    table, key = _entry(tree, random)
    table[key] = random.choice(_VALUES)(table[key], random)
    memory = io.BytesIO()
    torch.save(tree, memory)
    return memory.getvalue()


def _entry(tree: dict[Any, Any], random: Random) -> tuple[dict[Any, Any], Any]:
    """A table anywhere in the tree, and a key of it."""
    key = random.choice(list(tree))
    if isinstance(tree[key], dict) and tree[key] and random.random() < 0.9:
        return _entry(tree[key], random)
    return tree, key


_VALUES: list[Callable[[Any, Random], Any]] = [
    lambda old, random: random.choice(HUGE),
    lambda old, random: random.choice((math.nan, math.inf, -1.0, 1e308)),
    lambda old, random: random.choice((None, "", "99999C99 (F9)", "1000000-1000000", {}, [], (), (2**40, 2**40, 2**40), (-1, 6, 6), True)),
    lambda old, random: torch.zeros(1).expand(2**20, 2**20),
    lambda old, random: torch.full((3, 1, 3, 3), math.nan),
    lambda old, random: torch.zeros(2, 2, dtype=torch.complex64),
    lambda old, random: torch.zeros(3).to_sparse(),
    lambda old, random: torch.empty(2**30, 2**10, device="meta"),
    lambda old, random: old.double().T if isinstance(old, torch.Tensor) and old.ndim == 2 and old.numel() < 2**20 else old,
]


def npz(content: bytes, random: Random) -> bytes:
    """Other arrays than there should be, or the header of another one."""
    arrays: dict[str, Any] = {"x": np.zeros((5, 1, 4, 4), np.uint8), "y": np.arange(5)}
    name = random.choice("xy")
    new = [
        np.zeros(0),
        np.full((5, 4), math.nan),
        np.arange(5) - 3,
        np.zeros((5, 1, 4, 4), "u2"),
        np.array([{}] * 5, dtype=object),
        np.array("é"),
    ]
    arrays[name] = random.choice(new)
    memory = io.BytesIO()
    with zipfile.ZipFile(memory, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            single = io.BytesIO()
            np.lib.format.write_array(single, array)
            body = single.getvalue()
            if random.random() < 0.5:
                shape = random.choice((b"(-1, -5)", b"(5, -16)", b"(999999999999, 9)", b"(5,", b"((((((", b"(True,)", b"(5.0,)"))
                body = re.sub(rb"\([^)]*\)", lambda _: shape, body, count=1)  # noqa: B023
            archive.writestr(f"{key}.npy", body)
    return memory.getvalue()


# --- TOML


def toml(content: bytes, random: Random) -> bytes:
    """One value or one line becomes another."""
    lines = content.decode("utf-8", "replace").splitlines() or [""]
    at = random.randrange(len(lines))
    values = (
        "nan",
        "inf",
        "-1",
        "0",
        "1e999",
        str(2**70),
        "9" * 400,
        "9" * 5000,
        '""',
        "[]",
        "{}",
        "[" * 3000,
        "true",
        '"\\u0000"',
        "1979-05-27",
        "'../../x'",
    )
    key, equals, _ = lines[at].partition("=")
    if equals and random.random() < 0.7:
        lines[at] = f"{key}= {random.choice(values)}"
    else:
        lines[at] = random.choice(
            ("[" + "a." * 2000 + "a]", "a.b.c = 1", "x = " + "{a = " * 2000, "[[data]]", "chip = 7", "partitions = 3", "")
        )
    return "\n".join(lines).encode("utf-8", "replace")


_BYTES: list[Callable[[bytes, Random], bytes]] = [flip, overwrite, cut, splice]
_WAYS: dict[str, list[Callable[[bytes, Random], bytes]]] = {
    "hdf5": [hdf5] * 12,
    "part": [hdf5] * 9 + [found] * 9,
    "torch": [repack] * 4 + [torch_tree] * 8,
    "npz": [repack] * 4 + [npz] * 4,
    "toml": [toml] * 8,
    "json": [json_text] * 3 + [json_tree] * 6,
    "bytes": [],
}
