"""Mistakes as images: the samples that were answered wrongly, and those that the float network answers differently."""

from __future__ import annotations

from html import escape

from fsnn_lava.report.evidence import Answer, Evidence, RunEvidence
from fsnn_lava.report.panel import Panel
from fsnn_lava.report.sample_image import image_html
from fsnn_lava.report.tables import Table
from fsnn_lava.verify.checks.accuracy import ERRORS_KEPT
from fsnn_lava.verify.verdict import Verdict

KEY, TITLE = "mistakes", "Wrong answers"
SHOWN = 48  # images per group
_SIZE = 72  # pixels


def mistakes_panel(evidence: Evidence) -> Panel:
    """Return the section that shows the mistakes, samples that were answered wrongly."""
    run, accuracy = evidence.run, evidence.numbers("accuracy")
    if run is None:
        return Panel(key=KEY, title=TITLE, wide=True, missing="needs the network and the run, not only the verdict")
    if accuracy.get("accuracy") is None and accuracy.get("agreement") is None:
        return Panel(key=KEY, title=TITLE, wide=True, missing="there are neither labels nor answers of the float network")
    errors = evidence.errors
    groups = [("Wrong", [answer for answer in errors if answer.wrong])] if accuracy.get("accuracy") is not None else []
    if accuracy.get("agreement") is not None:
        groups.append(("Answered differently by the float network", [answer for answer in errors if answer.unlike_float]))
    rows = [(a.sample, *map(evidence.class_name, (a.label, a.answer, a.float_answer)), a.margin) for a in errors]
    return Panel(
        key=KEY,
        title=TITLE,
        caption="Each image is labelled with the right class, then the answer. The margin is the distance between the two largest logits; "
        "a small one means that the network was unsure."
        + (f" Only the first {ERRORS_KEPT} are listed." if len(errors) >= ERRORS_KEPT else ""),
        body="".join(_group(evidence, run, name, answers) for name, answers in groups),
        data=Table(columns=("sample", "label", "answer", "float_answer", "margin"), rows=rows),
        wide=True,
    )


def mistakes_to_show(verdict: Verdict) -> list[int]:
    """Return the samples whose images the section shows; their inputs are needed."""
    errors = Evidence(verdict, None).errors
    groups = ([a.sample for a in errors if a.wrong], [a.sample for a in errors if a.unlike_float])
    return sorted({sample for group in groups for sample in group[:SHOWN]})


def _group(evidence: Evidence, run: RunEvidence, name: str, answers: list[Answer]) -> str:
    few = f", the first {SHOWN} shown" if len(answers) > SHOWN else ""
    items = "".join(f"<li>{_item(evidence, run, answer)}</li>" for answer in answers[:SHOWN])
    listed = f'<ul class="gallery">{items}</ul>' if items else ""
    return f"<h3>{escape(name)}: {len(answers)} of {evidence.samples:,}{few}</h3>{listed}"


def _item(evidence: Evidence, run: RunEvidence, answer: Answer) -> str:
    """Return an image with its class and the answer that was given."""
    said = escape(evidence.class_name(answer.answer))
    first = f"<b>{escape(evidence.class_name(answer.label))}</b> → {said}" if answer.label >= 0 else f"→ <b>{said}</b>"
    also = f"; float: {escape(evidence.class_name(answer.float_answer))}" if answer.float_answer >= 0 else ""
    image = image_html(run.chip, run.input_of(answer.sample), alt=f"sample {answer.sample}", size=_SIZE)
    return f'{image}<span>{first}</span><span class="note">no. {answer.sample}{also}; margin {answer.margin:.3g}</span>'
