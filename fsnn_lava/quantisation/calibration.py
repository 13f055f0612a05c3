"""Calibration data for choosing scales: given by the user, or generated from the input's normalisation."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from fsnn_lava.errors import BadArgument
from fsnn_lava.nn.fsnn import FSNN
from fsnn_lava.quantisation.folded_network import FoldedNetwork

SAMPLES = 32
SIMULATED_STEPS = 20  # longer runs are extrapolated
BUDGET = 10**9  # multiplications that one pass of the calibration data through the network may take


def synthetic_calibration(folded: FoldedNetwork, *, samples: int = SAMPLES, seed: int = 0, events: bool = False) -> NDArray[np.uint8]:
    """Generate calibration data: smooth random images with the normalisation's mean and std, or sparse random events [B, T, *shape]."""
    rng = np.random.default_rng(seed)
    shape = folded.input_shape
    if events:
        return (rng.random((samples, folded.steps, *shape)) < 0.05).astype(np.uint8)
    noise = rng.normal(size=(samples, *shape))
    if len(shape) == 3:
        for axis in (2, 3):
            noise = noise + np.roll(noise, 1, axis) + np.roll(noise, -1, axis)
        noise /= noise.std()
    per_channel = (-1, *(1,) * (len(shape) - 1))
    norm = folded.normalisation
    mean, std = np.array(norm.mean).reshape(per_channel), np.array(norm.std).reshape(per_channel)
    if norm.divisor == 1.0 and norm.mean == (0.0,):  # nothing is known about the raw values
        return rng.integers(0, 256, (samples, *shape), dtype=np.uint8)
    return np.clip(np.rint((mean + std * noise) * norm.divisor), 0, 255).astype(np.uint8)


def checked_calibration(values: ArrayLike, folded: FoldedNetwork) -> NDArray[np.uint8]:
    """Return a calibration batch as an array; BadArgument unless it has the right type and shape."""
    array = np.asarray(values)
    shape = folded.input_shape
    if array.dtype != np.uint8:
        raise BadArgument(f"calibration must be raw values of dtype uint8, got {array.dtype}")
    if (array.shape[1:] != shape and array.shape[2:] != shape) or len(array) == 0:
        raise BadArgument(f"calibration must be [B, {', '.join(map(str, shape))}], or [B, T, …] for events, with B >= 1; got {array.shape}")
    return array


def check_trained_range(net: FSNN | FoldedNetwork, calibration: NDArray[np.uint8]) -> None:
    """Raise BadArgument if a normalisation set after training turns raw samples into floats unlike those the network was trained on."""
    if not isinstance(net, FSNN) or net.trained_range is None:
        return
    low, high = (float(bound) for bound in torch.aminmax(net.normalise(torch.from_numpy(calibration))))
    trained_low, trained_high = net.trained_range
    trained = trained_high - trained_low
    if not trained / 2.0 <= high - low <= trained * 2.0:
        raise BadArgument(
            f"the network was trained on floats from {trained_low:.3g} to {trained_high:.3g}, but its `normalisation` turns the "
            f"calibration samples into {low:.3g} to {high:.3g}: set its divisor, mean and std as in training, or calibrate on more samples"
        )


def largest_calibration_potentials(folded: FoldedNetwork, values: NDArray[np.uint8]) -> tuple[float, ...]:
    """Return each layer's largest |potential| on the calibration batch, physical units; potentials that drift grow linearly (E10)."""
    steps = min(folded.steps, SIMULATED_STEPS)
    growth = folded.neuron.weight_sum(folded.steps) / folded.neuron.weight_sum(steps)
    trace = folded.single().simulate(torch.from_numpy(values), steps)
    return tuple(float(potential.abs().max()) * growth for potential in trace.potentials)


def affordable_calibration_samples(folded: FoldedNetwork, most: int, *, budget: float = BUDGET) -> int:
    """Return how many calibration samples (2 … `most`) can pass once through the network within `budget` multiplications."""
    return int(min(most, max(2, budget // _multiplications(folded))))


def _multiplications(folded: FoldedNetwork) -> int:
    """Return how many multiplications one dense pass of one sample through the network takes, feedback included."""
    total = 0
    for connection in folded.connections:
        shape = connection.in_shape if connection.kind == "transposed" else connection.operator.out_shape
        total += _products(connection.weight, shape)
    return total


def _products(weight: torch.Tensor, shape: tuple[int, ...]) -> int:
    return int(weight.numel() * np.prod(shape[1:], dtype=np.int64))
