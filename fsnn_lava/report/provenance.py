"""Provenance of a run: what ran, and where, with enough detail to repeat it."""

from __future__ import annotations

import platform
from datetime import datetime, timezone
from importlib import metadata

from fsnn_lava.report.evidence import Evidence
from fsnn_lava.report.panel import Panel
from fsnn_lava.version import __version__

KEY, TITLE = "provenance", "Provenance"
BACKENDS = {"emu": "the emulator", "sim": "Lava processes on the CPU", "loihi2": "Loihi 2"}
SHORT = {"emu": "emulator", "sim": "Lava", "loihi2": "Loihi 2"}
_PACKAGES = ("numpy", "torch", "numba", "matplotlib", "lava-nc", "lava-dl")


def on_silicon(evidence: Evidence) -> bool:
    """Return whether the run was on silicon, according to its provenance."""
    return evidence.verdict.about.get("backend") == "loihi2"


def where_it_ran(evidence: Evidence) -> str:
    """Return where the run took place: `the emulator`, `Lava processes on the CPU (stock)`, …"""
    about = evidence.verdict.about
    backend = str(about.get("backend", "an unknown backend"))
    return BACKENDS.get(backend, backend) + (f" ({about['graph']})" if about.get("graph") else "")


def provenance_panel(evidence: Evidence) -> Panel:
    """Return the section that says what ran, and where."""
    about, origin = evidence.verdict.about, evidence.origin
    silicon = "run on silicon" if on_silicon(evidence) else "not run on silicon"
    facts = [("backend", f"{about.get('backend', '?')}, {where_it_ran(evidence)}"), ("silicon", silicon)]
    if origin.data:
        facts.append(("data set", origin.data))
    facts += [("samples", f"{about.get('samples', 0):,}"), ("steps T", str(about.get("steps", "?")))]
    if about.get("seconds"):
        facts.append(("run time", f"{about['seconds']:.3g} s"))
    facts.append(("network, SHA-256", str(about.get("digest", ""))))
    if evidence.run is not None:
        chip = evidence.run.exported
        facts += [(f"network: {key}", _note(value)) for key, value in chip.notes.items() if value]
        leak = f"LIF, leak {chip.leak:.4f}" if chip.decay else "IF"
        facts.append(
            ("neuron", f"{leak}, reset {'by subtraction' if chip.layers[0].reset == 'subtract' else 'to zero'}, input as {chip.input.kind}")
        )
    if origin.command:
        facts.append(("command", origin.command))
    if origin.date:
        facts.append(("date of the run", origin.date))
    facts += [("fsnn-lava", __version__), ("Python", platform.python_version()), *_versions(), ("machine", platform.machine())]
    facts.append(("report written", datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")))
    return Panel(key=KEY, title=TITLE, wide=True, facts=tuple(facts))


def _note(text: str) -> str:
    """Format a note of the network: measured numbers with four digits, counts without a decimal point."""
    try:
        number = float(text) if "." in text else None
    except ValueError:
        return text
    return text if number is None else f"{number:.0f}" if number.is_integer() else f"{number:.4g}"


def _versions() -> list[tuple[str, str]]:
    found = []
    for name in _PACKAGES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "not installed"))
    return found
