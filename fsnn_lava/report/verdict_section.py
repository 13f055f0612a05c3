"""The verdict at the top of a report, with the key numbers, the chain with its checks, and the details of each check."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone
from html import escape

from fsnn_lava.report.check_numbers import check_numbers_html
from fsnn_lava.report.evidence import Evidence
from fsnn_lava.report.number_text import number_text, short_number
from fsnn_lava.report.provenance import SHORT, on_silicon, where_it_ran
from fsnn_lava.verify.accurate import Accurate
from fsnn_lava.verify.check import Check, Offender, offender_text
from fsnn_lava.verify.settled import Settled
from fsnn_lava.verify.verdict import Verdict

# the stages of the chain, and the checks that judge the link to the next stage
_CHAIN: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("float spikes", ("float",)),
    ("float equilibrium", ("shift",)),
    ("integer equilibrium", ("contraction", "certificate", "residual", "settled")),
    ("integer spikes", ("record", "charge", "sums", "dead band", "spikes", "messages")),
)
_LISTED = 5  # places of a failure that are shown without a click
_STATES = {
    "ok": ("pass", "✓", "passed"),
    "FAIL": ("fail", "✗", "failed"),
    "MISS": ("fail", "✗", "a threshold is missed"),
    "info": ("skip", "·", "measured, not judged"),
    "--": ("skip", "–", "not done"),
}


def verdict_header_html(evidence: Evidence, title: str) -> str:
    """Return the top of the report: what ran, the verdict, the three answers, the key numbers."""
    verdict = evidence.verdict
    word, state = verdict.word, "pass" if verdict.passed else "fail"
    silicon = "Ran on silicon." if on_silicon(evidence) else "Not run on silicon."
    what = "".join(f"<span>{escape(text)}</span>" for text in _what_ran(evidence))
    return (
        f'<header class="{state}"><p class="kicker">{escape(title)}</p>'
        f'<h1><span class="badge {state}">{word}</span> <span>{escape(_verdict_sentence(verdict))}</span></h1>'
        f'<p class="ran">{what} Ran on {escape(where_it_ran(evidence))}. <strong>{silicon}</strong></p>'
        f"{_answers_html(verdict)}{_key_numbers_html(evidence)}</header>"
    )


def _what_ran(evidence: Evidence) -> list[str]:
    """Return data set, samples and steps, bits, and date; unknown items are left out."""
    about, origin = evidence.verdict.about, evidence.origin
    notes = {} if evidence.run is None else evidence.run.exported.notes
    data = f"data set {origin.data}" if origin.data else f"trained on {notes['data']}" if notes.get("data") else ""
    run = f"{evidence.samples:,} samples, {about.get('steps', '?')} steps each"
    bits = f"{notes['bits']}-bit weights" if notes.get("bits") else ""
    written = f"report of {datetime.now(timezone.utc):%Y-%m-%d %H:%M} UTC"
    return [text for text in (data, bits, run, _date_text(origin.date) or written) if text]


def _date_text(date: str) -> str:
    """Format an ISO 8601 date as `2026-11-17 16:07 UTC`; empty if it is unknown."""
    try:
        return datetime.fromisoformat(date).astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC") if date else ""
    except ValueError:
        return date


def _answers_html(verdict: Verdict) -> str:
    """Return the answers for faithful, settled and accurate: a word or number each, and the reason."""
    if verdict.settled is None:
        return ""
    accurate = verdict.accurate
    faithful = {True: "yes", False: "no", None: "not checked"}[verdict.faithful]
    broken = ", ".join(check.name for check in verdict.checks if check.passed is False)
    number = "unknown" if accurate is None else f"{accurate.accuracy:.2%}"
    answers = (
        (
            "Faithful",
            faithful,
            "the backend computed what the integer network prescribes" if not broken else f"failed: {broken}",
            verdict.faithful,
        ),
        ("Settled", verdict.settled.answer, _settled_text(verdict.settled), verdict.settled.answer == "yes"),
        ("Accurate", number, "no labels were given" if accurate is None else _accurate_text(accurate), None),
    )
    return '<dl class="answers">' + "".join(_answer(*answer) for answer in answers) + "</dl>"


def _answer(name: str, word: str, why: str, good: bool | None) -> str:
    state = "" if good is None else " pass" if good else " fail" if name == "Faithful" else " part"
    return f'<div class="answer{state}"><dt>{name}</dt><dd><b>{escape(word)}</b> <span>{escape(why)}</span></dd></div>'


def _settled_text(settled: Settled) -> str:
    distance = f"|f(a) − a| is at most {settled.residual:.3g}; {settled.beyond:.2%} of the rates are beyond {settled.level:.3g}"
    return f"{distance}; {outlook}" if (outlook := settled.outlook()) else distance


def _accurate_text(accurate: Accurate) -> str:
    low, high = accurate.interval
    text = f"of {accurate.samples:,} answers are right (95% interval {low:.2%} … {high:.2%})"
    if accurate.float_accuracy is not None:
        text += f"; the float network has {accurate.float_accuracy:.2%}"
    return text if accurate.agreement is None else f"{text} and agrees on {accurate.agreement:.2%}"


def _verdict_sentence(verdict: Verdict) -> str:
    """Say whether the run is faithful, how many checks passed, and which failed or missed a threshold."""
    done = [check for check in verdict.checks if check.done]
    judged = [check for check in done if check.judges]
    skipped = len(verdict.checks) - len(done)
    rest = f", {skipped} not done" if skipped else ""
    if not done:
        return f"nothing was checked{rest}"
    faithful = "faithful" if verdict.faithful else "not faithful"
    if verdict.passed:
        return f"{faithful}: all {len(judged)} checks passed{rest}" if len(judged) > 1 else f"{faithful}: {len(judged)} check passed{rest}"
    names = ", ".join(check.name for check in verdict.failed)
    return f"{faithful}: {len(verdict.failed)} of {len(judged)} checks failed{' (a threshold)' if verdict.faithful else ''}: {names}{rest}"


def _key_numbers_html(evidence: Evidence) -> str:
    shown = [(label, value, note) for label, value, note in _key_numbers(evidence) if value]
    return '<div class="tiles">' + "".join(_tile(*entry) for entry in shown) + "</div>"


def _key_numbers(evidence: Evidence) -> list[tuple[str, str, str]]:
    about = evidence.verdict.about
    accuracy, residual, contraction = (evidence.numbers(name) for name in ("accuracy", "residual", "contraction"))
    found = []
    if residual:
        found.append(("largest residual", number_text(residual["residual_max"]), f"|f(a) − a|, bound {number_text(residual['bound_max'])}"))
    if contraction:
        found.append(("contraction", str(contraction["state"]), f"gains: radius at most {number_text(contraction['spectral_radius'])}"))
    if about.get("operations"):
        samples = max(1, evidence.samples)
        found.append(("synaptic operations", short_number(about["operations"] / samples), "per sample"))
        found.append(("spikes", short_number(about.get("spikes", 0) / samples), "per sample"))
    if accuracy:
        found.append(("silent neurons", f"{accuracy['dead']:.2%}", "that never spiked"))
    return found


def _tile(label: str, value: str, note: str) -> str:
    below = f'<span class="note">{escape(note)}</span>' if note else ""
    return f'<div class="tile"><span class="label">{escape(label)}</span><b>{escape(value)}</b>{below}</div>'


def verdict_chain_html(evidence: Evidence) -> str:
    """Return the chain from the float network to the backend, with the checks of each link."""
    checks = {check.name: check for check in evidence.verdict.checks}
    parts = []
    for node, names in _CHAIN:
        pills = "".join(_pill(checks[name]) for name in names if name in checks)
        parts.append(f'<span class="node">{node}</span><span class="hop">{pills}</span>')
    backend = str(evidence.verdict.about.get("backend", "backend"))
    parts.append(f'<span class="node">{escape(SHORT.get(backend, backend))}</span>')
    return '<div class="chain">' + "".join(parts) + "</div>"


def _pill(check: Check) -> str:
    state, sign, word = _STATES[check.mark]
    return f'<a class="pill {state}" href="#check-{escape(check.name)}" title="{word}">{sign} {escape(check.name)}</a>'


def verdict_checks_html(verdict: Verdict, *, prefix: str = "") -> str:
    """Return every check with its finding and numbers; `prefix` keeps the anchors of two verdicts on one page apart."""
    return '<div class="checks">' + "".join(_check(check, prefix) for check in verdict.checks) + "</div>"


def _offenders(offenders: Sequence[Offender]) -> str:
    """List where the check fails: the first few places, and the rest one click away."""
    items = [f"<li>{escape(offender_text(offender))}</li>" for offender in offenders]
    if not items:
        return ""
    few = len(items) if len(items) <= _LISTED + 1 else _LISTED
    rest = f'<details><summary>{len(items) - few} more</summary><ol start="{few + 1}">{"".join(items[few:])}</ol></details>'
    return f"<h4>where</h4><ol>{''.join(items[:few])}</ol>" + (rest if items[few:] else "")


def _check(check: Check, prefix: str) -> str:
    state, sign, word = _STATES[check.mark]
    listed = _offenders(check.offenders)
    numbers = check_numbers_html(check.numbers) if check.done else ""
    opened = " open" if state == "fail" else ""
    more = f"<details{opened}><summary>numbers</summary>{listed}{numbers}</details>" if listed or numbers else ""
    head = f'<span class="sign" title="{word}">{sign}</span> {escape(check.name)} <span class="link">{escape(check.link)}</span>'
    anchor = f"{prefix}check-{escape(check.name)}"
    return f'<article class="check {state}" id="{anchor}"><h3>{head}</h3><p>{escape(check.summary)}</p>{more}</article>'
