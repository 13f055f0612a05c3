"""Format the table that fsnn-export prints."""

from __future__ import annotations

from collections.abc import Sequence

from fsnn_lava.verify.export import Exported

EXPLANATION = """
range     largest integer, relative to the largest possible   clipped    fraction of the weights that were clipped
SQNR      signal-to-quantisation-noise ratio of the weights   exponent   current = 2**exponent * (integers * messages)
rounding  of the threshold: |threshold * unit / vth - 1|      drive      rms error of current / threshold at the float equilibrium
shift     of the equilibrium, mean ||a*_q - a*||              bound      on the shift, if the network is certified (E12)
room      24-bit state range divided by the largest potential of a run on the calibration data; below 1, potentials are clipped
gain      spectral radius of the bounds on the layer gains (E11): below 1, the equilibrium is unique and always reached"""


def export_table(outcome: Exported, note: str, *, kept: bool) -> str:
    """Return the table that fsnn-export prints, as plain text: synapses, layers, checks, the file."""
    found = outcome.quantisation
    synapses = [
        [row.name, str(row.exponent), f"{100 * row.range_used:.0f} %", f"{100 * row.clipped:.2f} %", f"{row.sqnr:.1f} dB"]
        for row in found.synapses
    ]
    layers = [
        [
            row.name,
            row.threshold,
            f"{row.threshold_error:.1e}",
            f"{row.drive_error:.2e}",
            f"{row.shift:.3g}",
            "-" if row.shift_bound is None else f"{row.shift_bound:.3g}",
            f"{row.headroom:.1f}",
        ]
        for row in found.layers
    ]
    checks = [f"  {check.mark:<4}  {check.name}: {check.summary}" for check in outcome.checks]
    end = f"{outcome.path}: {_size(outcome.size)}, {outcome.digest[:12]}" if kept else f"{outcome.path}: not written"
    return "\n".join(
        [
            *_columns(["synapse", "exponent", "range", "clipped", "SQNR"], synapses),
            "",
            *_columns(["layer", "threshold", "rounding", "drive", "shift", "bound", "room"], layers),
            "",
            f"{note}; the integer and the folded network agree on {100 * outcome.agreement:.1f} % of the answers, and "
            f"the rates of the last layer differ by {outcome.rate_error:.1e} on average",
            *checks,
            end,
        ]
    )


def _columns(head: list[str], rows: Sequence[list[str]]) -> list[str]:
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in [head, *rows]]


def _size(number: int) -> str:
    return f"{number / 1000:.0f} kB" if number < 10**6 else f"{number / 10**6:.1f} MB"
