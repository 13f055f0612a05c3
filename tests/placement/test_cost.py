"""The cost of a sample on the chip, worked out by hand for networks of a few neurons."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from fsnn_lava.errors import BadArgument, BadFile
from fsnn_lava.ir.delta_encoding import DeltaEncoding
from fsnn_lava.ir.stock_network import stock_equivalent
from fsnn_lava.placement.board import FOLDER, load_board
from fsnn_lava.placement.cost import ChipCost, LayerCost
from fsnn_lava.placement.cost_count import count_cost
from fsnn_lava.placement.cost_table import cost_table
from fsnn_lava.placement.placement import place
from fsnn_lava.placement.range import Range
from fsnn_lava.running.run import run
from hw_tests.networks import one_neuron, ring, with_synapse
from tests.helpers.chip_networks import conv_network
from tests.helpers.naive_delta import as_delta
from tests.helpers.naive_simulator import simulate

CONSTANTS = """
[time_per_step]
value = [8e-6, 12e-6]
source = "one"
[time_per_synaptic_operation]
value = 1e-9
source = "two"
[time_per_neuron_update]
value = 2e-5
source = "three"
[time_per_message]
value = 1e-6
source = "four"
[time_per_host_number]
value = 1e-6
source = "five"
[energy_per_synaptic_operation]
value = 1e-12
source = "six"
[energy_per_neuron_update]
value = [2e-12, 4e-12]
source = "seven"
[energy_per_message]
value = 3e-12
source = "eight"
[static_power]
value = 0.1
source = "nine"
"""


@pytest.fixture
def measured(tmp_path):
    path = tmp_path / "own.toml"
    path.write_text((FOLDER / "template.toml").read_text().replace('"template"', '"own"') + CONSTANTS)
    return load_board(path)


def test_one_neuron_by_hand(measured):
    chip = one_neuron(threshold=10, steps=8)
    result = simulate(chip, np.array([[5]], np.uint8))  # 5 of 10 units per step: 4 spikes
    cost = count_cost(chip, result, place(chip, board=measured))
    neuron, readout = cost.layers
    assert cost.steps == 16  # layer 1 in steps 1 … 8, the readout in 2 … 9; the next power of two that leaves one to silence it
    assert (neuron.messages, neuron.operations, neuron.updates, neuron.cores, neuron.arriving) == (4, 0, 16, 1, 0)  # the pixel is a bias
    assert (readout.messages, readout.operations, readout.updates, readout.arriving) == (0, 4 * 2, 2 * 16, 4)
    assert (cost.cores, cost.chips, neuron.message_bits) == (2, 1, 0)
    assert (cost.written, cost.read) == (11 + 2 * 7, 2 + 2 + 4)
    # the readout's core updates two neurons in a step: 40 us, more than the 8 … 12 us of a step, 0.5 operations and 0.25 messages
    assert cost.time_per_step == Range(4e-5, 4e-5)
    assert cost.time.low == pytest.approx(16 * 4e-5)
    assert cost.time_with_host.low == pytest.approx(16 * 4e-5 + 33e-6)
    assert (cost.dynamic_energy.low, cost.dynamic_energy.high) == pytest.approx((8e-12 + 48 * 2e-12 + 12e-12, 8e-12 + 48 * 4e-12 + 12e-12))
    assert cost.static_energy(cost.time).high == pytest.approx(0.1 * 16 * 4e-5)
    assert cost.missing == ()
    said = cost_table(cost)
    assert "time: 0.64 ms, with host I/O 0.673 ms (an estimate, not a measurement)" in said
    assert "energy: 64 µJ (dynamic 0.000116 … 0.000212 µJ, static 64 µJ), with host I/O 67.3 µJ (an estimate, not a measurement)" in said
    assert "source of static_power: nine" in said
    json.dumps(cost.to_dict())


def test_a_readout_on_the_host_costs_the_chip_nothing():
    chip = one_neuron(threshold=10, steps=8)
    cost = count_cost(chip, simulate(chip, np.array([[5]], np.uint8)), place(chip, readout="host"))
    assert [layer.name for layer in cost.layers] == ["l1"]
    assert (cost.operations, cost.updates, cost.written, cost.read) == (0, 16, 11, 2 + 4)


def test_without_constants_there_are_counts_and_no_figure(tmp_path):
    chip = one_neuron(threshold=10, steps=8)
    unknown = re.sub(r"(?m)^value = .*$", 'value = "unknown"', CONSTANTS)
    (tmp_path / "own.toml").write_text((FOLDER / "template.toml").read_text() + unknown)
    cost = count_cost(chip, simulate(chip, np.array([[5]], np.uint8)), place(chip, board=tmp_path / "own.toml"))
    assert (cost.time, cost.time_with_host, cost.dynamic_energy, cost.static_energy(None)) == (None, None, None, None)
    assert "static_power" in cost.missing and "time_per_step" in cost.missing
    assert "time: unknown, with host I/O unknown" in cost_table(cost)
    assert cost.to_dict()["dynamic_energy"] is None


def test_every_spike_touches_its_weights_whatever_graph_ran():
    chip = with_synapse("dense")
    values = np.random.default_rng(3).integers(0, 256, (3, 6), dtype=np.uint8)
    result = simulate(chip, values)
    first, second = (float(counts.sum()) / 3 for counts in result.counts)
    assert first > 0 and second > 0
    cost = count_cost(chip, result, place(chip))
    l1, l2, readout = cost.layers
    assert (l1.messages, l2.messages) == pytest.approx((first, second))
    assert (l1.operations, l2.operations, readout.operations) == pytest.approx((second * 5, first * 4, second * 3))
    assert result.operations.mean() > cost.operations  # the batched graph sends the pixels at every step
    equivalent, _ = stock_equivalent(chip)
    stock = simulate(equivalent, values)
    if all(np.array_equal(a, b) for a, b in zip(stock.counts, result.counts, strict=True)):
        assert count_cost(chip, stock, place(chip)).to_dict() == cost.to_dict()


def test_events_are_messages_and_need_the_values():
    chip = ring(3, steps=8)
    events = np.zeros((1, 8, 1), np.uint8)
    events[0, 0] = 1
    result = simulate(chip, events)
    with pytest.raises(BadArgument, match="pass the values of the run"):
        count_cost(chip, result, place(chip))
    cost = count_cost(chip, result, place(chip), values=events)
    spikes = [float(counts.sum()) for counts in result.counts]
    assert [layer.operations for layer in cost.layers] == [1 + spikes[2], spikes[0], spikes[1], 2 * spikes[2]]


def test_a_result_of_another_network_is_refused():
    chip = one_neuron(threshold=10)
    with pytest.raises(BadArgument, match="belongs to another network"):
        count_cost(one_neuron(threshold=11), simulate(chip, np.array([[5]], np.uint8)), place(chip))


@pytest.mark.parametrize("value", ['"fast"', "-1.0", "[2.0, 1.0]", "[1.0]", "true", "nan"])
def test_a_constant_that_is_not_a_range_is_refused(tmp_path, value):
    path = tmp_path / "own.toml"
    path.write_text((FOLDER / "template.toml").read_text() + f'\n[static_power]\nvalue = {value}\nsource = "x"\n')
    with pytest.raises(BadFile, match=r'static_power must be "unknown", a number of at least 0 or \[low, high\]'):
        load_board(path)


def test_every_chip_that_is_used_draws_static_power(measured):
    chip = one_neuron(threshold=10, steps=8)
    cost = count_cost(chip, simulate(chip, np.array([[5]], np.uint8)), place(chip, board=measured))
    assert replace(cost, chips=3).static_energy(cost.time).low == pytest.approx(3 * cost.static_energy(cost.time).low)
    assert replace(cost, chips=3).energy.low == pytest.approx(cost.energy.low + 2 * cost.static_energy(cost.time).low)


def test_graded_messages_are_counted_with_their_bits():
    chip = one_neuron(threshold=8, steps=4)
    delta = replace(chip, delta=DeltaEncoding(rate_bits=6, dead_bands=(4,)))
    result = run(delta, np.array([[5]], np.uint8))  # a rate of 5/8 is reached at once and sent once
    assert result.counts[0].tolist() == [[1]]
    cost = count_cost(delta, result, place(delta))
    neuron, readout = cost.layers
    assert (neuron.messages, neuron.message_bits, neuron.operations, neuron.updates) == (
        1,
        8,
        0,
        12,
    )  # 6 bits, one for 1.0, a sign
    assert (readout.arriving, readout.operations) == (1, 2)
    assert (cost.written, cost.read) == (2 * 9 + 2 * 6, 1 + 2 + 1)
    assert "of 8 bits" in cost_table(cost)


def test_clipped_rates_take_two_neurons_and_relus_one():
    found = {}
    for activation in ("clip", "relu"):
        chip = as_delta(conv_network(2), activation=activation)
        values = np.random.default_rng(1).integers(0, 256, (2, *chip.input.shape), dtype=np.uint8)
        found[activation] = count_cost(chip, run(chip, values), place(chip))
    pairs, single = (found[name].layers for name in ("clip", "relu"))
    assert [layer.updates for layer in pairs[:-1]] == [2 * layer.updates for layer in single[:-1]]
    assert pairs[0].message_bits == 10 and single[0].message_bits == 16
    assert found["clip"].cores > found["relu"].cores


# --- PilotNet on one Loihi 2 chip: boards/loihi2.toml says where the figures were published -----------------------------------------
# Counts per step are read off the activity plots of two public notebooks, to a few percent.

FACTOR = 1.25  # between the model's range and what was published
CONVOLUTIONS = ((99 * 32 * 24, 25), (49 * 15 * 36, 13), (24 * 7 * 48, 3), (22 * 4 * 64, 3), (20 * 2 * 64, 2))  # neurons, cores
DENSE = ((100, 12), (50, 1), (10, 1), (1, 1))
FRAME = 200 * 66 * 3  # values that the host writes for one frame


def pilotnet(*, operations, busiest, arriving, first=(), chips=1, written=0):
    """One step of PilotNet: all layers' operations; the third convolution, on 3 cores, has the busiest."""
    populations = (*CONVOLUTIONS, *DENSE)
    others = sum(neurons for neurons, _ in populations) - CONVOLUTIONS[2][0]  # the input population receives nothing
    layers = []
    for number, (neurons, cores) in enumerate((*first, *populations)):
        busy = number == len(first) + 2  # the third convolution
        layers.append(
            LayerCost(
                name=str(number),
                cores=cores,
                messages=0.0,
                message_bits=0,
                arriving=arriving if busy else 0.0,
                operations=3 * busiest if busy else (number >= len(first)) * (operations - 3 * busiest) * neurons / others,
                updates=neurons,
            )
        )
    return ChipCost(board=load_board("oheo-gulch"), layers=tuple(layers), chips=chips, steps=1, written=written, read=0.0)


