"""The core map: where every layer goes on the board, and how full its cores are. A model, not the vendor's compiler."""

from __future__ import annotations

from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from fsnn_lava.placement.placement import DISCLAIMER, Core, Placement
from fsnn_lava.report import svg_figure
from fsnn_lava.report.evidence import Evidence, RunEvidence
from fsnn_lava.report.layer_names import layer_kind_name
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import Table

KEY, TITLE = "cores", "Core map"
_ACROSS = 16  # cores in a row
_CHIPS = 4  # chips that are drawn


def cores_panel(evidence: Evidence) -> Panel:
    """Return the section that shows which cores of the board every layer occupies."""
    if evidence.run is None:
        return Panel(key=KEY, title=TITLE, missing="needs the network, not only the verdict")
    placement = evidence.run.placement
    cores = placement.core_list()
    board = placement.board
    colours = {layer.name: svg_figure.SERIES[i % len(svg_figure.SERIES)] for i, layer in enumerate(placement.layers)}
    used = min(max(1, placement.chips or 1), _CHIPS)
    pictures = tuple(_draw(placement, chip, [core for core in cores if core.chip == chip], colours) for chip in range(used))
    hidden = (placement.chips or 1) - used
    legend = (
        "One square per core, coloured by layer; the stronger the colour, the fuller the core. Squares are in list order, not a floor plan."
    )
    said = placement.verdict if board.name in placement.verdict else f"{board.name}: {placement.verdict}"
    warning = "" if placement.answer == "runs" else "Warning: "
    caption = f"{legend} {DISCLAIMER}"
    if hidden > 0:
        caption += f" {hidden} more chips are not drawn."
    rows = [(c.chip, c.core, c.layer, *c.size, *(float(v) for v in c.use.columns().values())) for c in cores]
    resources = tuple(cores[0].use.columns()) if cores else ()
    data = Table(columns=("chip", "core", "layer", "channels", "height", "width", *resources), rows=rows)
    return Panel(
        key=KEY,
        title=TITLE,
        caption=caption,
        conclusion=f"{warning}{said[0].upper()}{said[1:]}.",
        pictures=pictures,
        data=data,
        arrange="grid",
        wide=len(pictures) > 1,
        rows=_layers(evidence.run, placement),
    )


def _layers(run: RunEvidence, placement: Placement) -> Table:
    kinds, rows = {layer.name: layer_kind_name(run.exported, layer) for layer in run.exported.layers}, []
    for layer in placement.layers:
        tightest = layer.use.tightest(placement.board)
        share = layer.use.shares(placement.board)[tightest]
        shape = "×".join(map(str, layer.shape))
        rows.append(
            (
                layer.name,
                kinds.get(layer.name, shape),
                "does not fit" if layer.cores is None else str(layer.cores),
                f"{tightest} {share:.0%}",
            )
        )
    return Table(columns=("layer", "kind", "cores", "fullest resource of a core"), rows=rows)


def _draw(placement: Placement, chip: int, cores: list[Core], colours: dict[str, str]) -> Picture:
    down = -(-placement.board.cores_per_chip // _ACROSS)
    figure = svg_figure.new_figure(340, 48 + 20 * down)
    axes = figure.add_subplot()
    taken = {core.core for core in cores}
    for number in range(placement.board.cores_per_chip):
        if number not in taken:
            _square(axes, number, svg_figure.LINE, 0.5)
    for core in cores:
        shares = core.use.shares(placement.board)
        square = _square(axes, core.core, colours[core.layer], 0.35 + 0.65 * min(1.0, shares["Total"]))
        tightest = core.use.tightest(placement.board)
        svg_figure.add_tip(square, f"core {core.core}: {core.layer}, {'×'.join(map(str, core.size))}; {tightest} {shares[tightest]:.0%}")
    axes.set_xlim(-0.6, _ACROSS - 0.4)
    axes.set_ylim(down - 0.4, -0.6)
    axes.set_aspect("equal")
    axes.set_axis_off()
    names = list(dict.fromkeys(core.layer for core in cores))
    handles = [Rectangle((0, 0), 1, 1, facecolor=colours[name], linewidth=0) for name in names]
    figure.legend(handles, names, loc="outside upper left", ncols=6, handlelength=1.0, columnspacing=1.2)
    alt = f"Chip {chip}: {len(cores)} of {placement.board.cores_per_chip} cores in use"
    return Picture(name=f"{KEY}-chip{chip}", figure=figure, alt=alt, label=f"chip {chip}", note=alt)


def _square(axes: Axes, number: int, colour: str, alpha: float) -> Rectangle:
    row, column = divmod(number, _ACROSS)
    square = Rectangle((column - 0.44, row - 0.44), 0.88, 0.88, facecolor=colour, alpha=alpha, linewidth=0)
    axes.add_patch(square)
    return square
