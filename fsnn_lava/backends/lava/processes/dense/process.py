from __future__ import annotations

from fsnn_lava.backends.lava.synapse_process import SynapseProcess


class Dense(SynapseProcess):
    """A dense synapse from every source neuron to every target neuron."""
