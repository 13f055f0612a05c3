"""The emulator against the plain reference: every spike, potential, count, trace, clip and operation, on random networks."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

import fsnn_lava as fl
from fsnn_lava.backends.emulator.layout import lay_out
from fsnn_lava.backends.emulator.run import Emulator
from fsnn_lava.compiled.scatter import scatter, scatter_by_taps, scatter_form, scatter_graded
from fsnn_lava.errors import BackendMissing, BadArgument
from fsnn_lava.ir.compiled_synapse import compiled_synapse
from fsnn_lava.ir.network import ChipNetwork, ConvSynapse, DenseSynapse, Input, Layer, Readout, Synapse
from fsnn_lava.ir.result import concatenate_results
from fsnn_lava.limits import BIAS_MAX
from fsnn_lava.running.run import run_batches
from tests.helpers.naive_atrlif import NaiveAtrlif
from tests.helpers.naive_simulator import Faults, assert_same, matrix_of, simulate
from tests.helpers.strategies import random_network, random_values

SEEDS = 240
NONE = np.zeros(0, np.uint8)


@pytest.mark.parametrize("block", range(12))
def test_every_bit_equals_the_plain_reference(block: int) -> None:
    for seed in range(block * SEEDS // 12, (block + 1) * SEEDS // 12):
        rng = np.random.default_rng(seed)
        chip = random_network(rng, wild=seed % 2 == 0)
        values = random_values(rng, chip, 2)
        assert_same(fl.run(chip, values, spikes=True), simulate(chip, values))


@pytest.mark.parametrize("block", range(2))
def test_every_bit_of_stock_neurons_equals_the_plain_reference(block: int) -> None:
    clips = 0
    for seed in range(2000 + 20 * block, 2020 + 20 * block):
        rng = np.random.default_rng(seed)
        chip = random_network(rng, decay=(1, 205, 1024, 4095)[seed % 4], reset="subtract", wild=seed % 2 == 0)
        values = random_values(rng, chip, 2)
        expected = simulate(chip, values, neurons=lambda layer: NaiveAtrlif(layer=layer))
        assert_same(Emulator(chip, stock=True).run(values, spikes=True), expected)
        clips += int(expected.clip_count.sum())
    assert clips > 0


def test_stock_neurons_without_a_leak_or_with_a_reset_to_zero_follow_e9() -> None:
    for seed, options in enumerate([{"decay": 0, "reset": "subtract"}, {"decay": 205, "reset": "zero"}]):
        rng = np.random.default_rng(seed)
        chip = random_network(rng, **options)  # type: ignore[arg-type]
        values = random_values(rng, chip, 2)
        assert_same(Emulator(chip, stock=True).run(values, spikes=True), simulate(chip, values))


@pytest.mark.parametrize("block", range(4))
def test_where_most_neurons_fire_the_silent_ones_are_counted_with_the_same_bits(block: int) -> None:
    busy = 0
    for seed in range(1000 + 15 * block, 1015 + 15 * block):
        rng = np.random.default_rng(seed)
        chip = random_network(rng, wild=seed % 2 == 0)
        layers = tuple(replace(layer, bias=np.minimum(layer.bias + layer.per_neuron(layer.threshold), BIAS_MAX)) for layer in chip.layers)
        chip = replace(chip, layers=layers)
        values = random_values(rng, chip, 2)
        result = fl.run(chip, values, spikes=True)
        busy += sum(float(counts.mean()) > 0.6 * result.steps for counts in result.counts)
        assert_same(result, simulate(chip, values))
    assert busy > 10  # layers in which most steps went that way


def test_a_sum_beyond_16_bits_is_exact() -> None:
    size = 700
    feedback = np.concatenate([np.full((size // 2, size), 127), np.full((size // 2, size), -127)])
    layer = Layer(name="a", shape=(size,), threshold=9, bias=np.where(np.arange(size) % 2, 10, -(2**16)), scale=1.0)
    chip = ChipNetwork(
        input=Input(kind="pixels", shape=(1,)),
        layers=(layer,),
        synapses=(
            DenseSynapse(source="input", target="a", weight=np.ones((size, 1), int)),
            DenseSynapse(source="a", target="a", weight=feedback),
        ),
        readout=Readout(weight=np.full((2, size), 127), bias=np.zeros(2, int), scale=1.0),
        steps=4,
    )
    values = np.full((1, 1), 3, np.uint8)
    result = fl.run(chip, values, spikes=True)
    assert 256 < int(result.spikes[0].sum(axis=-1).max()) < size  # type: ignore[index]
    assert_same(result, simulate(chip, values))


def test_a_readout_of_very_many_neurons_is_clipped_not_wrapped() -> None:
    size = 2**24 // 127 + 1
    layer = Layer(name="a", shape=(size,), threshold=1, bias=np.zeros(size, int), scale=1.0)
    chip = ChipNetwork(
        input=Input(kind="pixels", shape=(1,)),
        layers=(layer,),
        synapses=(DenseSynapse(source="input", target="a", weight=np.ones((size, 1), int)),),
        readout=Readout(weight=np.full((2, size), 127), bias=np.zeros(2, int), scale=1.0),
        steps=1,
    )
    assert fl.run(chip, np.full((1, 1), 3, np.uint8)).readout.tolist() == [[2**23 - 1] * 2]


def test_the_random_networks_reach_every_corner() -> None:
    seen: set[object] = set()
    for seed in range(SEEDS):
        rng = np.random.default_rng(seed)
        chip = random_network(rng, wild=seed % 2 == 0)
        seen |= {chip.input.kind, len(chip.layers), ("leak", chip.decay > 0), ("wide", lay_out(chip).wide)}
        seen |= {(type(s).__name__, min(chip.delay(s), 2)) for s in chip.feedback}
        seen |= {("groups", s.groups > 1) for s in chip.synapses if isinstance(s, ConvSynapse)}
        seen |= {("shift right", 6 + s.exponent < 0) for s in chip.synapses} | {(layer.reset, layer.strict) for layer in chip.layers}
    kinds = {(name, delay) for name in ("DenseSynapse", "ConvSynapse", "TransposedConvSynapse") for delay in (1, 2)}
    flags = {(name, value) for name in ("leak", "wide", "groups", "shift right") for value in (True, False)}
    assert {"pixels", "events", "current", 1, 5, *kinds, *flags} <= seen
    assert {("subtract", True), ("subtract", False), ("zero", True), ("zero", False)} <= seen


def test_one_changed_weight_is_seen() -> None:
    rng = np.random.default_rng(11)
    chip = random_network(rng, kind="pixels", layers=2, decay=0)
    values = random_values(rng, chip, 2)

    def bent(synapse: int, matrix: np.ndarray) -> np.ndarray:
        return matrix + (np.arange(matrix.size).reshape(matrix.shape) == matrix.size // 2) if synapse == 0 else matrix

    with pytest.raises(AssertionError, match=r"potentials|counts|traces"):
        assert_same(fl.run(chip, values), simulate(chip, values, faults=Faults(matrix=bent)))


@pytest.mark.parametrize("kind", ["pixels", "events", "current"])
def test_the_result_does_not_depend_on_threads_or_batches(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(21)
    chip = random_network(rng, kind=kind, layers=3, decay=205)
    values = random_values(rng, chip, 37)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: range(2))
    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    whole = fl.run(chip, values, spikes=True)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    assert_same(fl.run(chip, values, spikes=True), whole)
    assert_same(fl.run(chip, values, spikes=True, batch=5), whole)
    stream = run_batches(chip, (values[i : i + 8] for i in range(0, 37, 8)), spikes=True)
    assert_same(concatenate_results(list(stream)), whole)


def test_other_numbers_of_steps_are_run_as_asked() -> None:
    rng = np.random.default_rng(22)
    chip = random_network(rng, kind="pixels", layers=4, feedback=True)
    values = random_values(rng, chip, 2)
    for steps in (1, 2, 40):  # fewer steps than the feedback's delay: nothing arrives, everything is late
        assert_same(fl.run(chip, values, steps=steps), simulate(chip, values, steps=steps))


def one_layer(synapses: tuple[Synapse, ...], *, threshold: int = 1, bias: int = 0, size: int = 3) -> ChipNetwork:
    return ChipNetwork(
        input=Input(kind="pixels", shape=(2,)),
        layers=(Layer(name="a", shape=(size,), threshold=threshold, bias=np.full(size, bias), scale=1.0),),
        synapses=synapses,
        readout=Readout(weight=np.eye(size, dtype=int), bias=np.zeros(size, int), scale=0.5),
        steps=4,
    )


def test_a_silent_network_costs_no_operation() -> None:
    chip = one_layer((DenseSynapse(source="input", target="a", weight=np.ones((3, 2), int)),))
    result = fl.run(chip, np.zeros((1, 2), np.uint8))
    assert result.operations.tolist() == [0]
    assert result.updates.tolist() == [4 * (3 + 3)]
    assert result.counts[0].sum() == 0


def test_operations_count_weights_touched_by_messages_that_arrive() -> None:
    # Every neuron fires at each of 4 steps. Input: 1 non-zero pixel x 3 weights x 4 steps. Feedback: 3 spikes x 3 weights, and the
    # last step never arrives: 3 steps. Readout: 3 spikes x 3 classes x 4 steps.
    weight = np.array([[5, 0], [6, 0], [7, 1]])
    back = DenseSynapse(source="a", target="a", weight=np.zeros((3, 3), int))
    chip = one_layer((DenseSynapse(source="input", target="a", weight=weight), back))
    result = fl.run(chip, np.array([[9, 0]], np.uint8))
    assert result.counts[0].tolist() == [[4, 4, 4]]
    assert result.late[0].tolist() == [[1, 1, 1]]
    assert result.operations.tolist() == [12 + 27 + 36]


def test_logits_are_the_average_readout_in_the_float_networks_units() -> None:
    chip = one_layer((DenseSynapse(source="input", target="a", weight=np.array([[1, 0], [0, 1], [0, 0]])),), threshold=4)
    result = fl.run(chip, np.array([[4, 2]], np.uint8))
    assert result.counts[0].tolist() == [[4, 2, 0]]
    np.testing.assert_array_equal(result.logits, [[0.5, 0.25, 0.0]])  # rate 1, 1/2, 0 times weight 1 times scale 1/2
    assert result.predictions.tolist() == [0]


def test_saturation_is_counted_at_both_ends_and_in_the_readout() -> None:
    chip = one_layer(
        (DenseSynapse(source="input", target="a", weight=np.array([[127, 0], [-127, 0], [0, 0]]), exponent=6),), threshold=131071
    )
    chip = replace(chip, readout=Readout(weight=np.eye(3, dtype=int), bias=np.array([0, 0, 131071]), scale=1.0))
    result = fl.run(chip, np.array([[255, 0]], np.uint8))
    assert result.clipped[0].tolist() == [[2, 1, 0]]
    assert result.clip_count.tolist() == [[8, 3]]  # two neurons at all four steps; the readout's third class from its second step on
    assert_same(result, simulate(chip, np.array([[255, 0]], np.uint8)))


@pytest.mark.parametrize("seed", range(10))
def test_scattering_gives_the_matrix_product(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chip = random_network(rng, kind="pixels", layers=2)
    for synapse in chip.synapses:
        source = chip.input.shape if synapse.source == "input" else chip.layer(synapse.source).shape
        assert_scatters(synapse, source, chip.layer(synapse.target).shape, rng)


@pytest.mark.parametrize("channels", [1, 7, 8, 24, 63, 64, 100, 188])  # all widths of vectors, alone and after one another
def test_scattering_to_any_number_of_channels_gives_the_matrix_product(channels: int) -> None:
    rng = np.random.default_rng(channels)
    conv = ConvSynapse(source="a", target="b", weight=rng.integers(-127, 128, (channels, 5, 3, 3)), stride=(2, 2), padding=(1, 1))
    assert_scatters(conv, (5, 6, 4), (channels, 3, 2), rng)
    assert_scatters(DenseSynapse(source="a", target="b", weight=rng.integers(-127, 128, (channels, 30))), (30,), (channels,), rng)


def assert_scatters(synapse: Synapse, source: tuple[int, ...], target: tuple[int, ...], rng: np.random.Generator) -> None:
    """Place by place and tap by tap, in integers and floats, the spikes arrive as the synapse's matrix sends them."""
    laid = compiled_synapse(synapse, source, target)
    fired = np.flatnonzero(rng.random(int(np.prod(source))) < 0.6).astype(np.int32)  # channels last
    spikes = np.zeros(int(np.prod(source)))
    spikes[fired] = 1
    first = spikes.reshape(*source[1:], source[0]).transpose(2, 0, 1) if len(source) == 3 else spikes
    expected = (matrix_of(synapse, source, target) @ first.reshape(-1)).reshape(target)
    layout = (scatter_form(laid), laid.row_spans, laid.column_spans)
    for kind, stored in ((np.int32, np.int8), (np.int64, np.int8), (np.float32, np.float32), (np.float64, np.float64)):
        weight = laid.blocks.astype(stored)
        total = np.zeros(int(np.prod(target)), kind)
        scatter(total, weight, fired, NONE, *layout)
        got = total.reshape(*target[1:], target[0]).transpose(2, 0, 1) if len(target) == 3 else total
        np.testing.assert_array_equal(got, expected)  # small integers: exact in float32
        amounts = rng.integers(0, 256, int(np.prod(source))).astype(np.uint8) * (spikes > 0)
        graded = np.zeros_like(total)
        scatter_graded(graded, weight, amounts.astype(np.uint8), *layout)
        sent = amounts.reshape(*source[1:], source[0]).transpose(2, 0, 1) if len(source) == 3 else amounts
        got = graded.reshape(*target[1:], target[0]).transpose(2, 0, 1) if len(target) == 3 else graded
        np.testing.assert_array_equal(got, (matrix_of(synapse, source, target) @ sent.reshape(-1)).reshape(target))
        if laid.groups == 1 and not laid.fused:
            several = np.zeros((3, *total.shape), kind)
            starts = np.zeros((3, len(laid.row_spans) * len(laid.column_spans) + 2), np.int32)
            lists = np.stack([np.concatenate([fired[:1], fired])] * 3)  # the first entry is another layer's
            lengths = np.array([len(fired), 0, len(fired)])
            scatter_by_taps(several, weight, lists, 1, lengths, 0, *layout, starts)
            np.testing.assert_array_equal(several, np.stack([total, np.zeros_like(total), total]))


