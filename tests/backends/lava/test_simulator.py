from __future__ import annotations

import os
from functools import partial

import numpy as np
import pytest

from tests.backends.lava.needs import needs_lava
from tests.helpers.chip_networks import conv_network, dense_network
from tests.helpers.naive_simulator import assert_same, simulate
from tests.helpers.paper_networks import paper_network
from tests.helpers.strategies import random_network, random_values

needs_lava()

from lava.proc.io.sink import RingBuffer as Sink  # noqa: E402
from lava.proc.io.source import RingBuffer as Source  # noqa: E402

from fsnn_lava.backends.emulator.run import Emulator  # noqa: E402
from fsnn_lava.backends.lava.model_selection import ByTag  # noqa: E402
from fsnn_lava.backends.lava.neuron_record import neuron_record  # noqa: E402
from fsnn_lava.backends.lava.processes.neuron.process import SoftResetNeuron  # noqa: E402
from fsnn_lava.backends.lava.quiet_logging import quiet_logging  # noqa: E402
from fsnn_lava.backends.lava.session import Session  # noqa: E402
from fsnn_lava.backends.lava.simulator import Simulator  # noqa: E402
from fsnn_lava.backends.lava.window import Window, layer_window  # noqa: E402
from fsnn_lava.errors import BadArgument  # noqa: E402
from fsnn_lava.ir.network import Layer  # noqa: E402
from fsnn_lava.running.run import run as run_on_backend  # noqa: E402

run = partial(run_on_backend, backend="sim")

CASES = [
    (layers, kind, decay) for layers, decay in ((1, 0), (2, 205), (3, 0), (4, 1024), (5, 205), (5, 0)) for kind in ("pixels", "events")
]


@pytest.mark.parametrize(("layers", "kind", "decay"), [*CASES, (2, "current", 0), (3, "current", 205)])
def test_every_spike_and_potential_is_the_emulators(layers, kind, decay):
    rng = np.random.default_rng([layers, decay, len(kind)])
    chip = random_network(rng, layers=layers, kind=kind, decay=decay, feedback=True)
    values = random_values(rng, chip, 5)
    result = run(chip, values, batch=3, spikes=True)  # two batches, the second not full
    assert (result.backend, result.graph) == ("sim", "batched")
    assert_same(result, Emulator(chip).run(values, spikes=True))
    assert_same(result, simulate(chip, values))


@pytest.mark.parametrize("seed", range(4))
def test_numbers_at_the_limits_are_the_references(seed):
    rng = np.random.default_rng(700 + seed)
    chip = random_network(rng, layers=2, wild=True)
    values = random_values(rng, chip, 3)
    assert_same(run(chip, values, spikes=True), simulate(chip, values))


@pytest.mark.parametrize("batch", [1, 64])
def test_the_batch_does_not_matter(batch):
    chip = conv_network(kind="pixels", decay=205)  # transposed convolution back
    values = random_values(np.random.default_rng(5), chip, 65)[: batch + 1]
    assert_same(run(chip, values, batch=batch), Emulator(chip).run(values))


def test_alexnet_with_feedback_runs():
    chip = paper_network("alexnet-f")  # 155648 neurons, feedback through a transposed convolution
    values = random_values(np.random.default_rng(0), chip, 1)
    result = run(chip, values, steps=2)
    assert all(count.sum() > 0 for count in result.counts)
    assert_same(result, Emulator(chip).run(values, steps=2))


def test_a_run_of_other_length_than_the_networks():
    chip = dense_network(decay=205)
    values = random_values(np.random.default_rng(6), chip, 2)
    for steps in (1, 31):
        assert_same(run(chip, values, steps=steps, spikes=True), simulate(chip, values, steps=steps))


def test_nothing_is_left_from_one_batch_to_the_next_and_memory_does_not_grow():
    chip = conv_network(kind="events")
    rng = np.random.default_rng(7)
    first, other = random_values(rng, chip, 2), random_values(rng, chip, 2)
    with Simulator(chip, batch=2) as simulator:
        before = simulator.run(first)
        for _ in range(20):
            simulator.run(other)
        start = _resident(simulator)
        for _ in range(150):
            simulator.run(other)
        assert _resident(simulator) - start < 4 * 2**20  # 150 batches; a leak of one message each would be 150 * 6 processes * 4 KiB
        assert_same(simulator.run(first), before)


