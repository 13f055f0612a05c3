"""Delta encoding with Lava's own sigma-delta neurons: what they compute instead of E15. Integers only; Lava is not imported.

Lava's `SigmaDelta` has no upper clip, so two of them make one neuron: ReLU(z) - ReLU(z - 2**(q + s)); with the activation "relu" one is
enough. Each remembers z as of its last message, and sends the difference, shifted right by s. The bits that this drops are never sent.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.errors import BadNetwork
from fsnn_lava.ir.network import INPUT, ChipNetwork, DeltaEncoding, Layer


def stock_delta_shift(layer: Layer) -> int:
    """Return s of a layer (E15); BadNetwork if its channels have different thresholds, since a SigmaDelta process has one `state_exp`."""
    threshold = int(layer.threshold.flat[0])
    if np.any(layer.threshold != threshold):
        raise BadNetwork(f"layer {layer.name!r}: Lava's sigma-delta neurons have one threshold per layer; use the batched graph")
    return threshold.bit_length() - 1


def stock_neurons(delta: DeltaEncoding) -> int:
    """Return how many of Lava's stock neurons make up one E15 neuron."""
    return 2 if delta.activation == "clip" else 1


def stock_delta_differences(chip: ChipNetwork) -> list[str]:
    """Return how a run with Lava's sigma-delta neurons differs from E15, one sentence per difference."""
    if chip.delta is None:
        return []
    said = []
    for layer, share in zip(chip.layers, chip.delta.shares(), strict=True):
        unit = 1.0 / chip.delta.one
        if stock_neurons(chip.delta) == 2:
            said.append(
                f"layer {layer.name!r}: two neurons without an upper clip take the place of one, and both have a dead band, so a rate may "
                f"be off by up to {2 * share:.3g} instead of {share:.3g}"
            )
        if _drops_bits(chip, layer):
            said.append(f"layer {layer.name!r}: every message drops the bits below 2**-{chip.delta.rate_bits}, up to {unit:.2g} each")
    return said


def _drops_bits(chip: ChipNetwork, layer: Layer) -> bool:
    """Return whether z can be anything other than a multiple of 2**s."""
    shift, given = stock_delta_shift(layer), chip.delta.rate_bits if chip.delta is not None else 0
    lowest = [synapse.exponent + (given if synapse.source == INPUT else 0) for synapse in chip.into(layer)]
    whole = np.all((layer.bias.astype(np.int64) << given) % 2**shift == 0)
    return chip.host_drive is not None or not whole or any(exponent < shift for exponent in lowest)


def dead_band_tolerance(delta: DeltaEncoding, position: int, counts: NDArray[np.int32]) -> NDArray[np.int64]:
    """Return a strict bound on how far the rates last sent by a layer's Lava neurons may be from those of E15, units of 2**-q.

    Each neuron is within its dead band of its own z, and each of the `counts` messages dropped less than one unit.
    """
    return stock_neurons(delta) * delta.dead_bands[position] + counts.astype(np.int64) + 1
