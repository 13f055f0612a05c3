"""The page of a run: header, verdict, and one section per panel."""

from __future__ import annotations

from html import escape

from fsnn_lava.report import svg_figure
from fsnn_lava.report.document import document_html
from fsnn_lava.report.evidence import Evidence
from fsnn_lava.report.panel import Panel, Picture
from fsnn_lava.report.tables import facts_html, table_html
from fsnn_lava.report.verdict_section import verdict_chain_html, verdict_checks_html, verdict_header_html


def page_html(evidence: Evidence, panels: list[Panel]) -> str:
    """Return the whole report as an HTML page; every string that comes from outside is escaped."""
    title = _title(evidence)
    links = "".join(f'<a href="#{panel.key}">{escape(panel.title)}</a>' for panel in panels)
    sections = "".join(page_section_html(panel, shape) for panel, shape in arranged_panels(panels))
    body = (
        f'{verdict_header_html(evidence, title)}\n<nav aria-label="Sections">{links}</nav>\n<main>\n'
        '<section class="card wide" id="verdict"><h2>The verdict and its reasons</h2>'
        f"{verdict_chain_html(evidence)}{verdict_checks_html(evidence.verdict)}</section>\n{sections}</main>"
    )
    return document_html(f"{evidence.verdict.word}: {title}", body)


def _title(evidence: Evidence) -> str:
    name = evidence.run.exported.notes.get("architecture", "") if evidence.run is not None else ""
    digest = str(evidence.verdict.about.get("digest", ""))[:12]
    return f"fsnn-lava report · {name or 'network'} · {digest}" if digest else f"fsnn-lava report · {name or 'network'}"


def arranged_panels(panels: list[Panel]) -> list[tuple[Panel, str]]:
    """Return every panel with its CSS class: wide, one of two in a row, or, without a narrow neighbour, alone with its text beside it."""
    found: list[tuple[Panel, str]] = []
    waiting = False  # the previous panel is the left one of a pair
    for panel, after in zip(panels, [*panels[1:], None], strict=True):
        pairs = waiting or (after is not None and not after.wide)
        shape = "wide" if panel.wide else "half" if pairs else "wide side"
        waiting = not panel.wide and pairs and not waiting
        found.append((panel, shape))
    return found


def page_section_html(panel: Panel, shape: str) -> str:
    """Return a panel as a <section> of the page with that CSS class."""
    if panel.missing:
        body = f'<p class="missing">Not drawn: {escape(panel.missing)}.</p>'
    else:
        text = f'<p class="caption">{escape(panel.caption)}</p>' if panel.caption else ""
        text += table_html(panel.title, panel.rows.columns, panel.rows.rows) if panel.rows else ""
        text += facts_html(panel.facts) + _numbers(panel)
        conclusion = f'<p class="conclusion">{escape(panel.conclusion)}</p>' if panel.conclusion else ""
        body = f'{conclusion}<div class="shown">{panel.body}{_pictures(panel)}<div class="told">{text}</div></div>'
    return f'<section class="card {shape}" id="{panel.key}"><h2>{escape(panel.title)}</h2>{body}</section>\n'


def _numbers(panel: Panel) -> str:
    """Return the numbers shown on hover as a collapsible table, for readers who cannot hover."""
    if panel.numbers is None or not panel.numbers.rows:
        return ""
    return (
        f"<details><summary>The numbers as a table</summary>{table_html(panel.title, panel.numbers.columns, panel.numbers.rows)}</details>"
    )


def _pictures(panel: Panel) -> str:
    drawn = [_picture(picture) for picture in panel.pictures]
    arrange = "grid" if panel.arrange == "grid" and len(drawn) > 1 else "stack"
    return f'<div class="pictures {arrange}">{"".join(drawn)}</div>' if drawn else ""


def _picture(picture: Picture) -> str:
    head = f"<h3>{escape(picture.label)}</h3>" if picture.label else ""
    note = f"<figcaption>{escape(picture.note)}</figcaption>" if picture.note else ""
    svg = svg_figure.figure_svg(picture.figure, name=picture.name, alt=picture.alt)
    return f'<figure id="picture-{picture.name}">{head}{svg}{note}</figure>'
