from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.backends.lava.needs import needs_lava
from tests.helpers.chip_networks import conv_network, dense_network, skip_network
from tests.helpers.naive_simulator import matrix_of
from tests.helpers.paper_networks import network
from tests.helpers.random_graphs import random_graph
from tests.helpers.strategies import random_network, random_values

needs_lava()

from lava.proc.dense.process import DelayDense  # noqa: E402

from fsnn_lava.backends.emulator.run import Emulator  # noqa: E402
from fsnn_lava.backends.lava.model_selection import ByTag  # noqa: E402
from fsnn_lava.backends.lava.processes.recorder.process import Recorder  # noqa: E402
from fsnn_lava.backends.lava.quiet_logging import quiet_logging  # noqa: E402
from fsnn_lava.backends.lava.session import Session  # noqa: E402
from fsnn_lava.backends.lava.shared_memory import shared_array  # noqa: E402
from fsnn_lava.backends.lava.stock_graph import StockGraph  # noqa: E402
from fsnn_lava.backends.lava.stock_order import stock_index  # noqa: E402
from fsnn_lava.backends.lava.stock_synapse import transposed_matrix  # noqa: E402
from fsnn_lava.backends.lava.window import Window  # noqa: E402
from fsnn_lava.errors import BadNetwork  # noqa: E402
from fsnn_lava.ir.input_current import input_current  # noqa: E402
from fsnn_lava.ir.network import ChipNetwork, TransposedConvSynapse  # noqa: E402
from fsnn_lava.ir.relays import relay_chains  # noqa: E402
from fsnn_lava.ir.result import Result  # noqa: E402
from fsnn_lava.ir.stock_network import atrlif_error, lower_to_stock, stock_equivalent  # noqa: E402
from fsnn_lava.running.run import run  # noqa: E402

COMPARED = ("counts", "traces", "late", "late_traces", "potentials", "spikes")


def assert_runs_as_its_equivalent(chip: ChipNetwork, values: np.ndarray, *, silent: bool = False) -> Result:
    equivalent, _ = stock_equivalent(chip)
    stock = run(chip, values, backend="sim", graph="stock", spikes=True)
    emulated = Emulator(equivalent, stock=True).run(values, spikes=True)
    assert (stock.backend, stock.graph, stock.digest) == ("sim", "stock", equivalent.digest())
    assert silent or sum(int(count.sum()) for count in stock.counts) > 0
    for name in COMPARED:
        for ours, theirs in zip(getattr(stock, name), getattr(emulated, name), strict=True):
            assert ours.dtype == theirs.dtype
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
    for name in ("readout", "operations", "updates"):
        np.testing.assert_array_equal(getattr(stock, name), getattr(emulated, name), err_msg=name)
    return stock


def with_drive(chip: ChipNetwork, seed: int) -> ChipNetwork:
    """Thresholds and biases that make an untrained network fire now and then."""
    rng = np.random.default_rng(seed)
    layers = [replace(layer, threshold=np.array(900), bias=rng.integers(-200, 400, layer.shape)) for layer in chip.layers]
    synapses = [replace(s, exponent=-8) if s.source == "input" else s for s in chip.synapses]
    return replace(chip, layers=tuple(layers), synapses=tuple(synapses), steps=12)


@pytest.mark.parametrize("text", ["40 (F40)", "6C5s (F6C5)"])
@pytest.mark.parametrize("reset", ["subtract", "zero"])
def test_small_versions_of_the_papers_networks(text, reset):
    shape = (30,) if text.startswith("40") else (1, 9, 9)
    chip = with_drive(network(text, input_shape=shape, classes=5, seed=4), 5)
    chip = replace(chip, layers=tuple(replace(layer, reset=reset) for layer in chip.layers))
    assert_runs_as_its_equivalent(chip, random_values(np.random.default_rng(6), chip, 2))


@pytest.mark.parametrize("kind", ["pixels", "events"])
def test_feedback_through_a_transposed_convolution(kind):
    chip = conv_network(kind=kind, per_channel=True)
    assert not any(isinstance(s, TransposedConvSynapse) for s in lower_to_stock(chip).chip.synapses)
    assert_runs_as_its_equivalent(chip, random_values(np.random.default_rng(7), chip, 1))


def test_feedback_through_a_sparse_process():
    chip = random_network(np.random.default_rng(14), layers=2, decay=0, kind="events", dense=False)  # its grids do not divide
    assert any(isinstance(s, TransposedConvSynapse) for s in lower_to_stock(stock_equivalent(chip)[0]).chip.synapses)
    assert_runs_as_its_equivalent(chip, random_values(np.random.default_rng(7), chip, 1))


