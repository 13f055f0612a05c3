"""The cost table of a sample as text: always counts, and time and energy as far as the board file has constants."""

from __future__ import annotations

from fsnn_lava.placement.cost import ChipCost
from fsnn_lava.placement.range import range_text

ESTIMATE = "an estimate, not a measurement"


def cost_table(cost: ChipCost) -> str:
    """Return a table of messages, operations, updates and cores per layer, then time and energy, without and with host I/O."""
    lines = [
        f"per sample on the chip, {cost.steps} steps (not measured: counted from the messages of the run):",
        f"{'layer':<10} {'cores':>6} {'messages':>12} {'operations':>14} {'updates':>12}",
    ]
    for layer in cost.layers:
        cores = "-" if layer.cores is None else str(layer.cores)
        bits = f" of {layer.message_bits} bits" if layer.message_bits else ""
        lines.append(f"{layer.name:<10} {cores:>6} {layer.messages:>12,.1f} {layer.operations:>14,.1f} {layer.updates:>12,}{bits}")
    lines.append(f"{'total':<10} {'':>6} {cost.messages:>12,.1f} {cost.operations:>14,.1f} {cost.updates:>12,}")
    lines.append(f"the host writes {cost.written:,} numbers and reads {cost.read:,.0f}")
    lines += [f"{what}: {text}" for what, text in figures_in_words(cost)]
    if cost.missing:
        lines.append(f"unknown for {cost.board.name}: {', '.join(cost.missing)}; add your own to a board file (boards/template.toml)")
    used = {name: cost.board.sources[name] for name in cost.board.constants}
    lines += [f"source of {name}: {source}" for name, source in used.items()]
    return "\n".join(lines)


def figures_in_words(cost: ChipCost) -> list[tuple[str, str]]:
    """Return the time and energy of a sample as (what, text), each without and with host I/O."""
    dynamic, static = range_text(cost.dynamic_energy, 1e6, "µJ"), range_text(cost.static_energy(cost.time), 1e6, "µJ")
    time, with_host = range_text(cost.time, 1e3, "ms"), range_text(cost.time_with_host, 1e3, "ms")
    energy, energy_with_host = range_text(cost.energy, 1e6, "µJ"), range_text(cost.energy_with_host, 1e6, "µJ")
    return [
        ("time", f"{time}, with host I/O {with_host} ({ESTIMATE})"),
        ("energy", f"{energy} (dynamic {dynamic}, static {static}), with host I/O {energy_with_host} ({ESTIMATE})"),
    ]
