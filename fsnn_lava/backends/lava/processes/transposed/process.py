from __future__ import annotations

from fsnn_lava.backends.lava.synapse import SynapseProcess


class TransposedConv(SynapseProcess):
    """A transposed convolution: feedback onto a larger grid."""