def near(figure: Range, published: float, factor: float = FACTOR) -> bool:
    return figure.low / factor <= published <= figure.high * factor


def test_the_lif_network_without_host_io():
    cost = pilotnet(operations=2.29e6, busiest=151e3, arriving=2.6e3, first=((200 * 66 * 3, 13),))
    assert sum(layer.updates for layer in cost.layers) == pytest.approx(159e3, rel=0.01)
    assert near(cost.time_per_step, 152.8e-6, 1.01)  # 408.91 frames/s of 16 steps: what the constants were taken from
    assert near(cost.dynamic_energy, 0.447156 * 152.8e-6, 1.0)
    assert near(cost.energy, 1.661103e-3 / 16)


def test_the_sigma_delta_network_without_host_io():
    cost = pilotnet(operations=590e3, busiest=51e3, arriving=0.75e3)
    assert near(cost.time_per_step, 1.2e-3 / 10)
    assert near(cost.energy, 0.09e-3)
    assert cost.energy.high < 4 * cost.energy.low and cost.time_per_step.high < 2 * cost.time_per_step.low  # a range that says something


def test_the_sigma_delta_network_with_host_io():
    cost = pilotnet(operations=590e3, busiest=51e3, arriving=0.75e3, written=FRAME)
    assert near(cost.time_with_host, 65e-3 / 10) and near(cost.time_with_host, 1 / 16.87)
    assert near(cost.energy_with_host, 1.3e-3) and near(cost.energy_with_host, 16.34e-3)
    assert cost.time_with_host.low > 30 * cost.time.high  # host I/O dominates
