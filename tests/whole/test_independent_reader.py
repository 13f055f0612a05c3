"""docs/formats.md is sufficient: a reader written from that page alone repeats a run from its file, number by number."""

from __future__ import annotations

import re
from pathlib import Path

import h5py
import numpy as np
import pytest

from fsnn_lava.formats.results import write_results
from fsnn_lava.ir.network import ChipNetwork
from fsnn_lava.running.run import run as run_network
from tests.helpers.chip_networks import dense_network
from tests.helpers.naive_delta import random_delta_network
from tests.helpers.report_case import digits_case
from tests.helpers.strategies import random_network, random_values
from tests.whole.independent_reader import Network, Results, run

PAGE = Path(__file__).parents[2] / "docs" / "formats.md"


def written(path: Path, chip: ChipNetwork, values: np.ndarray, *, detail: int | None = None) -> Results:
    steps = values.shape[1] if chip.input.kind == "events" else chip.steps
    result = run_network(chip, values, steps=steps, spikes=True)
    write_results(path, result, chip, values, labels=np.arange(len(values)) % 3, data="made up", detail=detail)
    return Results(path)


def assert_repeated(found: Results) -> None:
    """Everything that the file keeps of the run follows from its network and values."""
    network, steps = found.network, found.steps
    outcome = run(network, found.detail("values"), steps)
    delta = network.delta is not None
    for i, spikes in enumerate(outcome.spikes):
        np.testing.assert_array_equal(found.detail(f"layer/{i}/spikes"), spikes)
        np.testing.assert_array_equal(found.detail(f"layer/{i}/counts"), (spikes != 0).sum(axis=1))
        np.testing.assert_array_equal(found.detail(f"layer/{i}/potentials"), outcome.potentials[i])
        if delta:
            np.testing.assert_array_equal(found.detail(f"layer/{i}/told"), outcome.told[i])
        elif network.layers[0].decay:
            leak = ((4096 - network.layers[0].decay) / 4096) ** np.arange(steps - 1, -1, -1.0)
            np.testing.assert_allclose(found.detail(f"layer/{i}/traces"), np.einsum("bt...,t->b...", spikes, leak), rtol=1e-12)
    feedback = [s for s in network.synapses if network.number(s.source) >= network.number(s.target)]
    for j, synapse in enumerate(feedback):
        delay = network.number(synapse.source) - network.number(synapse.target) + 1
        late = outcome.spikes[network.number(synapse.source) - 1][:, max(0, steps - delay) :].sum(axis=1)
        np.testing.assert_array_equal(found.detail(f"late/{j}/{'changes' if delta else 'counts'}"), late)
    details = found.details
    np.testing.assert_array_equal(found.row("readout")[:details], outcome.readout)
    np.testing.assert_array_equal(found.row("predictions")[:details], outcome.readout.argmax(axis=1))
    np.testing.assert_allclose(found.row("logits")[:details], found.logits(outcome.readout), rtol=1e-12)
    counts = [(spikes != 0).reshape(details, -1).sum(axis=1) for spikes in outcome.spikes]
    np.testing.assert_array_equal(found.row("layer_spikes")[:details], np.stack(counts, axis=1))
    assert found.hashes_agree()


@pytest.mark.parametrize("seed", range(10))
def test_a_run_of_spikes_is_repeated_from_its_file(seed, tmp_path):
    rng = np.random.default_rng(seed)
    chip = random_network(rng, layers=1 + seed % 3)
    assert_repeated(written(tmp_path / "r.h5", chip, random_values(rng, chip, 3)))


@pytest.mark.parametrize("kind", ["pixels", "events", "current"])
def test_every_kind_of_input_is_described(kind, tmp_path):
    rng = np.random.default_rng(7)
    chip = random_network(rng, layers=2, kind=kind, feedback=True)
    assert_repeated(written(tmp_path / "r.h5", chip, random_values(rng, chip, 3)))


def test_a_transposed_convolution_and_fewer_samples_in_detail_are_described(tmp_path):
    case = digits_case()
    assert_repeated(written(tmp_path / "r.h5", case.chip, case.values[:6], detail=4))


def test_a_leak_is_described(tmp_path):
    chip = dense_network(5, size=6, decay=200)
    values = np.random.default_rng(1).integers(0, 256, (3, 7), dtype=np.uint8)
    assert_repeated(written(tmp_path / "r.h5", chip, values))


@pytest.mark.parametrize("seed", range(6))
def test_a_run_of_changes_is_repeated_from_its_file(seed, tmp_path):
    rng = np.random.default_rng(seed)
    chip = random_delta_network(rng, layers=1 + seed % 3)
    assert_repeated(written(tmp_path / "r.h5", chip, random_values(rng, chip, 3)))


def test_the_page_names_everything_that_a_file_holds(tmp_path):
    page = PAGE.read_text(encoding="utf-8")
    found = written(tmp_path / "r.h5", digits_case().chip, digits_case().values[:3])
    for name in found.file.attrs:
        assert f"`{name}`" in page, name
    names: list[str] = []
    found.file.visit(names.append)
    digits_case().chip.save(tmp_path / "net.h5")
    with h5py.File(tmp_path / "net.h5") as file:
        exact = file["fsnn"]
        exact.visit(names.append)
        attributes = {name for group in (exact, *exact["layers"].values(), *exact["synapses"].values()) for name in group.attrs}
        Network(file)
    for name in attributes:
        assert f"`{name}`" in page, name
    for name in names:
        last = name.split("/")[-1]
        assert last.isdigit() or re.search(rf"[`/]{last}[`/]", page), name
