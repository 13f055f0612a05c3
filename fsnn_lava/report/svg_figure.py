"""Turn a matplotlib figure into SVG inside a page: text stays text, colours become the page's own, nothing links outside."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any, cast

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator
from numpy.typing import NDArray

# Colours of a PNG; in the page, each becomes the variable of that name in style.css. All must differ.
COLOURS = {
    "ink": "#1d232b", "soft": "#5c6673", "line": "#d5dae1", "blue": "#2b6cb0", "orange": "#c8651b", "green": "#2f855a", "red": "#c53a43",
    "purple": "#7d4fb0", "teal": "#2a8c94", "gold": "#a8821a", "pink": "#b83280", "bright": "#fefefe",
}  # fmt: skip
INK, SOFT, LINE, BLUE, ORANGE, GREEN, RED, PURPLE, TEAL, GOLD, PINK, BRIGHT = COLOURS.values()
SERIES = (BLUE, ORANGE, GREEN, PURPLE, TEAL, GOLD, PINK, RED)  # for series without a colour of their own
UNIT = 72.0  # page units per inch
LARGEST = 1.45  # maximal pixels per page unit, so that text in pictures is about as large as that of the page
_PNG_DPI = 200
_RASTER_DPI = 170

_STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text stays text
    "text.parse_math": False,  # a class may be named $x
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 10.5,
    "axes.titlesize": 10.5,
    "axes.labelsize": 10.5,
    "xtick.labelsize": 10.0,
    "ytick.labelsize": 10.0,
    "legend.fontsize": 10.0,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": LINE,
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "ytick.color": SOFT,
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "legend.handlelength": 1.8,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
}


@contextmanager
def report_figure_style() -> Iterator[None]:
    """Apply the common style to every figure drawn inside; matplotlib's own settings are restored afterwards."""
    with matplotlib.rc_context(cast(Any, _STYLE)):  # newer versions of matplotlib list every key in the type
        yield


def new_figure(width: float = 400, height: float = 270) -> Figure:
    """Create a figure of this size in page units."""
    return Figure(figsize=(width / UNIT, height / UNIT), layout="constrained", dpi=UNIT)


_TIP = "tip: "  # begins the id of a part of a figure that has a tip


def add_tip(artist: Artist, text: str) -> None:
    """Show `text` while the pointer is over this part of the figure; no script is needed."""
    artist.set_gid(_TIP + text)


def add_tip_columns(axes: Axes, edges: NDArray[np.float64], tips: Sequence[str]) -> None:
    """Divide the axes of a figure at `edges` into invisible columns, each of which shows its tip."""
    for left, right, text in zip(edges[:-1], edges[1:], tips, strict=True):
        add_tip(axes.axvspan(float(left), float(right), facecolor=INK, alpha=0.0, linewidth=0, zorder=9), text)


def columns_around(positions: Sequence[float], *, logarithmic: bool = False) -> NDArray[np.float64]:
    """Return the edges of columns around these ascending positions of a figure, halfway between neighbours."""
    places = np.log(positions) if logarithmic else np.asarray(positions, dtype=np.float64)
    gap = np.diff(places).min() if len(places) > 1 else 1.0
    edges = np.concatenate([[places[0] - gap / 2], (places[1:] + places[:-1]) / 2, [places[-1] + gap / 2]])
    return np.exp(edges) if logarithmic else edges


def figure_svg(figure: Figure, *, name: str, alt: str) -> str:
    """Return the figure as one <svg> element, valid XML, without ids that could clash with those of another figure."""
    text = io.StringIO()
    with matplotlib.rc_context({"svg.hashsalt": name}):
        figure.savefig(text, format="svg", dpi=_RASTER_DPI, metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    figure.set_layout_engine("none")  # the layout is done: a PNG keeps it
    drawn = text.getvalue()
    drawn = drawn[drawn.index("<svg") :].strip()
    for pattern in (r"<metadata>.*?</metadata>", r"<!--.*?-->", r"<defs>\s*<style[^>]*>.*?</style>\s*</defs>"):
        drawn = re.sub(pattern, "", drawn, flags=re.DOTALL)
    drawn = re.sub(rf"""<g id=(["']){_TIP}(.*?)\1([^>]*)>""", r"<g\3><title>\2</title>", drawn)
    drawn = re.sub(r'<g id="[^"]*"', "<g", drawn)
    drawn = re.sub(r"'DejaVu Sans'(, sans-serif)?", "var(--font)", drawn)
    head, body = drawn.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    if box is None:  # matplotlib has always written one
        raise RuntimeError("matplotlib wrote an SVG without a viewBox")
    for colour, value in COLOURS.items():
        body = body.replace(value, f"var(--{colour})")
    body = re.sub(r' d="[^"]*"', _shortened, body)
    body = re.sub(r"\n\s*", "\n", body).replace("<g>\n</g>\n", "")
    space = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
    width = round(LARGEST * figure.get_figwidth() * UNIT)
    return f'<svg {space} {box.group(0)} style="max-width: {width}px" role="img" aria-label="{escape(alt)}">{body}'


def _shortened(path: re.Match[str]) -> str:
    """Round the coordinates of a path to a hundredth of a page unit."""
    return re.sub(r"(\.\d\d)\d+", r"\1", path.group().replace("\n", " "))


def write_report_png(figure: Figure, path: Path) -> None:
    """Write the figure as PNG, on a white background."""
    figure.savefig(path, format="png", dpi=_PNG_DPI, facecolor="white")


def figure_tick_label(value: float) -> str:
    """Format a figure's tick label: 0.01, 30, 10⁻⁵; without mathtext, so that it stays one text element."""
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:g}"
    power = int(np.floor(np.log10(abs(value)) + 1e-9))
    lead = value / 10.0**power
    raised = str(power).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if abs(lead - 1) < 1e-6 else f"{lead:g}·10{raised}"


def logarithmic_figure_axis(axes: Axes, which: str, *, subs: tuple[float, ...] = (1.0,)) -> None:
    """Make an axis of a figure logarithmic, with plain numbers."""
    axis = axes.xaxis if which == "x" else axes.yaxis
    axes.set_xscale("log") if which == "x" else axes.set_yscale("log")
    axis.set_major_locator(LogLocator(base=10.0, subs=subs))
    axis.set_major_formatter(FuncFormatter(lambda value, _: figure_tick_label(value)))
    axis.set_minor_locator(NullLocator())
