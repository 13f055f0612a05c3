"""Any kind of synapse in the form that the compiled functions take."""

from __future__ import annotations

from fsnn_lava.compiled.patches import Patches, convolution_patches, dense_patches, transposed_patches
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.connections import ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse

Shape = tuple[int, ...]


def compiled_synapse(synapse: Synapse, source: Shape, target: Shape) -> Patches:
    """Return a synapse as patches for the compiled functions; `source` and `target` are the shapes of the layers it connects."""
    if isinstance(synapse, DenseSynapse):
        return dense_patches(synapse.weight, source)
    if isinstance(synapse, ConvSynapse):
        return convolution_patches(
            synapse.weight,
            source,
            target,
            stride=synapse.stride,
            padding=synapse.padding,
            groups=synapse.groups,
            dilation=synapse.dilation,
        )
    if isinstance(synapse, TransposedConvSynapse):
        return transposed_patches(synapse.weight, source, target, stride=synapse.stride, padding=synapse.padding)
    raise BadArgument(f"{synapse}: must be a DenseSynapse, ConvSynapse or TransposedConvSynapse, got {type(synapse).__name__}")
