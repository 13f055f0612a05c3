"""result.residual: ||f(a[t]) - a[t]|| after every step, against f written out as matrices on runs of every length."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import h5py
import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.cli.run import fsnn_run
from fsnn_lava.errors import BadArgument
from fsnn_lava.formats import results
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.ir.stock_network import executed_network
from tests.helpers.chip_networks import conv_network
from tests.helpers.naive_simulator import matrix_of, simulate
from tests.helpers.run_files import SAMPLES, arguments, content, write_inputs


def values_of(chip: ChipNetwork, samples: int, steps: int) -> np.ndarray:
    shape = (steps, *chip.input.shape) if chip.input.kind == "events" else chip.input.shape
    return np.random.default_rng(3).integers(0, 256, (samples, *shape), np.uint8)


def by_hand(chip: ChipNetwork, values: np.ndarray, t: int) -> np.ndarray:
    """[B] the length of f(a) - a after a run of t steps, a and f from the reference and from matrices (E3, E4)."""
    events = chip.input.kind == "events"
    first = values[:, :t] if events else np.repeat(values[:, None], t, axis=1)
    ran = simulate(chip, first if events else values, steps=t)
    rates = [rate.reshape(len(values), -1) for rate in ran.rates]
    weights = chip.leak ** np.arange(t - 1, -1, -1.0)
    average = np.einsum("t,bt...->b...", weights / weights.sum(), first.astype(float)).reshape(len(values), -1)
    shapes = {"input": chip.input.shape, **{layer.name: layer.shape for layer in chip.layers}}
    squares = np.zeros(len(values))
    for index, layer in enumerate(chip.layers):
        current = np.broadcast_to(layer.bias.reshape(-1).astype(float), rates[index].shape).copy()
        for synapse in chip.into(layer):
            source = average if synapse.source == "input" else rates[chip.index(synapse.source)]
            current += 2.0**synapse.exponent * source @ matrix_of(synapse, shapes[synapse.source], layer.shape).T
        threshold = layer.per_neuron(layer.threshold).reshape(-1)
        squares += np.square(np.clip(current / threshold, 0, 1) - rates[index]).sum(axis=1)
    return np.sqrt(squares)


@pytest.mark.parametrize("kind", ["pixels", "events"])
@pytest.mark.parametrize("decay", [0, 205])
def test_the_curve_is_that_of_runs_of_every_length(kind: str, decay: int) -> None:
    chip = conv_network(5, kind=kind, decay=decay)  # type: ignore[arg-type]
    values = values_of(chip, 3, 9)
    found = fl.run(chip, values, steps=9, residual=True, batch=2)
    assert found.residual is not None
    assert found.spikes is None
    assert found.residual.shape == (3, 9)
    for t in range(1, 10):
        np.testing.assert_allclose(found.residual[:, t - 1], by_hand(chip, values, t), rtol=1e-10)
    assert len(np.unique(found.residual)) > 20


def test_it_is_what_a_report_draws() -> None:
    from fsnn_lava.report.evidence import RunEvidence
    from fsnn_lava.report.residual_curve import _measure

    chip = conv_network(5, kind="current", decay=80)
    values = values_of(chip, 4, 0)
    result = fl.run(chip, values, residual=True, spikes=True)
    run = RunEvidence(chip, result, values, None, None, None)
    for t in (1, 5, result.steps):
        np.testing.assert_allclose(result.residual[:, t - 1], _measure(run, run.rerun(t, 4), True).residual, rtol=1e-12)  # type: ignore[index]


def test_it_costs_nothing_unless_asked_for() -> None:
    chip = conv_network(5)
    assert fl.run(chip, values_of(chip, 2, 0)).residual is None


@pytest.mark.skipif(importlib.util.find_spec("lava") is None, reason="Lava is not installed")
@pytest.mark.parametrize("graph", ["batched", "stock"])
def test_lava_processes_give_the_curve_of_the_network_that_they_run(graph: str) -> None:
    chip = conv_network(5, decay=80)
    values = values_of(chip, 2, 0)
    found = fl.run(chip, values, steps=6, backend="sim", graph=graph, residual=True)
    np.testing.assert_allclose(found.residual, fl.run(executed_network(chip, graph), values, steps=6, residual=True).residual, rtol=1e-10)  # type: ignore[arg-type]


def test_it_is_written_and_read_back(tmp_path: Path) -> None:
    chip = conv_network(5)
    values = values_of(chip, 5, 0)
    result = fl.run(chip, values, residual=True)
    results.write_results(tmp_path / "r.h5", result, chip, values, detail=2)
    found = results.read_results(tmp_path / "r.h5")
    np.testing.assert_array_equal(found.rows["residual"], result.residual)
    np.testing.assert_array_equal(found.result.residual, result.residual[:2])  # type: ignore[index, arg-type]
    with (
        pytest.raises(BadArgument, match="was requested, but the run did not compute it"),
        results.writing_results(tmp_path / "x.h5", chip, steps=result.steps, residual=True) as writer,
    ):
        writer.add(fl.run(chip, values), values)


def test_a_file_from_before_there_was_a_residual_is_read(tmp_path: Path) -> None:
    chip = conv_network(5)
    values = values_of(chip, 2, 0)
    results.write_results(tmp_path / "r.h5", fl.run(chip, values), chip, values)
    with h5py.File(tmp_path / "r.h5", "r+") as file:
        del file.attrs["residual"]
    assert results.read_results(tmp_path / "r.h5").result.residual is None


def test_the_command_says_and_keeps_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_inputs(tmp_path)
    assert fsnn_run(arguments(tmp_path, "r.h5", "--residual", "--no-compare", "--json")) == 0
    said = json.loads(capsys.readouterr().out)["residual"]
    kept = results.read_results(tmp_path / "r.h5").rows["residual"]
    assert kept.shape == (SAMPLES, 16)
    np.testing.assert_allclose(said, kept.mean(axis=0), rtol=1e-12)
    assert fsnn_run([*arguments(tmp_path, "r.h5", "--residual", "--no-compare")]) == 0
    assert f"{said[-1]:.4g} after 16 steps" in capsys.readouterr().out
    assert fsnn_run(arguments(tmp_path, "other.h5", "--residual", "--no-compare", "--batch", "5")) == 0
    one, other = content(tmp_path / "r.h5"), content(tmp_path / "other.h5")
    np.testing.assert_allclose(
        kept, results.read_results(tmp_path / "other.h5").rows["residual"], rtol=1e-12
    )  # sums may round by the batch
    assert {name for name in one if one[name] != other[name]} <= {"rows/residual"}
