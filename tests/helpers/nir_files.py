"""NIR graphs with asymmetric weights, built with the package nir itself."""

from __future__ import annotations

from typing import Any

import nir
import numpy as np


def numbers(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=shape)


def lif(size: int, *, tau: float = 5.0, r: float | None = None, threshold: float = 0.75, **more: Any) -> nir.LIF:
    ones = np.ones(size)
    return nir.LIF(tau=tau * ones, r=(tau if r is None else r) * ones, v_leak=0 * ones, v_threshold=threshold * ones, **more)


def integrate_and_fire(size: int, *, threshold: float = 0.75, **more: Any) -> nir.IF:
    return nir.IF(r=np.ones(size), v_threshold=threshold * np.ones(size), **more)


def nir_chain(neurons: Any = None, **changes: Any) -> nir.NIRGraph:
    """Input of 4, layer of 6, readout of 3; `changes` replace or add nodes, and `edges` the edges."""
    edges = changes.pop("edges", [("input", "in"), ("in", "lif"), ("lif", "out"), ("out", "output")])
    metadata = changes.pop("metadata", {})
    nodes = {
        "input": nir.Input(input_type={"input": np.array([4])}),
        "in": nir.Affine(weight=numbers(1, 6, 4), bias=numbers(2, 6)),
        "lif": lif(6) if neurons is None else neurons,
        "out": nir.Linear(weight=numbers(3, 3, 6)),
        "output": nir.Output(output_type={"output": np.array([3])}),
        **changes,
    }
    return nir.NIRGraph(nodes=nodes, edges=edges, metadata=metadata, type_check=False)
