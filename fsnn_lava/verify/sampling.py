"""Which samples of a run are examined more closely, so that doing so takes a fraction of the run's own work.

The choice depends on the network, the steps and a sample's number alone: not on batches, processes or the clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray

from fsnn_lava.ir.network import INPUT, ChipNetwork, DenseSynapse, TransposedConvSynapse

ACTIVITY = 0.1  # share of the neurons that send a message in a step: what the emulator computes of a pass over all connections
SHARE = 0.1  # of the run's work that each kind of examination may take in a long run
FIRST_WORK = 5e8  # multiplications for the first samples, however short the run: a fraction of a second
SOLVED_SAMPLES = 256  # for which a* is solved, at most
SOLVED_PASSES = 60  # of the rate map, to solve for one a*
SLOPE_SAMPLES = 8  # run again with fewer steps, at most
SLOPE_PASSES = 5  # to run one again with T/4 and T/2 steps, and for f(a) after each
REFERENCE_SAMPLES = 64  # computed by the reference, at most
REFERENCE_PASSES = 10  # per step: many small operations, and silent neurons are not skipped
CERTIFIED_SAMPLES = 32  # examined for a certificate, at most
CERTIFICATE_PASSES = 400  # around the loops, forward or back, to certify one sample
PASS_OVERHEAD = 1e6  # multiplications in the time that the calls of a pass to solve or to certify take, however small the network


@dataclass(frozen=True)
class Sampling:
    """The first samples of a run, then one in `every`, until there are `most`. Without `every`, only the first."""

    first: int
    every: int | None = None
    most: int = 2**62

    def rows(self, offset: int, samples: int) -> NDArray[np.intp]:
        """Positions of the chosen ones among `samples` samples, of which the first is number `offset`."""
        numbers = np.arange(offset, offset + samples)
        chosen = numbers < self.first
        if self.every is not None:
            chosen |= (numbers % self.every == 0) & (numbers // self.every < self.most - self.first)
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
    """The samples to examine if one takes as long as `passes` passes over all connections; running one takes ACTIVITY * steps of them.

    At least `least`, at most `most` in all, and at most `first_most` from the start of the run. The first samples are examined together,
    later ones each on its own, when a pass takes `overhead` multiplications longer.
    """
    work = multiplications_per_sample(chip)
    first = int(np.clip(FIRST_WORK // (passes * work), least, most if first_most is None else first_most))
    return Sampling(first, ceil(passes * (1 + overhead / work) / (SHARE * ACTIVITY * steps)), most)


def multiplications_per_sample(chip: ChipNetwork) -> int:
    """Multiplications of one pass over all connections between layers, for one sample; at least 1."""
    total = 0
    for synapse in chip.synapses:
        if synapse.source != INPUT:
            grid = chip.layer(synapse.source if isinstance(synapse, TransposedConvSynapse) else synapse.target).shape[1:]
            total += synapse.weight.size * (1 if isinstance(synapse, DenseSynapse) else int(np.prod(grid)))
    return max(1, total)


def solved_samples(chip: ChipNetwork, steps: int) -> Sampling:
    """For which samples a* is solved by default."""
    return affordable(chip, steps, passes=SOLVED_PASSES, overhead=PASS_OVERHEAD, least=2, most=SOLVED_SAMPLES)


def slope_samples(chip: ChipNetwork, steps: int) -> Sampling:
    """Which samples are run again with fewer steps, to measure how the residual falls."""
    return Sampling(affordable(chip, steps, passes=SLOPE_PASSES, least=2, most=SLOPE_SAMPLES).first)


def referenced_samples(chip: ChipNetwork, steps: int) -> Sampling:
    """Which samples the reference computes."""
    return affordable(chip, steps, passes=REFERENCE_PASSES * steps, most=REFERENCE_SAMPLES, first_most=16)


def certified_samples(chip: ChipNetwork, steps: int) -> Sampling:
    """Which samples are examined by default."""
    return affordable(chip, steps, passes=CERTIFICATE_PASSES, overhead=PASS_OVERHEAD, most=CERTIFIED_SAMPLES)