def _resident(simulator: Simulator) -> int:
    """Return the unshared memory of all Lava processes and of this one, in bytes."""
    pages = 0
    for pid in [*simulator.session.pids.values(), os.getpid()]:
        with open(f"/proc/{pid}/statm") as file:
            _, resident, shared, *_ = map(int, file.read().split())
        pages += resident - shared
    return pages * os.sysconf("SC_PAGESIZE")


def test_progress_is_reported_after_every_batch():
    chip = dense_network()
    said = []
    run(chip, np.zeros((5, 7), dtype=np.uint8), batch=2, progress=lambda done, total: said.append((done, total)))
    assert said == [(2, 5), (4, 5), (5, 5)]


@pytest.mark.parametrize(
    ("values", "options", "sentence"),
    [
        (np.zeros((2, 7)), {}, r"uint8 \[B, 7\].*got float64"),
        (np.zeros((2, 8), dtype=np.uint8), {}, r"uint8 \[B, 7\].*got shape \(2, 8\)"),
        (np.zeros((0, 7), dtype=np.uint8), {}, "at least one sample, got none"),
        ([[0] * 7], {}, "got list"),
        (np.zeros((2, 7), dtype=np.uint8), {"graph": "other"}, "graph must be one of batched, stock, got 'other'"),
        (np.zeros((2, 7), dtype=np.uint8), {"steps": 0}, "steps must be an integer between 1 and 65535, got 0"),
        (np.zeros((2, 7), dtype=np.uint8), {"batch": -1}, "batch must be at least 1, got -1"),
    ],
)
def test_what_cannot_be_run_is_refused(values, options, sentence):
    with pytest.raises(BadArgument, match=sentence):
        run(dense_network(), values, **options)


def test_a_batch_larger_than_the_processes_were_built_for_is_refused():
    with Simulator(dense_network(), batch=2) as simulator, pytest.raises(BadArgument, match="a batch has 3 samples, more than batch=2"):
        simulator.run(np.zeros((3, 7), dtype=np.uint8))


def test_windows_follow_each_other_and_repeat():
    second = layer_window(2, layers=3, steps=4)
    assert second == Window(opens=3, steps=4, period=7)
    assert [second.own_time(t) for t in range(1, 9)] == [-1, 0, 1, 2, 3, 4, 5, -1]
    assert [second.is_new(t) for t in (1, 2, 7, 8)] == [True, False, False, True]


@pytest.mark.parametrize("reset", ["subtract", "zero"])
def test_the_float_neuron_follows_its_equation(reset):
    steps, shape = 6, (2, 3)
    layer = Layer(
        name="l", shape=(3,), threshold=np.array([2, 3, 5]), bias=np.array([1, 0, -1]), scale=np.array(1.0), decay=1024, reset=reset
    )
    current = np.random.default_rng(8).normal(1.5, 2.0, (*shape, steps))
    record = neuron_record(2, 3, leaky=True, delays=(), potential=np.float64)
    with quiet_logging():
        source, sink = Source(data=current), Sink(shape=shape, buffer=steps)
        window = Window(opens=1, steps=steps, period=steps)
        neuron = SoftResetNeuron(layer=layer, order=np.arange(3), window=window, record=record, batch=2, tag="floating_pt", name="neuron")
        source.proc_params["tag"] = sink.proc_params["tag"] = "floating_pt"
        source.s_out.connect(neuron.a_in)
        neuron.s_out.connect(sink.a_in)
        with Session([neuron], ByTag()) as session:
            session.run(steps)
    u, counts = np.zeros(shape), np.zeros(shape)
    for t in range(steps):
        u = 0.75 * u + current[..., t] + layer.bias
        spikes = u >= layer.threshold
        u = u - layer.threshold * spikes if reset == "subtract" else np.where(spikes, 0.0, u)
        counts += spikes
    np.testing.assert_array_equal(record.counts, counts)
    np.testing.assert_allclose(record.potentials, u, rtol=1e-12)
