from __future__ import annotations

from fsnn_lava.backends.lava.synapse_process import SynapseProcess


class TransposedConv(SynapseProcess):
    """A transposed convolution: feedback onto a larger grid."""
