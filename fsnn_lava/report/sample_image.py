"""Show the input of one sample as a small image, if it is one."""

from __future__ import annotations

import base64
import io
from html import escape

import numpy as np
from matplotlib import image as mpl_image
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork


def _input_url(chip: ChipNetwork, value: NDArray[np.uint8] | None) -> str:
    """Return a data: URL of a sample; for events, of the sum over all frames. Empty if it is not an image or not available."""
    shape = chip.input.shape
    if len(shape) != 3 or value is None:
        return ""
    shown: NDArray[np.float64] = value.astype(np.float64)
    if chip.input.kind == "events":
        shown = shown.sum(axis=0)
    shown = np.moveaxis(shown, 0, -1) if shape[0] == 3 else shown.sum(axis=0)
    return image_url((255 * shown / max(1.0, float(shown.max()))).astype(np.uint8))


def image_html(chip: ChipNetwork, value: NDArray[np.uint8] | None, *, alt: str, size: int) -> str:
    """Return the sample as an <img> of `size` pixels; nothing if it is not an image, an empty box if it is not available."""
    url = _input_url(chip, value)
    if url:
        return f'<img src="{url}" alt="{escape(alt)}" width="{size}" height="{size}">'
    return f'<span class="no-image" style="width: {size}px; height: {size}px"></span>' if len(chip.input.shape) == 3 else ""


def image_url(pixels: NDArray[np.uint8]) -> str:
    """Return a data: URL of a small image, [H, W] or [H, W, 3]."""
    file = io.BytesIO()
    mpl_image.imsave(file, pixels, vmin=0, vmax=255, cmap="gray", format="png")  # vmin, vmax and cmap apply to [H, W] only
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()
