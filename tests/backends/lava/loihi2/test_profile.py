"""The measurements of the vendor's profilers, as plain numbers for JSON."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np

from fsnn_lava.backends.lava.loihi2.profile import measured_profile


def test_short_series_are_lists_and_long_ones_are_summarised():
    power = SimpleNamespace(total_power=np.float32(1.5), vdd_power=np.arange(3), static_vdd_power=np.arange(1000.0), vddm_power="unknown")
    found = json.loads(json.dumps(measured_profile({"Loihi2Power": power})))
    assert found["Loihi2Power"] == {
        "total_power": 1.5,
        "vdd_power": [0, 1, 2],
        "static_vdd_power": {"mean": 499.5, "deviation": float(np.arange(1000.0).std()), "samples": 1000},
    }
    assert "watts" in found["units"]


def test_fields_that_a_profiler_lacks_are_left_out():
    assert measured_profile({"Loihi2Memory": SimpleNamespace(core_idx=[4])})["Loihi2Memory"] == {"core_idx": [4]}
