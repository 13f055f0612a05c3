"""Profilers as lava-dl's benchmark notebooks use them; the numbers are made up and marked by being round."""

import numpy as np
from lava.magma.core.callback_fx import CallbackFx


class Loihi2Power(CallbackFx):
    def __init__(self, num_steps):
        self.total_power = np.full(num_steps, 1.0)
        self.vdd_power = np.full(num_steps, 0.5)
        self.vddm_power = np.full(num_steps, 0.25)
        self.vddio_power = np.full(num_steps, 0.25)
        self.static_total_power = 0.5
        self.static_vdd_power = 0.25
        self.static_vddm_power = 0.125
        self.static_vddio_power = 0.125


class Loihi2ExecutionTime(CallbackFx):
    def __init__(self, buffer_size=1024):
        self.execution_time_per_step = np.full(4, 10.0)
        self.avg_time_per_step = 10.0


class Loihi2Memory(CallbackFx):
    core_idx = (0, 1)
    total_mpds = (0.5, 0.25)


class Loihi2Activity(CallbackFx):
    core_idx = (0, 1)
    syn_ops = (100, 200)
    dendrite_updates = (10, 20)
    axon_out = (1, 2)
    spikes_in = (3, 4)
