"""Run one of our networks in snnTorch, from its NIR file alone, and compare every neuron's rate with that on our emulator.

    pip install snntorch nir
    python examples/nir_other_framework.py [net.nir]

The importer of snnTorch 1.0 supports neither IF neurons without a leak nor feedback through a convolution, so this script connects
snnTorch's neurons and torch's layers node by node. NIR has no node for reset by subtraction, or for a bias that differs at the border;
both are in the graph's metadata. The script also does the reset itself, because snnTorch subtracts the threshold a second time, without
a spike, if a neuron is still above it after the first subtraction.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nir
import numpy as np
import snntorch as snn
import torch
from torch import Tensor, nn

import fsnn_lava as fl
from fsnn_lava.formats import nir as nir_file
from fsnn_lava.models.find import find_model

SAMPLES = 16


def connection(node: nir.NIRNode) -> nn.Module:
    """Return the torch layer for a NIR connection."""
    if isinstance(node, nir.Flatten):
        return nn.Flatten(1)
    if isinstance(node, nir.Conv2d):
        out, inner, *kernel = node.weight.shape
        layer: nn.Module = nn.Conv2d(
            inner * int(node.groups), out, kernel, tuple(node.stride), tuple(node.padding), groups=int(node.groups)
        )
    else:
        layer = nn.Linear(node.weight.shape[1], node.weight.shape[0], bias=isinstance(node, nir.Affine))
    layer.weight = nn.Parameter(torch.from_numpy(node.weight).double())
    if not isinstance(node, nir.Linear):
        layer.bias = nn.Parameter(torch.from_numpy(node.bias).double())
    return layer


def neuron(node: nir.NIRNode) -> snn.Leaky:
    """Return the snnTorch neuron for an IF or LIF node, without a reset; dt is one step."""
    leak = 1.0 - 1.0 / float(node.tau.flat[0]) if isinstance(node, nir.LIF) else 1.0
    return snn.Leaky(beta=leak, threshold=torch.from_numpy(node.v_threshold).double(), reset_mechanism="none")


def after_reset(node: nir.NIRNode, potential: Tensor, spikes: Tensor) -> Tensor:
    """Return the potential after a spike, as given in the metadata; the threshold is v_threshold + 2**-7."""
    reset = node.metadata["reset"]
    if (reset.decode() if isinstance(reset, bytes) else reset) == "zero":
        return potential * (1.0 - spikes)
    return potential - spikes * (torch.from_numpy(node.v_threshold).double() + 2.0**-7)


def rates(graph: nir.NIRGraph, values: Tensor, steps: int) -> Tensor:
    """Return the rates [B, ...] of l1, the only layer of the graph; its spikes arrive through the feedback one step later."""
    node = graph.nodes["l1"]
    forward, back, cell = connection(graph.nodes["input_l1"]), connection(graph.nodes["l1_l1"]), neuron(node)
    drive = forward(values.flatten(1) if node.v_threshold.ndim == 1 else values)
    if "bias" in node.metadata:
        bias = torch.from_numpy(node.metadata["bias"]).double()
        drive = drive + bias - bias[:, bias.shape[1] // 2, bias.shape[2] // 2][:, None, None]
    spikes, potential = torch.zeros_like(drive), torch.zeros_like(drive)
    total = torch.zeros_like(drive)
    for _ in range(steps):
        spikes, potential = cell(drive + back(spikes.double()), potential)  # snnTorch returns float32 spikes
        potential = after_reset(node, potential, spikes)
        total += spikes
    return total / steps


@torch.no_grad()
def main(path: str | None = None) -> float:
    """Return the largest difference between the rate of a neuron in snnTorch and on the emulator."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(path) if path else Path(folder) / "digits.nir"
        if path is None:
            nir_file.write_nir(fl.ChipNetwork.load(find_model("digits")), file)
        chip, graph = nir_file.read_nir(file), nir.read(file)
    values = fl.load_data("digits").test.batch(np.arange(SAMPLES))
    theirs = rates(graph, torch.from_numpy(values).double(), chip.steps).numpy()
    ours = fl.run(chip, values)
    difference = float(np.abs(theirs - ours.counts[0] / chip.steps).max())
    print(f"{SAMPLES} samples, {chip.layers[0].size} neurons, {chip.steps} steps")
    print(f"mean rate {theirs.mean():.4f} in snnTorch, {ours.counts[0].mean() / chip.steps:.4f} on the emulator")
    print(f"largest difference between the two rates of a neuron: {difference:.4f} (one spike is {1 / chip.steps:.4f})")
    return difference


if __name__ == "__main__":
    main(*sys.argv[1:2])
