from __future__ import annotations

from fsnn_lava.backends.lava.synapse_process import SynapseProcess


class Dense(SynapseProcess):
    """Every source neuron onto every target neuron."""
