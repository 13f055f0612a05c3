"""The input of one sample as a small picture, if it is an image."""

from __future__ import annotations

from html import escape

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.report import canvas


def input_url(chip: ChipNetwork, value: NDArray[np.uint8] | None) -> str:
    """A data: URL of a sample; of events, the sum over all frames. Empty if it is not an image or not available."""
    shape = chip.input.shape
    if len(shape) != 3 or value is None:
        return ""
    shown: NDArray[np.float64] = value.astype(np.float64)
    if chip.input.kind == "events":
        shown = shown.sum(axis=0)
    shown = np.moveaxis(shown, 0, -1) if shape[0] == 3 else shown.sum(axis=0)
    return canvas.image_url((255 * shown / max(1.0, float(shown.max()))).astype(np.uint8))


def image_html(chip: ChipNetwork, value: NDArray[np.uint8] | None, *, alt: str, size: int) -> str:
    """The sample as an <img> of `size` pixels; nothing if it is not an image, an empty box if it is not available."""
    url = input_url(chip, value)
    if url:
        return f'<img src="{url}" alt="{escape(alt)}" width="{size}" height="{size}">'
    return f'<span class="no-image" style="width: {size}px; height: {size}px"></span>' if len(chip.input.shape) == 3 else ""