def test_spikes_are_kept_only_for_those_who_ask() -> None:
    """They take as much room as everything else together, times the steps."""
    chip = random_network(np.random.default_rng(0))
    values = random_values(np.random.default_rng(0), chip, 2)
    for run in (partial(fl.run, chip), Emulator(chip).run):
        assert run(values).spikes is None
        assert run(values, spikes=True).spikes is not None


def test_wrong_values_are_refused_with_a_message() -> None:
    chip = one_layer((DenseSynapse(source="input", target="a", weight=np.ones((3, 2), int)),))
    with pytest.raises(BadArgument, match=r"values must be raw uint8 \[B, 2\] .*got float64"):
        fl.run(chip, np.zeros((1, 2)))  # type: ignore[arg-type]
    with pytest.raises(BadArgument, match=r"got shape \(1, 3\)"):
        fl.run(chip, np.zeros((1, 3), np.uint8))
    with pytest.raises(BadArgument, match="at least one sample"):
        fl.run(chip, np.zeros((0, 2), np.uint8))
    with pytest.raises(BadArgument, match="got list"):
        fl.run(chip, [[1, 2]])  # type: ignore[arg-type]
    events = random_network(np.random.default_rng(1), kind="events")
    with pytest.raises(BadArgument, match=r"input kind 'events', .* steps"):
        fl.run(events, random_values(np.random.default_rng(1), events, 1), steps=events.steps + 1)


