"""Every kind of synapse becomes the patches of its kind, with its own geometry."""

from __future__ import annotations

import numpy as np
import pytest

from fsnn_lava.compiled.patches import convolution_patches, dense_patches, transposed_patches
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.connections import ConvSynapse, DenseSynapse, Synapse, TransposedConvSynapse

RNG = np.random.default_rng(0)
KERNEL = RNG.integers(-127, 128, (4, 2, 3, 3)).astype(np.int8)
MATRIX = RNG.integers(-127, 128, (5, 64)).astype(np.int8)
ENDS = {"source": "a", "target": "b"}


@pytest.mark.parametrize(
    ("synapse", "target", "expected"),
    [
        (DenseSynapse(weight=MATRIX, **ENDS), (5,), dense_patches(MATRIX, (4, 4, 4))),
        (
            ConvSynapse(weight=KERNEL, stride=(2, 1), padding=(1, 0), groups=2, **ENDS),
            (4, 2, 2),
            convolution_patches(KERNEL, (4, 4, 4), (4, 2, 2), stride=(2, 1), padding=(1, 0), groups=2),
        ),
        (
            TransposedConvSynapse(weight=KERNEL, stride=(2, 1), padding=(1, 0), output_padding=(1, 0), **ENDS),
            (2, 8, 6),
            transposed_patches(KERNEL, (4, 4, 4), (2, 8, 6), stride=(2, 1), padding=(1, 0)),
        ),
    ],
    ids=["dense", "conv", "transposed"],
)
def test_a_synapse_is_laid_out_as_its_kind(synapse, target, expected):
    assert synapse.output_shape((4, 4, 4)) == target
    found = compiled_synapse(synapse, (4, 4, 4), target)
    for name in ("weight", "row_spans", "column_spans", "width", "channels", "groups"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_a_synapse_of_no_kind_is_refused():
    class Odd(Synapse):
        weight_axes = 2

    with pytest.raises(BadArgument, match="must be a DenseSynapse, ConvSynapse or TransposedConvSynapse, got Odd"):
        compiled_synapse(Odd(weight=MATRIX, **ENDS), (64,), (5,))
