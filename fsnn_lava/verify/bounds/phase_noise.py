"""Phase noise: how much charge a neuron at equilibrium may lack or hold because its sources fire at unrelated times (E11)."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.ir.connections import incoming_synapses
from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.synapse_operator import operator_of

CHANCE = 1e-6  # probability that the independently firing sources of a neuron add up to more


def equilibrium_charge(chip: ChipNetwork, layer: Layer) -> NDArray[np.float64]:
    """Return the phase noise in spikes, [*shape]: 1 for the charge below the threshold, plus sqrt(2 ln(1/CHANCE)) ||w||/theta (E11).

    Every source is at some phase between two of its spikes. Changing all phases changes the arrived sum by w times numbers in [-1, 1]; by
    Hoeffding's inequality, it exceeds y with a probability of at most exp(-y**2/(2 ||w||**2)) if the phases are independent.
    """
    squares = np.zeros(layer.shape)
    for synapse in incoming_synapses(chip, layer):
        source = chip.layer(synapse.source).shape
        weight = torch.from_numpy(np.square(synapse.weight * 2.0**synapse.exponent))
        with torch.no_grad():
            squares += (
                operator_of(synapse, source).apply(weight, torch.ones((1, *source), dtype=torch.float64)).numpy().reshape(layer.shape)
            )
    theta = layer.per_neuron(layer.threshold).astype(np.float64)
    return 1.0 + sqrt(2.0 * log(1.0 / CHANCE)) * np.sqrt(squares) / theta
