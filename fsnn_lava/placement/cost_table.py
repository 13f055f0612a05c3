"""The cost of a sample as text: counts always, time and energy as far as the board file has constants."""

from __future__ import annotations

from fsnn_lava.placement.board import Range
from fsnn_lava.placement.cost import ChipCost


def cost_table(cost: ChipCost) -> str:
    """Per layer messages, operations, updates and cores; then time and energy, without and with host I/O."""
    lines = [
        f"per sample on the chip, {cost.steps} steps (not measured: counted from the run's spikes):",
        f"{'layer':<10} {'cores':>6} {'messages':>12} {'operations':>14} {'updates':>12}",
    ]
    for layer in cost.layers:
        cores = "-" if layer.cores is None else str(layer.cores)
        lines.append(f"{layer.name:<10} {cores:>6} {layer.messages:>12,.1f} {layer.operations:>14,.1f} {layer.updates:>12,}")
    lines.append(f"{'total':<10} {'':>6} {cost.messages:>12,.1f} {cost.operations:>14,.1f} {cost.updates:>12,}")
    lines.append(f"the host writes {cost.written:,} numbers and reads {cost.read:,.0f}")
    lines.append(_time(cost))
    lines.append(_energy(cost))
    if cost.missing:
        lines.append(f"unknown for {cost.board.name}: {', '.join(cost.missing)}; give your own in a board file (boards/template.toml)")
    used = {name: cost.board.sources[name] for name in cost.board.constants}
    lines += [f"source of {name}: {source}" for name, source in used.items()]
    return "\n".join(lines)


def _time(cost: ChipCost) -> str:
    return f"time: {_text(cost.time, 1e3, 'ms')}, with host I/O {_text(cost.time_with_host, 1e3, 'ms')}"


def _energy(cost: ChipCost) -> str:
    without, with_host = (_text(cost.static_energy(time), 1e6, "µJ") for time in (cost.time, cost.time_with_host))
    return f"energy: dynamic {_text(cost.dynamic_energy, 1e6, 'µJ')}, static {without}, static with host I/O {with_host}"


def _text(figure: Range | None, scale: float, unit: str) -> str:
    if figure is None:
        return "unknown"
    low, high = f"{figure.low * scale:.3g}", f"{figure.high * scale:.3g}"
    return f"{low} {unit}" if low == high else f"{low} … {high} {unit}"
