"""Import networks exported by lava-dl: they are integers already, so they need no conversion, only a note on what their neurons do."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fsnn_lava.formats.netx import read_netx
from fsnn_lava.ir.network import ChipNetwork, Layer


def from_lava_dl(path: str | Path) -> ChipNetwork:
    """Load the network in a .net file from lava-dl; its notes say what the neurons of each layer do."""
    chip = read_netx(path)
    sentences: dict[str, list[str]] = {}
    for layer in chip.layers:
        sentences.setdefault(_sentence(layer), []).append(layer.name)
    said = "; ".join(f"{', '.join(names)} {sentence}" for sentence, names in sentences.items())
    return replace(chip, notes={**chip.notes, "imported": f"lava-dl network {Path(path).name}: {said}; there is no equilibrium"})


def _sentence(layer: Layer) -> str:
    leak = "does not leak" if layer.decay == 0 else f"keeps {layer.leak:.6g} of u per step"
    comparison = "u > θ" if layer.strict else "u >= θ"
    return f"resets to {layer.reset}, spikes at {comparison}, {leak}, one step late"
