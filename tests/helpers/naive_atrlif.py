"""ATRLIF once more, as Lava documents it and as the stock graph configures it: one line per rule, and every rule can be broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fsnn_lava.ir.network import Layer
from tests.helpers.naive_simulator import TOP, Array, Charged, towards_zero

Leak = Callable[[Array, int], Array]


def floored(state: Array, decay: int) -> Array:
    """A leak that rounds down instead of towards zero."""
    return (state * (4096 - decay)) >> 12


def no_memory(i: Array) -> Array:
    """delta_i = 4095/4096: nothing of the last current is left."""
    return 0 * i


def delta_i_of_1(i: Array) -> Array:
    """decay_const = 4097: the last current comes back with the other sign, divided by 4096."""
    return -np.sign(i) * (np.abs(i) >> 12)


@dataclass(kw_only=True)
class NaiveAtrlif:
    """The neurons of one layer; every option but the layer is a fault."""

    layer: Layer
    fires_at: int = 1  # multiples of the threshold
    lower_by: int = 0  # units 2**-6 by which the threshold is too low
    subtracts: int = 64  # per unit of threshold
    refractory: int = 0  # silent steps after a spike
    withheld: int = 0  # 2: every second spike does not happen
    leak_v: Leak = towards_zero
    leak_r: Leak = towards_zero
    memory: Callable[[Array], Array] = no_memory  # of the synaptic current
    offset_bias: Callable[[Array], Array] = lambda exact: (exact + 2048) >> 12  # what cancels the leak of the offset, 1/4096 units

    def __post_init__(self) -> None:
        self.theta = 64 * self.layer.per_neuron(self.layer.threshold).reshape(-1).astype(np.int64)
        self.offset = self.theta // 2 + self.layer.strict
        self.v = self.i = self.since = self.due = np.zeros((1, self.layer.size), dtype=np.int64)
        self.r = self.offset[None]

    def step(self, bias: Array, synaptic: Array) -> Charged:
        decay = self.layer.decay
        self.i = self.memory(self.i) + synaptic
        charged = self.leak_v(self.v, decay) + self.i + bias - self.offset_bias(decay * self.offset)
        self.v = np.clip(charged, -TOP, TOP)
        self.r = self.leak_r(self.r, decay)
        over = self.v - self.r >= self.fires_at * self.theta - self.offset + self.layer.strict - self.lower_by
        self.since = self.since + 1
        spikes = over & ((self.since > self.refractory) | (self.refractory == 0))
        self.due = self.due + spikes
        if self.withheld:
            spikes = spikes & (self.due % self.withheld == 0)
        self.since = np.where(spikes, 0, self.since)
        self.r = self.r + spikes * (self.theta // 64 * self.subtracts)
        return Charged(u=self.v - self.r + self.offset, spikes=spikes.astype(np.int64), low=charged < -TOP, high=charged > TOP)