def test_wrong_options_are_refused_with_a_message() -> None:
    chip = one_layer((DenseSynapse(source="input", target="a", weight=np.ones((3, 2), int)),))
    values = np.zeros((1, 2), np.uint8)
    with pytest.raises(BadArgument, match="backend must be one of emu, sim, loihi2, got 'gpu'"):
        fl.run(chip, values, backend="gpu")
    with pytest.raises(BadArgument, match="graph must be one of batched, stock, got 'x'"):
        fl.run(chip, values, graph="x")
    with pytest.raises(BadArgument, match="steps must be an integer between 1 and 65535, got 0"):
        fl.run(chip, values, steps=0)
    with pytest.raises(BadArgument, match="batch must be at least 1, got 0"):
        fl.run(chip, values, batch=0)
    with pytest.raises(BadArgument, match="a batch has 2 samples, more than batch=1"):
        list(run_batches(chip, [np.zeros((2, 2), np.uint8)], batch=1))


def test_a_missing_backend_is_never_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    chip = one_layer((DenseSynapse(source="input", target="a", weight=np.ones((3, 2), int)),))
    monkeypatch.setattr("fsnn_lava.backends.availability.missing_for_backend", lambda backend: ("a board",))
    with pytest.raises(BackendMissing, match="'loihi2' cannot run here; missing: a board"):
        fl.run(chip, np.zeros((1, 2), np.uint8), backend="loihi2")


def test_progress_reaches_the_last_sample() -> None:
    chip = one_layer((DenseSynapse(source="input", target="a", weight=np.ones((3, 2), int)),))
    seen: list[tuple[int, int]] = []
    fl.run(chip, np.zeros((5, 2), np.uint8), batch=2, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(2, 5), (4, 5), (5, 5)]


def test_results_of_two_networks_do_not_join() -> None:
    rng = np.random.default_rng(30)
    one, two = (random_network(rng, kind="pixels", layers=1) for _ in range(2))
    with pytest.raises(BadArgument, match="must have the same"):
        concatenate_results([fl.run(one, random_values(rng, one, 1), steps=3), fl.run(two, random_values(rng, two, 1), steps=3)])
