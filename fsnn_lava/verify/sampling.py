"""Sampling: choose which samples of a run are examined more closely, so that this takes a fraction of the run's own work.

The choice depends only on the network, the steps and a sample's index, not on batches, processes or the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import INPUT, ChipNetwork, DenseSynapse, TransposedConvSynapse

ACTIVITY = 0.1  # fraction of neurons that send a message in a step, and so of a full pass that the emulator computes
SHARE = 0.1  # fraction of the run's work that each kind of examination may take in a long run
FIRST_WORK = 5e8  # multiplications for the first samples, however short the run is: a fraction of a second
SOLVED_SAMPLES = 256  # at most this many are solved for a*
SOLVED_PASSES = 60  # over the rate map, to solve for one a*
SLOPE_SAMPLES = 8  # at most this many are run again with fewer steps
SLOPE_PASSES = 5  # to run one sample again with T/4 and T/2 steps, and to compute f(a) after each
REFERENCE_SAMPLES = 64  # at most this many are computed by the reference
REFERENCE_PASSES = 10  # per step: many small operations, and silent neurons are not skipped
CERTIFIED_SAMPLES = 32  # at most this many are examined for a certificate
CERTIFICATE_PASSES = 400  # around the loops, forward or back, to certify one sample
CERTIFICATE_WORK = 5e10  # multiplications; if a certificate takes more, as in AlexNet-F, short runs have none
PASS_OVERHEAD = 1e6  # in multiplications: the cost of the calls in a pass that solves or certifies, however small the network


@dataclass(frozen=True)
class Sampling:
    """A sampling of a run: its first samples, then one in `every`, until there are `most`. Without `every`, only the first ones.

    With `first` = 0, the sample with index `every` is the first one.
    """

    first: int
    every: int | None = None
    most: int = 2**62

    def rows(self, offset: int, samples: int) -> NDArray[np.intp]:
        """Return the positions of the chosen samples among `samples`, which start at index `offset`."""
        numbers = np.arange(offset, offset + samples)
        chosen = numbers < self.first
        if self.every is not None:
            chosen |= (numbers % self.every == 0) & (numbers > 0) & (numbers // self.every < self.most - self.first)
        return np.flatnonzero(chosen)


def affordable(
    chip: ChipNetwork,
    steps: int,
    *,
    passes: float,
    overhead: float = 0.0,
    least: int = 1,
    most: int = 2**62,
    first_most: int | None = None,
) -> Sampling:
    """Return an affordable sampling if one sample takes `passes` passes over all connections; running one takes ACTIVITY * steps of them.

    At least `least`, at most `most` in all, and at most `first_most` from the start of the run. The first samples are examined together,
    later ones one at a time, when a pass takes `overhead` multiplications longer.
    """
    work = multiplications_per_sample(chip)
    first = int(np.clip(FIRST_WORK // (passes * work), least, most if first_most is None else first_most))
    return Sampling(first, ceil(passes * (1 + overhead / work) / (SHARE * ACTIVITY * steps)), most)


def multiplications_per_sample(chip: ChipNetwork) -> int:
    """Return the multiplications of one pass over all connections between layers, for one sample; at least 1."""
    total = 0
    for synapse in chip.synapses:
        if synapse.source != INPUT:
            grid = chip.layer(synapse.source if isinstance(synapse, TransposedConvSynapse) else synapse.target).shape[1:]
            total += synapse.weight.size * (1 if isinstance(synapse, DenseSynapse) else int(np.prod(grid)))
    return max(1, total)


def solved_samples(chip: ChipNetwork, steps: int) -> Sampling:
    """Return the samples for which a* is solved by default."""
    return affordable(chip, steps, passes=SOLVED_PASSES, overhead=PASS_OVERHEAD, least=2, most=SOLVED_SAMPLES)


def slope_samples(chip: ChipNetwork, steps: int) -> Sampling:
    """Return the samples that are run again with fewer steps, to measure how the residual falls."""
    return Sampling(affordable(chip, steps, passes=SLOPE_PASSES, least=2, most=SLOPE_SAMPLES).first)


def referenced_samples(chip: ChipNetwork, steps: int) -> Sampling:
    """Return the samples that the reference computes."""
    return affordable(chip, steps, passes=REFERENCE_PASSES * steps, most=REFERENCE_SAMPLES, first_most=16)


def certified_samples(chip: ChipNetwork, steps: int) -> Sampling:
    """Return the samples that are examined for a certificate by default."""
    least = int(not takes_long_to_certify(chip))
    return affordable(chip, steps, passes=CERTIFICATE_PASSES, overhead=PASS_OVERHEAD, least=least, most=CERTIFIED_SAMPLES)


def takes_long_to_certify(chip: ChipNetwork) -> bool:
    """Return whether a single certificate takes so long that a short run has none unless it is asked for."""
    return CERTIFICATE_PASSES * multiplications_per_sample(chip) > CERTIFICATE_WORK
