from __future__ import annotations

from fsnn_lava.lava.synapse import SynapseProcess


class TransposedConv(SynapseProcess):
    """A transposed convolution: feedback onto a larger grid."""
