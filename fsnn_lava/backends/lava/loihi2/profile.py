"""Convert the measurements of the vendor's profilers to plain numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

_FIELDS = {
    "Loihi2Power": (
        "total_power", "vdd_power", "vddm_power", "vddio_power",
        "static_total_power", "static_vdd_power", "static_vddm_power", "static_vddio_power",
    ),
    "Loihi2ExecutionTime": ("avg_time_per_step", "execution_time_per_step", "time_per_step"),
    "Loihi2Memory": ("core_idx", "total_mpds"),
    "Loihi2Activity": ("core_idx", "syn_ops", "dendrite_updates", "axon_out", "spikes_in"),
}  # fmt: skip


def make_profilers(steps: int) -> dict[str, Any]:
    """Create the profilers that the installed lava-loihi provides, for a run of `steps` steps."""
    from lava.utils import loihi2_profiler

    made: dict[str, Any] = {}
    for name in _FIELDS:
        kind = getattr(loihi2_profiler, name, None)
        if kind is not None:
            made[name] = kind(num_steps=steps) if name == "Loihi2Power" else kind()
    return made


def measured_profile(profilers: dict[str, Any]) -> dict[str, Any]:
    """Return everything that the profilers measured: watts, microseconds and counts, as the vendor reports them."""
    found: dict[str, Any] = {"units": "power in watts, time in microseconds, as lava-loihi's profilers report them"}
    for name, profiler in profilers.items():
        fields = {field: _plain(getattr(profiler, field)) for field in _FIELDS[name] if hasattr(profiler, field)}
        found[name] = {field: value for field, value in fields.items() if value is not None}
    return found


def _plain(value: Any) -> Any:
    """Convert to lists and numbers; a long series becomes its mean, standard deviation and length."""
    array = np.asarray(value)
    if array.dtype.kind not in "iufb":
        return None
    if array.ndim == 0:
        return array.item()
    if array.size <= 256:
        return array.tolist()
    return {"mean": float(array.mean()), "deviation": float(array.std()), "samples": int(array.size)}
