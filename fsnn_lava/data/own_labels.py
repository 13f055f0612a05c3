"""A user's own labels as class numbers: names, one-hot rows and whole floats are recognised with a remark, others rejected with advice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fsnn_lava.errors import BadData

CLASSES_MAX = 2**31
SHOWN = 6  # class names that a remark lists


@dataclass(frozen=True)
class Labels:
    """Class numbers of one or more arrays, and remarks about them."""

    arrays: tuple[np.ndarray, ...]  # [B] int64
    class_names: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


def recognise_labels(arrays: Sequence[np.ndarray], counts: Sequence[int], *, names: Sequence[str], where: str) -> Labels:
    """Return the labels of your own samples, `counts` per array; `names` are the names of the arrays in the file."""
    for array, count, name in zip(arrays, counts, names, strict=True):
        if array.ndim not in (1, 2) or len(array) != count or not array.size:
            raise BadData(f"{where}: {name} must be a vector of {count} class numbers, got {array.dtype} of shape {list(array.shape)}")
    remarks: tuple[str, ...] = ()
    if all(array.ndim == 2 and array.shape[1] == 1 for array in arrays):
        arrays = [array[:, 0] for array in arrays]
    if any(array.ndim == 2 for array in arrays):
        arrays, remarks = _from_one_hot(arrays, names, where)
    if all(array.dtype.kind in "US" for array in arrays):
        return _from_names(arrays, remarks)
    texts = [name for array, name in zip(arrays, names, strict=True) if array.dtype.kind in "US"]
    if texts:
        raise BadData(f"{where}: {' and '.join(texts)} holds names, but the other labels are numbers: use either in all of them")
    numbers = tuple(_whole(array, name, where) for array, name in zip(arrays, names, strict=True))
    if not remarks and min(int(array.min()) for array in numbers) == 1:
        remarks = ("no sample has class 0: if the labels count from 1, subtract 1 from them",)
    return Labels(numbers, remarks=remarks)


def recognise_targets(arrays: Sequence[np.ndarray], counts: Sequence[int], *, names: Sequence[str], where: str) -> list[np.ndarray]:
    """Return vectors or matrices of finite numbers as targets, [N, outputs] float32 each."""
    found = []
    for array, count, name in zip(arrays, counts, names, strict=True):
        good = array.ndim in (1, 2) and len(array) == count and array.size > 0 and array.dtype.kind in "biuf"
        if not good or not bool(np.isfinite(array.astype(np.float64)).all()):
            shape = f"{array.dtype} of shape {list(array.shape)}"
            raise BadData(f"{where}: {name} must be finite numbers, [{count}] or [{count}, outputs], got {shape}")
        found.append(np.array(array.reshape(count, -1), np.float32, order="C"))  # copied, so that it is writable
    if len({array.shape[1] for array in found}) > 1:
        raise BadData(f"{where}: {' and '.join(names)} must have the same number of outputs, got {[array.shape[1] for array in found]}")
    return found


def _from_one_hot(arrays: Sequence[np.ndarray], names: Sequence[str], where: str) -> tuple[list[np.ndarray], tuple[str, ...]]:
    widths = {array.shape[1] if array.ndim == 2 else 0 for array in arrays}
    for array, name in zip(arrays, names, strict=True):
        if not _is_one_hot(array) or len(widths) > 1:
            raise BadData(
                f"{where}: {name} must be a vector of class numbers or one-hot rows (one 1 each), got {array.dtype} of shape "
                f"{list(array.shape)}; write y.argmax(1) if its largest entry is the class"
            )
    said = f"y has shape {list(arrays[0].shape)}: interpreted as one-hot rows of {widths.pop()} classes"
    return [array.argmax(axis=1) for array in arrays], (said,)


def _is_one_hot(array: np.ndarray) -> bool:
    if array.ndim != 2 or array.dtype.kind not in "biuf":
        return False
    return bool(((array == 0) | (array == 1)).all() and (array.sum(axis=1) == 1).all())


def _from_names(arrays: Sequence[np.ndarray], remarks: tuple[str, ...]) -> Labels:
    """Return class numbers in the alphabetical order of the names."""
    texts = [np.char.decode(array, "utf-8", "replace") if array.dtype.kind == "S" else array for array in arrays]
    known = sorted({str(text) for array in texts for text in np.unique(array).tolist()})
    numbers = {name: number for number, name in enumerate(known)}
    listed = ", ".join(known[:SHOWN]) + (", …" if len(known) > SHOWN else "")
    said = f"y holds {len(known)} names: interpreted as classes in alphabetical order ({listed})"
    return Labels(
        tuple(np.array([numbers[str(text)] for text in array.tolist()], np.int64) for array in texts), tuple(known), (*remarks, said)
    )


def _whole(array: np.ndarray, name: str, where: str) -> np.ndarray:
    if array.dtype.kind not in "biuf" or (array.dtype.kind == "f" and not bool((array == np.rint(array)).all())):
        raise BadData(f"{where}: {name} must be a vector of {len(array)} class numbers or names, got {array.dtype}")
    low, high = array.min(), array.max()
    if low < 0 or high >= CLASSES_MAX:
        raise BadData(f"{where}: {name} must hold class numbers from 0, got {low:g} … {high:g}")
    return array.astype(np.int64)
