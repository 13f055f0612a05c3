"""How much charge a neuron in its equilibrium may lack or hold because its sources fire at unrelated moments (E11)."""

from __future__ import annotations

from math import log, sqrt

import numpy as np
import torch
from numpy.typing import NDArray

from fsnn_lava.ir.network import ChipNetwork, Layer
from fsnn_lava.ir.synapse_operator import operator_of
from fsnn_lava.verify.synaptic_currents import incoming_synapses

CHANCE = 1e-6  # with which the sources of one neuron, firing independently, add up to more


def equilibrium_charge(chip: ChipNetwork, layer: Layer) -> NDArray[np.float64]:
    """[*shape] in spikes: 1 for the charge below the threshold, plus sqrt(2 ln(1/CHANCE)) ||w||/theta (E11).

    Every source is at a phase between two of its spikes. A change of all phases changes the sum of what arrived by w times numbers in
    [-1, 1]; by Hoeffding's inequality it exceeds y with a probability of at most exp(-y**2/(2 ||w||**2)) if they are independent.
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
