"""Folders of images, one per class, as raw uint8 arrays in memory."""

from __future__ import annotations

import io
import math
from pathlib import Path

import numpy as np

from fsnn_lava.data.class_folders import LabelledFiles, class_folder_labels
from fsnn_lava.data.dataset import ArraySplit, Dataset
from fsnn_lava.data.image_normalisation import image_normalisation
from fsnn_lava.data.source import Source
from fsnn_lava.errors import BadData

ENDINGS = frozenset((".png", ".jpg", ".jpeg", ".bmp", ".gif", ".webp", ".tif", ".tiff", ".pgm", ".ppm"))
FORMATS = ("PNG", "JPEG", "BMP", "GIF", "WEBP", "TIFF", "PPM")  # Pillow's other decoders are never used, whatever the file name
OPTIONS = ("size", "colour")
BYTES_MAX = 2**33
PIXELS_MAX = 2**26  # pixels in one image


def load_image_folder(source: Source, folder: Path, files: LabelledFiles) -> Dataset:
    """Load a folder of images. The option `size` scales them, `colour=grey` or `rgb` converts them; otherwise all must be alike."""
    source.check_keys(OPTIONS)
    size, colour = source.sides("size"), source.choice("colour", ("auto", "grey", "rgb"))
    mode = {"grey": "L", "rgb": "RGB"}.get(colour) or ("L" if all(_mode(path) in ("L", "1") for path in files.every) else "RGB")
    sides = size or _common_size(files.every)
    shape = ({"L": 1, "RGB": 3}[mode], sides[1], sides[0])
    if math.prod(shape) * len(files.every) > BYTES_MAX:
        raise BadData(f"{folder}: {len(files.every)} images of {list(shape)} take more than {BYTES_MAX} bytes; add size=, or use fewer")
    train, test = (_split(part, mode, sides, shape) for part in (files.train, files.test))
    return Dataset(
        name=folder.name,
        train=train,
        test=test,
        normalisation=image_normalisation(train.values),
        class_names=files.class_names,
        source=folder,
        remarks=files.remarks,
    )


def _split(files: tuple[tuple[Path, int], ...], mode: str, sides: tuple[int, int], shape: tuple[int, ...]) -> ArraySplit:
    values = np.empty((len(files), *shape), np.uint8)
    for row, (path, _) in enumerate(files):
        values[row] = read_image(path, mode=mode, size=sides)
    return ArraySplit(values, class_folder_labels(files))


def read_image(path: Path, *, mode: str, size: tuple[int, int]) -> np.ndarray:
    """Read one image, [C, H, W] uint8, converted to `mode` ("L" or "RGB") and scaled to `size` (width, height)."""
    with _opened(path) as image:
        try:
            converted = image.convert(mode)
            scaled = converted if converted.size == size else converted.resize(size)
        except (OSError, ValueError, SyntaxError, EOFError, ArithmeticError, LookupError, TypeError) as error:
            raise BadData(f"{path} is damaged: {' '.join(str(error).split())[:200]}") from error
        pixels = np.asarray(scaled, np.uint8)
    return pixels[None] if mode == "L" else pixels.transpose(2, 0, 1)


def _opened(path: Path):  # type: ignore[no-untyped-def]  # a PIL.Image.Image
    from PIL import Image

    try:
        image = Image.open(io.BytesIO(path.read_bytes()), formats=FORMATS)  # given a file, Pillow would allocate any size that it claims
    except (OSError, ValueError, SyntaxError, EOFError, ArithmeticError, LookupError, TypeError, Image.DecompressionBombError) as error:
        unknown = isinstance(error, Image.UnidentifiedImageError)  # its text names the address of a buffer
        reason = "its contents are not an image" if unknown else " ".join(str(error).split())[:200]
        raise BadData(f"{path} cannot be read as an image: {reason}") from error
    if not 0 < image.size[0] * image.size[1] <= PIXELS_MAX:
        raise BadData(f"{path} has {image.size[0]} x {image.size[1]} pixels, more than {PIXELS_MAX}")
    return image


def _mode(path: Path) -> str:
    with _opened(path) as image:
        return str(image.mode)


def _common_size(paths: tuple[Path, ...]) -> tuple[int, int]:
    """Return the width and height of all images; BadData names two images that differ."""
    first: tuple[Path, tuple[int, int]] | None = None
    for path in paths:
        with _opened(path) as image:
            size = (int(image.size[0]), int(image.size[1]))
        if first is None:
            first = (path, size)
        if size != first[1]:
            said = f"{first[0].name} has {first[1][0]} x {first[1][1]} pixels, {path.name} {size[0]} x {size[1]}"
            raise BadData(
                f"{path.parent.parent}: all images must have the same size: {said}; add the option size=, for example --data DIR,size=32"
            )
    assert first is not None
    return first[1]
