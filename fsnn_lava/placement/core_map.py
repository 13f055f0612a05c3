"""A map of the occupied cores as SVG: colour shows the layer, and opacity how full the core is."""

from __future__ import annotations

from html import escape

from fsnn_lava.placement.placement import Core, Placement

_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#ee7733", "#009988", "#775544")
_SIDE = 22  # of a core, in pixels
_ACROSS = 16  # cores in a row of a chip
_GAP = 24
_CHIPS_IN_A_ROW = 4
_MOST_CHIPS = 32


def core_map_svg(placement: Placement) -> str:
    """Draw a grid of cores for each chip in use. It lists them, as the chip's floor plan is not public; hover over a core for numbers."""
    cores = placement.core_list()
    chips = min(max(1, placement.chips or 1), _MOST_CHIPS)
    down = -(-placement.board.cores_per_chip // _ACROSS)
    width = min(chips, _CHIPS_IN_A_ROW) * (_ACROSS * _SIDE + _GAP) + _GAP
    height = -(-chips // _CHIPS_IN_A_ROW) * (down * _SIDE + 2 * _GAP) + 2 * _GAP + 20 * len(placement.layers)
    colours = {layer.name: _COLOURS[i % len(_COLOURS)] for i, layer in enumerate(placement.layers)}
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" font-size="12">']
    parts.append(f'<rect width="{width}" height="{height}" fill="white"/>')
    parts.append(f'<text x="{_GAP}" y="18">{escape(placement.board.name)}: {escape(placement.verdict)} (model, not run on silicon)</text>')
    for chip in range(chips):
        parts += _chip(placement, chip, down)
    parts += [_core(placement, core, down, colours[core.layer]) for core in cores if core.chip < chips]
    parts += _legend(placement, colours, height - 20 * len(placement.layers))
    return "\n".join([*parts, "</svg>"]) + "\n"


def _corner(chip: int, down: int) -> tuple[int, int]:
    row, column = divmod(chip, _CHIPS_IN_A_ROW)
    return _GAP + column * (_ACROSS * _SIDE + _GAP), 2 * _GAP + row * (down * _SIDE + 2 * _GAP)


def _chip(placement: Placement, chip: int, down: int) -> list[str]:
    x, y = _corner(chip, down)
    parts = [f'<text x="{x}" y="{y - 6}">chip {chip}</text>']
    for core in range(placement.board.cores_per_chip):
        row, column = divmod(core, _ACROSS)
        parts.append(f'<rect x="{x + column * _SIDE}" y="{y + row * _SIDE}" width="{_SIDE - 2}" height="{_SIDE - 2}" fill="#eeeeee"/>')
    return parts


def _core(placement: Placement, core: Core, down: int, colour: str) -> str:
    x, y = _corner(core.chip, down)
    row, column = divmod(core.core, _ACROSS)
    full = core.use.shares(placement.board)["Total"]
    text = f"{core.layer} {'x'.join(map(str, core.size))} from {','.join(map(str, core.start))}: " + ", ".join(
        f"{k} {v}" for k, v in core.use.columns().items()
    )
    box = f'x="{x + column * _SIDE}" y="{y + row * _SIDE}" width="{_SIDE - 2}" height="{_SIDE - 2}"'
    return f'<rect {box} fill="{colour}" fill-opacity="{0.35 + 0.65 * min(1.0, full):.2f}"><title>{escape(text)}</title></rect>'


def _legend(placement: Placement, colours: dict[str, str], top: int) -> list[str]:
    parts = []
    for i, layer in enumerate(placement.layers):
        y = top + 20 * i
        cores = "does not fit on any core" if layer.cores is None else f"{layer.cores} cores"
        parts.append(f'<rect x="{_GAP}" y="{y - 2}" width="12" height="12" fill="{colours[layer.name]}"/>')
        parts.append(f'<text x="{_GAP + 18}" y="{y + 8}">{escape(layer.name)}: {cores}</text>')
    return parts
