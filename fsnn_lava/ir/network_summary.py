"""The summary of a ChipNetwork: a table of its layers and connections, without their weights."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from fsnn_lava.ir.connections import ConvSynapse, Synapse, TransposedConvSynapse
from fsnn_lava.ir.delta_encoding import DeltaEncoding
from fsnn_lava.ir.layers import Layer
from fsnn_lava.summary import Cell, Summary, shape_text

if TYPE_CHECKING:
    from fsnn_lava.ir.network import ChipNetwork


def network_line(chip: ChipNetwork) -> str:
    """Describe a network in one line: `'16C3s (F16C3)', 1 layer, 256 neurons, 5,008 weights, 30 steps`."""
    architecture = f"{chip.notes['architecture']!r}, " if "architecture" in chip.notes else ""
    layers = f"{len(chip.layers)} layer{'s' if len(chip.layers) > 1 else ''}"
    neurons = sum(layer.size for layer in chip.layers)
    weights = sum(synapse.weight.size for synapse in chip.synapses) + chip.readout.weight.size
    encoding = "" if chip.delta is None else ", delta encoding"
    return f"{architecture}{layers}, {neurons:,} neurons, {weights:,} weights, {chip.steps} steps{encoding}"


def network_summary(chip: ChipNetwork) -> Summary:
    """Return the summary of a network: one row per layer, each followed by the connections that end on it."""
    rows: list[tuple[Cell, ...]] = [("input", shape_text(chip.input.shape), prod(chip.input.shape), "", chip.input.kind)]
    for position, layer in enumerate(chip.layers):
        neurons = _neurons(layer) if chip.delta is None else _delta_neurons(layer, chip.delta, position)
        rows.append((layer.name, shape_text(layer.shape), layer.size, "", neurons))
        if layer is chip.layers[0] and chip.host_drive is not None:
            rows.append((f"  host -> {layer.name}", shape_text(chip.host_drive.weight.shape), "", "", "current, computed by the host"))
        rows += [_connection(chip, synapse) for synapse in chip.into(layer)]
    readout, last = chip.readout, chip.layers[-1]
    rows.append(("readout", str(readout.classes), readout.classes, "", "not spiking"))
    rows.append(
        (f"  {last.name} -> readout", shape_text(readout.weight.shape), "", readout.weight.size, f"dense, exponent {readout.exponent}")
    )
    return Summary(
        title=f"ChipNetwork {network_line(chip)}",
        columns=("layer, connection", "shape", "neurons", "weights", "details"),
        rows=tuple(rows),
        notes=(f"network {chip.digest()[:12]}",),
    )


def _neurons(layer: Layer) -> str:
    low, high = int(layer.threshold.min()), int(layer.threshold.max())
    threshold = f"threshold {low}" if low == high else f"thresholds {low} to {high}"
    leak = "IF" if layer.decay == 0 else f"LIF, leak {layer.leak:.4g}"
    return f"{leak}, {threshold}" + (", reset to zero" if layer.reset == "zero" else "")


def _delta_neurons(layer: Layer, delta: DeltaEncoding, position: int) -> str:
    low, high = int(layer.threshold.min()), int(layer.threshold.max())
    threshold = f"threshold {low}" if low == high else f"thresholds {low} to {high}"
    kind = "sigma-delta" if delta.activation == "clip" else "sigma-delta, ReLU"
    return f"{kind}, {threshold}, dead band {delta.shares()[position]:.4g} ({delta.dead_bands[position]} of {delta.one})"


def _connection(chip: ChipNetwork, synapse: Synapse) -> tuple[Cell, ...]:
    back = "" if chip.is_forward(synapse) else "feedback, "
    if chip.chip_delay(synapse) > 1:
        back = f"skip, {chip.chip_delay(synapse)} steps on the chip, "
    kind = "dense"
    if isinstance(synapse, ConvSynapse):
        kind = f"convolution, stride {shape_text(synapse.stride)}"
        kind += f", {synapse.groups} groups" if synapse.groups > 1 else ""
        kind += f", dilation {shape_text(synapse.dilation)}" if synapse.dilation != (1, 1) else ""
    elif isinstance(synapse, TransposedConvSynapse):
        kind = f"transposed convolution, stride {shape_text(synapse.stride)}"
    name = f"  {synapse.source} -> {synapse.target}"
    return (name, shape_text(synapse.weight.shape), "", synapse.weight.size, f"{back}{kind}, exponent {synapse.exponent}")