@pytest.mark.parametrize(("kind", "decay", "reset"), [("pixels", 0, "subtract"), ("events", 205, "zero")])
def test_a_skip_of_a_convolution_waits_in_relay_neurons(kind, decay, reset):
    chip = skip_network(kind=kind, decay=decay, reset=reset, steps=8)
    assert relay_chains(chip, delays=True) == {"l1": 1}
    assert_runs_as_its_equivalent(chip, random_values(np.random.default_rng(7), chip, 1))


def test_a_dense_skip_waits_in_its_synapse_and_the_input_in_its_source():
    chip = random_graph(np.random.default_rng(8), layers=4, feedbacks=2, skips=4, kind="events", reset="subtract", strict=False)
    assert relay_chains(chip, delays=True) == {} and chip.longest_chip_delay > 2
    graph = StockGraph(lower_to_stock(stock_equivalent(chip)[0]), random_values(np.random.default_rng(7), chip, 1)[0], None, steps=2)
    assert any(isinstance(process, DelayDense) for process in graph.processes)
    assert_runs_as_its_equivalent(chip, random_values(np.random.default_rng(7), chip, 1))


def test_pixels_into_a_later_layer_are_refused():
    chip = skip_network()
    extra = replace(chip.synapses[0], target="l3")
    with pytest.raises(BadNetwork, match="'input' -> 'l3': stock processes take pixels as a bias of the first layer, via one connection"):
        stock_equivalent(replace(chip, synapses=(*chip.synapses, extra)))


def test_a_leaky_neuron_that_resets_to_zero_is_exact():
    chip = dense_network(kind="current", decay=205, reset="zero", strict=True)
    assert_runs_as_its_equivalent(chip, random_values(np.random.default_rng(8), chip, 2))


def test_a_deep_layer_with_a_strong_negative_bias_stays_silent_before_its_window():
    chip = conv_network(kind="current")
    bias = np.where(np.arange(48).reshape(4, 3, 4) % 3 == 0, -900, 250)  # what compensates -900 would fire: threshold 600
    chip = replace(chip, layers=(chip.layers[0], replace(chip.layers[1], bias=bias)))
    extra = replace(chip, synapses=chip.synapses, steps=8)
    assert_runs_as_its_equivalent(extra, random_values(np.random.default_rng(9), extra, 1))


@pytest.mark.parametrize("kind", ["pixels", "events"])
def test_a_leak_with_subtraction_is_exact(kind):
    chip = conv_network(kind=kind, decay=205, per_channel=True)
    assert_runs_as_its_equivalent(chip, random_values(np.random.default_rng(7), chip, 1))


@settings(max_examples=4)
@given(seed=st.integers(0, 2**31), decay=st.sampled_from([0, 1, 205, 1024]), strict=st.booleans())
def test_random_networks_are_exact_in_every_message_and_state(seed, decay, strict):
    rng = np.random.default_rng(seed)
    chip = random_network(rng, layers=2, decay=decay, reset="subtract", strict=strict)
    values = random_values(rng, chip, 1)
    try:
        emulated = Emulator(stock_equivalent(chip)[0], stock=True).run(values)
    except BadNetwork:
        assume(False)
    assume(decay > 0 or not emulated.clip_count.any())  # without a leak, where a sum is clipped differs and is flagged instead
    assert_runs_as_its_equivalent(chip, values, silent=True)


def test_a_leak_with_subtraction_stays_inside_its_bound():
    """Of E9, by which the charge of stock neurons is judged."""
    chip = dense_network(kind="events", decay=205, size=40)
    values = random_values(np.random.default_rng(10), chip, 3)
    equivalent, _ = stock_equivalent(chip)
    stock, emulated = (Emulator(equivalent, stock=stock).run(values, spikes=True) for stock in (True, False))
    alike = (stock.spikes[0] == emulated.spikes[0]).all(axis=1)
    assert alike.mean() > 0.9
    assert np.abs(stock.potentials[0] - emulated.potentials[0])[alike].max() <= atrlif_error(205)
    assert np.abs(stock.potentials[0] - emulated.potentials[0])[alike].max() > 0  # it is not the same neuron


