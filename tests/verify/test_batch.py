"""Batches of the comparator: a result is taken only with the shapes of its network."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.errors import BadArgument
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.result import Result
from fsnn_lava.verify.batch import check_batch_shapes
from tests.helpers.chip_networks import Kind, dense_network

SAMPLES, STEPS = 3, 4


def run(kind: Kind) -> tuple[ChipNetwork, Result, np.ndarray]:
    chip = dense_network(kind=kind)
    sequence = (STEPS,) if kind == "events" else ()
    values = np.ones((SAMPLES, *sequence, *chip.input.shape), np.uint8)
    return chip, fl.run(chip, values, steps=STEPS), values


@pytest.mark.parametrize("kind", ["pixels", "events"])
def test_a_result_and_its_values_are_accepted(kind):
    check_batch_shapes(*run(kind))


@pytest.mark.parametrize("name", ["counts", "traces", "potentials", "clipped", "late", "late_traces"])
def test_an_array_of_another_shape_is_refused(name):
    chip, result, values = run("pixels")
    arrays = getattr(result, name)
    short = replace(result, **{name: (arrays[0][..., :-1], *arrays[1:])})
    with pytest.raises(BadArgument, match=f"result.{name} must have the shapes"):
        check_batch_shapes(chip, short, values)


@pytest.mark.parametrize(("kind", "part"), [("pixels", np.s_[..., :-1]), ("pixels", np.s_[1:]), ("events", np.s_[:, 1:])])
def test_values_of_another_shape_are_refused(kind, part):
    chip, result, values = run(kind)
    with pytest.raises(BadArgument, match="values must have shape"):
        check_batch_shapes(chip, result, values[part])


def test_a_readout_of_another_shape_is_refused():
    chip, result, values = run("pixels")
    with pytest.raises(BadArgument, match=r"result.readout must have shape \[3, \d+\], got \[3, \d+\]"):
        check_batch_shapes(chip, replace(result, readout=result.readout[:, 1:]), values)
