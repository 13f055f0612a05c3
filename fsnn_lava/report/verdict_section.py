"""The top of a report: the verdict, the key numbers, the chain with its checks, and the details of each check."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from fsnn_lava.report.activity import short_number
from fsnn_lava.report.evidence import Evidence
from fsnn_lava.report.numbers import number_text, numbers_html
from fsnn_lava.report.provenance import SHORT, on_silicon, where_it_ran
from fsnn_lava.verify.check import Check, Offender, offender_text
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


def header_html(evidence: Evidence, title: str) -> str:
    verdict = evidence.verdict
    word, state = verdict.word, "pass" if verdict.passed else "fail"
    silicon = "Ran on silicon." if on_silicon(evidence) else "Not run on silicon."
    return (
        f'<header class="{state}"><p class="kicker">{escape(title)}</p>'
        f'<h1><span class="badge {state}">{word}</span> <span>{escape(verdict_sentence(verdict))}</span></h1>'
        f"{_answers_html(verdict)}"
        f'<p class="where">Ran on {escape(where_it_ran(evidence))}. <strong>{silicon}</strong></p>{_key_numbers_html(evidence)}</header>'
    )


def _answers_html(verdict: Verdict) -> str:
    """Is it settled, is it accurate? Faithful is the headline."""
    if verdict.settled is None:
        return ""
    accurate = "unknown, no labels were given" if verdict.accurate is None else verdict.accurate.short()
    answers = (("settled", str(verdict.settled)), ("accurate", accurate))
    return '<dl class="answers">' + "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in answers) + "</dl>"


def verdict_sentence(verdict: Verdict) -> str:
    """Is the run faithful? How many checks passed, and which failed or missed a threshold."""
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
    samples = max(1, int(about.get("samples", 1)))
    found = [("samples", f"{samples:,}", f"{about.get('steps', '?')} steps each")]
    if accuracy.get("accuracy") is not None:
        low, high = accuracy["accuracy_interval"]
        found.append(("accuracy", f"{accuracy['accuracy']:.2%}", f"95% interval {low:.1%} … {high:.1%}"))
    if accuracy.get("agreement") is not None:
        own = accuracy.get("float_accuracy")
        found.append(("agreement with float", f"{accuracy['agreement']:.2%}", "" if own is None else f"float accuracy {own:.2%}"))
    if residual:
        found.append(("largest residual", number_text(residual["residual_max"]), f"|f(a) − a|, bound {number_text(residual['bound_max'])}"))
    if contraction:
        found.append(("contraction", str(contraction["state"]), f"gains: radius at most {number_text(contraction['spectral_radius'])}"))
    if about.get("operations"):
        spikes = short_number(about.get("spikes", 0) / samples)
        found.append(("synaptic operations", short_number(about["operations"] / samples), f"per sample, {spikes} spikes"))
    return found


def _tile(label: str, value: str, note: str) -> str:
    below = f'<span class="note">{escape(note)}</span>' if note else ""
    return f'<div class="tile"><span class="label">{escape(label)}</span><b>{escape(value)}</b>{below}</div>'


def chain_html(evidence: Evidence) -> str:
    """From the float network to the backend, with the checks of each link."""
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


def checks_html(evidence: Evidence) -> str:
    return '<div class="checks">' + "".join(_check(check) for check in evidence.verdict.checks) + "</div>"


def _offenders(offenders: Sequence[Offender]) -> str:
    """Where it fails: the first few, the others one click away."""
    items = [f"<li>{escape(offender_text(offender))}</li>" for offender in offenders]
    if not items:
        return ""
    few = len(items) if len(items) <= _LISTED + 1 else _LISTED
    rest = f'<details><summary>{len(items) - few} more</summary><ol start="{few + 1}">{"".join(items[few:])}</ol></details>'
    return f"<h4>where</h4><ol>{''.join(items[:few])}</ol>" + (rest if items[few:] else "")


def _check(check: Check) -> str:
    state, sign, word = _STATES[check.mark]
    listed = _offenders(check.offenders)
    numbers = numbers_html(check.numbers) if check.done else ""
    opened = " open" if state == "fail" else ""
    more = f"<details{opened}><summary>numbers</summary>{listed}{numbers}</details>" if listed or numbers else ""
    head = f'<span class="sign" title="{word}">{sign}</span> {escape(check.name)} <span class="link">{escape(check.link)}</span>'
    return f'<article class="check {state}" id="check-{escape(check.name)}"><h3>{head}</h3><p>{escape(check.summary)}</p>{more}</article>'