@pytest.mark.parametrize("decay", [0, 205])
def test_an_input_that_no_16_bit_bias_holds_is_exact_all_the_same(decay):
    chip = dense_network(kind="current", decay=decay, reset="zero", strict=True)
    drive = chip.host_drive
    assert drive is not None
    units = np.array([33001, -40001, 500, 700, 32769])  # odd, more than 32767
    chip = replace(chip, host_drive=replace(drive, bias=drive.bias + units * 2.0 / 700))
    values = random_values(np.random.default_rng(13), chip, 1)
    assert np.abs(input_current(stock_equivalent(chip)[0], values)).max() > 64 * 32768
    assert_runs_as_its_equivalent(chip, values)


def test_the_matrix_of_a_transposed_convolution():
    rng = np.random.default_rng(11)
    synapse = TransposedConvSynapse(
        source="a", target="b", weight=rng.integers(-9, 10, (3, 2, 4, 3)), stride=(2, 3), padding=(1, 0), output_padding=(1, 2)
    )
    source = (3, 4, 5)
    target = synapse.output_shape(source)
    plain = matrix_of(synapse, source, target)[stock_index(target)][:, stock_index(source)]
    np.testing.assert_array_equal(transposed_matrix(synapse, source, target).toarray(), plain)


def test_a_file_loaded_by_stock_netx_runs_as_the_network_in_it(tmp_path):
    hdf5 = pytest.importorskip("lava.lib.dl.netx.hdf5", reason="lava-dl is not installed")
    from lava.proc.io.source import RingBuffer

    chip = dense_network(kind="events", reset="zero", strict=True, size=12, classes=3)
    chip = replace(chip, layers=(replace(chip.layers[0], bias=np.zeros(12, dtype=np.int32)),))  # NetX adds a bias before the first input
    values = random_values(np.random.default_rng(12), chip, 1)
    chip.save(tmp_path / "net.h5")
    spikes, beat = shared_array((chip.steps, 12), np.uint8), shared_array((1,), np.int64)
    with quiet_logging():
        net = hdf5.Network(net_config=str(tmp_path / "net.h5"), input_message_bits=8)
        source = RingBuffer(data=values[0].T.astype(np.int32))
        recorder = Recorder(
            spikes=spikes, beat=beat, window=Window(opens=2, steps=chip.steps, period=chip.steps + 1), tag="stock", name="recorder"
        )
        source.s_out.connect(net.inp)
        net.layers[0].neuron.s_out.connect(recorder.s_in)
        with Session([recorder], ByTag()) as session:
            session.run(chip.steps + 1)
    net.net_config.f.close()
    expected = Emulator(chip).run(values, spikes=True).spikes[0][0]
    assert expected.sum() > 10
    np.testing.assert_array_equal(spikes, expected)


def test_a_neuron_that_fires_at_every_step_does_not_clip():
    chip = dense_network(kind="current")
    layer = replace(chip.layers[0], threshold=np.array(3000), bias=np.array([3100, 100, -100, 2900, 3001]))  # 41 steps of 3000: 123000
    chip = replace(chip, layers=(layer,), synapses=tuple(replace(s, exponent=-1) for s in chip.synapses), steps=40)
    stock = assert_runs_as_its_equivalent(chip, np.zeros((1, 7), dtype=np.uint8))
    assert stock.counts[0].max() == 40
    assert stock.clip_count.sum() == 0


def test_charge_that_a_stock_process_loses_is_flagged():
    chip = dense_network(kind="events")
    layer = replace(chip.layers[0], threshold=np.array(60000), bias=np.full(5, 60000))
    chip = replace(chip, layers=(replace(layer, bias=np.zeros(5, dtype=np.int32)),), steps=8)
    weight = np.full((5, 7), 127)
    chip = replace(chip, synapses=(replace(chip.synapses[0], weight=weight, exponent=1), chip.synapses[1]))
    values = np.full((1, 8, 7), 255, dtype=np.uint8)  # 453390 units per step, far beyond what a current holds
    stock = run(chip, values, backend="sim", graph="stock")
    assert (stock.clipped[0] != 0).all()
    assert stock.clip_count[0, 0] == 5


def test_a_readout_at_its_limit_stays_there():
    chip = dense_network(kind="current")
    chip = replace(chip, readout=replace(chip.readout, bias=np.array([30000, -30000, 7])), steps=9)
    stock = assert_runs_as_its_equivalent(chip, random_values(np.random.default_rng(14), chip, 1))
    np.testing.assert_array_equal(stock.readout[0, :2], [2**23 - 1, -(2**23) + 1])
