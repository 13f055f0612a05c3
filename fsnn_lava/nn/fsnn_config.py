"""The configuration of an FSNN as plain values: everything but weights, solver and metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fsnn_lava.errors import BadArchitecture
from fsnn_lava.nn.architecture import Architecture, parse_architecture
from fsnn_lava.nn.graph import Graph
from fsnn_lava.nn.graph_values import graph_of, graph_values
from fsnn_lava.nn.neurons import IF, LIF, SigmaDelta
from fsnn_lava.nn.normalisation import Normalisation

if TYPE_CHECKING:
    from fsnn_lava.nn.fsnn import FSNN


def network_config(net: FSNN) -> dict[str, Any]:
    """Return the configuration; its architecture is the notation if there is one, else a dict of layers and connections.

    Only the configuration of `SigmaDelta` neurons has a key "delta".
    """
    normalisation, notation = net.normalisation, net.architecture.notation
    return {
        "architecture": graph_values(net.graph) if notation is None else notation,
        "input_shape": list(net.architecture.input_shape),
        "classes": net.architecture.classes,
        "leak": float(net.neuron.leak),
        "vth": net.vth,
        "steps": net.steps,
        "schedule": net.schedule,
        "dropout": net.dropout,
        "norm": net.norm_kind,
        "limit": net.limit,
        "batch_norm": net.batch_norm,
        "normalisation": None if normalisation is None else [normalisation.divisor, list(normalisation.mean), list(normalisation.std)],
        "class_names": list(net.class_names),
        **_delta(net.neuron),
    }


def constructor_arguments(config: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with which `FSNN` creates a network of this configuration."""
    values = dict(config)
    leak, normalisation = values.pop("leak"), values.pop("normalisation")
    if normalisation is not None:
        divisor, mean, std = normalisation
        values["normalisation"] = Normalisation(divisor, tuple(mean), tuple(std))
    delta = values.pop("delta", None)
    values["neuron"] = SigmaDelta(leak, **delta) if delta is not None else IF() if leak == 1.0 else LIF(leak)
    values["architecture"] = _architecture(config)
    return values


def _delta(neuron: LIF) -> dict[str, Any]:
    if not isinstance(neuron, SigmaDelta):
        return {}
    return {"delta": {"dead_band": float(neuron.dead_band), "activation": neuron.activation}}


def read_architecture(config: dict[str, Any]) -> Architecture:
    """Return the architecture of a configuration."""
    return parse_architecture(_architecture(config), input_shape=tuple(config["input_shape"]), classes=int(config["classes"]))


def _architecture(config: dict[str, Any]) -> str | Graph:
    given = config["architecture"]
    if isinstance(given, dict):
        return graph_of(given, input_shape=config["input_shape"])
    if not isinstance(given, str):
        raise BadArchitecture(f"the architecture must be a notation or a dict of layers and connections, got {type(given).__name__}")
    return given
